"""The shape of JSON data that was read: declared once, checked with the field that is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

Shape: TypeAlias = Any
"""What a value may be.

str, bool, int or dict: a value of just that type. None: null. COUNT: an integer from 0. A list of one shape: a list of
such values. A dict of shapes: an object with these fields and maybe others; those ending in "?" may be absent.
MapOf(shape): an object whose values all are such. A tuple of shapes: any of them.
"""

_NAMES = {str: "a text", bool: "true or false", int: "an integer", dict: "an object"}
_MAX_SHOWN = 80


class _Count:
    """The shape of an integer from 0."""


@dataclass(frozen=True, slots=True)
class MapOf:
    """The shape of an object from any names to values of one shape."""

    values: Shape


COUNT = _Count()


def find_mismatch(value: Any, shape: Shape, field: str = "") -> str | None:
    """Return the first field that is not of its shape ("parts[0].name: expected a text, found 3"), or None."""
    return next(_mismatches(value, shape, field), None)


def shown(value: Any) -> str:
    """Return a value as messages show it: cut where it is long."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."


def _mismatches(value: Any, shape: Shape, field: str) -> Iterator[str]:
    if not _is_kind(value, shape):
        yield f"{field or 'the whole'}: expected {_describe(shape)}, found {shown(value)}"
    elif isinstance(shape, list):
        for number, item in enumerate(value):
            yield from _mismatches(item, shape[0], f"{field}[{number}]")
    elif isinstance(shape, MapOf):
        for name, item in value.items():
            yield from _mismatches(item, shape.values, _join(field, name))
    elif isinstance(shape, tuple):
        fitting = next(s for s in shape if _is_kind(value, s))
        yield from _mismatches(value, fitting, field)
    elif isinstance(shape, dict):
        for name, wanted in shape.items():
            key = name.removesuffix("?")
            if key in value:
                yield from _mismatches(value[key], wanted, _join(field, key))
            elif key == name:
                yield f"{_join(field, key)}: expected {_describe(wanted)}, found nothing"


def _is_kind(value: Any, shape: Shape) -> bool:
    """Tell whether a value, but for what it holds, is of a shape."""
    if isinstance(shape, tuple):
        return any(_is_kind(value, one) for one in shape)
    if isinstance(shape, _Count):
        return type(value) is int and value >= 0
    if isinstance(shape, list):
        return isinstance(value, list)
    if isinstance(shape, dict | MapOf):
        return isinstance(value, dict)
    return value is None if shape is None else type(value) is shape


def _describe(shape: Shape) -> str:
    if isinstance(shape, tuple):
        return " or ".join(map(_describe, shape))
    if isinstance(shape, _Count):
        return "an integer from 0"
    if isinstance(shape, list):
        return "a list"
    if isinstance(shape, dict | MapOf):
        return "an object"
    return "null" if shape is None else _NAMES[shape]


def _join(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name
