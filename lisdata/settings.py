"""Settings dataclasses from names and values that people wrote: every name known, every value of its type."""

from __future__ import annotations

import os
import tomllib
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
_INT64 = range(-(2**63), 2**63)


def build_settings(kind: type[T], values: Mapping[str, Any], what: str) -> T:
    """Return `kind(**values)`; lists become tuples, an integer may stand for a float, a path for its text.

    Raises ValueError, naming `what` and the setting, for an unknown or missing one, a choice that there is not, and a
    value of another type, or one that a plan cannot hold (text that is not UTF-8, integers of more than 64 bits).
    """
    hints = get_type_hints(kind)
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(values) - set(known))
    if unknown:
        nested = f"; other options go in options={{{unknown[0]!r}: ...}}" if "options" in known else ""
        raise ValueError(f"{what} has no {', '.join(unknown)}; it has: {', '.join(sorted(known)) or 'none'}{nested}")
    required = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING]
    missing = [name for name in required if name not in values]
    if missing:
        raise ValueError(f"{what} needs {', '.join(missing)}")
    return kind(**{name: _checked(value, hints[name], f"{what}: {name}") for name, value in values.items()})


def parse_change(change: str) -> tuple[str, Any]:
    """Return the name and the value of a setting that KEY=VALUE gives: the value as TOML reads it, else as text."""
    key, equals, text = change.partition("=")
    if not equals or not key:
        raise ValueError(f"--set {change}: expected KEY=VALUE")
    try:
        return key, tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return key, text


def _checked(value: Any, hint: Any, what: str) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in get_args(hint):
            return None
        inner = [a for a in get_args(hint) if a is not type(None)]
        return _checked(value, inner[0], what) if len(inner) == 1 else value
    if origin is Literal:
        if value not in get_args(hint):
            raise ValueError(f"{what}: expected one of {', '.join(map(str, get_args(hint)))}, got {value!r}")
        return value
    if origin is tuple:
        if isinstance(value, str) or not isinstance(value, list | tuple):
            raise ValueError(f"{what}: expected a list, got {value!r}")
        return tuple(_checked(item, get_args(hint)[0], what) for item in value)
    if origin is dict:
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            raise ValueError(f"{what}: expected a table of names and values, got {value!r}")
        return value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is str and isinstance(value, os.PathLike):
        value = os.fspath(value)
    if hint in (str, int, float, bool) and type(value) is not hint:
        raise ValueError(f"{what}: expected {hint.__name__}, got {value!r}")
    if hint is int and value not in _INT64:
        raise ValueError(f"{what}: expected an integer of 64 bits, got {value}")
    if hint is str and not _is_utf8(value):
        raise ValueError(f"{what}: expected UTF-8, got {value!r}")
    return value


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
