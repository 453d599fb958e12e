"""Settings of how a file was written, kept as one line of JSON that says only what is not the default."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from lisdata.sources.json_text import NumberText, read_json, write_json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Layout = TypeVar("Layout", bound=DataclassInstance)


def layout_to_text(layout: DataclassInstance) -> str | None:
    """Return the fields (int, str, None or tuples of them) that differ from their defaults, None when none does."""
    values = {f.name: (getattr(layout, f.name), f.default) for f in fields(layout)}
    differing = {name: _to_json(value) for name, (value, default) in values.items() if value != default}
    return write_json(differing) if differing else None


def layout_from_text(type_: type[Layout], text: str | None) -> Layout:
    """Undo `layout_to_text`."""
    return type_() if text is None else type_(**{name: _from_json(value) for name, value in read_json(text).items()})


def _to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    return NumberText(value) if isinstance(value, int) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_from_json(item) for item in value)
    return int(value) if isinstance(value, NumberText) else value
