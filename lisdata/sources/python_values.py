"""Python values as JSON values whose numbers keep their text and type, and back: 2, 2.0, True and "2" stay apart."""

from __future__ import annotations

import math
import sys
from typing import Any

from lisdata.sources.json_text import NumberText

_MAX_DEPTH = 200
_KINDS = "str, int, float, bool, None, or a list or a dict by str of such"


def to_json_value(value: Any, what: str, *, allows_nan: bool = False, depth: int = 0) -> Any:
    """Return a value of exact types as JSON, numbers as `NumberText`.

    ValueError, naming `what`, for any other type (a tuple, a set, a NumPy scalar), for nan and infinity unless allowed,
    for an integer of more digits than Python writes, and for more than 200 levels.
    """
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return _number_text(value, what)
    if kind is float and (allows_nan or math.isfinite(value)):
        return NumberText(repr(value))
    if depth > _MAX_DEPTH:
        raise ValueError(f"{what}: expected at most {_MAX_DEPTH} levels, found more")
    if kind is list:
        return [to_json_value(item, what, depth=depth + 1) for item in value]
    if kind is dict and all(type(name) is str for name in value):
        return {name: to_json_value(item, what, depth=depth + 1) for name, item in value.items()}
    found = repr(value) if kind is float else f"a {kind.__module__}.{kind.__qualname__}"
    raise ValueError(f"{what}: expected {_KINDS}, found {found}")


def _number_text(value: int, what: str) -> NumberText:
    try:
        return NumberText(value)
    except ValueError as error:
        expected = f"an integer of at most {sys.get_int_max_str_digits()} digits"
        raise ValueError(f"{what}: expected {expected}, found one of {value.bit_length()} bits") from error


def from_json_value(value: Any) -> Any:
    """Undo `to_json_value`."""
    if isinstance(value, NumberText):
        return int(value) if value.is_integer else float(value)
    if isinstance(value, list):
        return [from_json_value(item) for item in value]
    if isinstance(value, dict):
        return {name: from_json_value(item) for name, item in value.items()}
    return value
