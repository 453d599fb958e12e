"""JSON values as contents and back: the value's kind, and its exact text."""

from __future__ import annotations

from typing import Any

from lisdata.contents import decode_text, encode_text
from lisdata.schema import ContentKind
from lisdata.sources.json_text import NumberText, read_json, write_json


def json_to_content(value: Any) -> tuple[ContentKind, bytes]:
    """Return kind and lexical form of a JSON value.

    A string is JSON_STR with its characters; an integer JSON_INT and any other number NUMBER, as written; true and
    false BOOL; null NULL; an object or array JSON, on one line, numbers as written.
    """
    if isinstance(value, NumberText):
        return (ContentKind.JSON_INT if value.is_integer else ContentKind.NUMBER), value.encode()
    if isinstance(value, str):
        return ContentKind.JSON_STR, encode_text(value)
    if isinstance(value, bool):
        return ContentKind.BOOL, b"true" if value else b"false"
    if value is None:
        return ContentKind.NULL, b"null"
    return ContentKind.JSON, write_json(value).encode()


def json_from_content(kind: ContentKind, lexical: bytes) -> Any:
    """Undo `json_to_content`; ValueError for a kind that is no JSON value."""
    if kind == ContentKind.JSON_STR:
        return decode_text(lexical)
    if kind in (ContentKind.JSON_INT, ContentKind.NUMBER):
        return NumberText(lexical.decode())
    if kind == ContentKind.BOOL:
        return lexical == b"true"
    if kind == ContentKind.NULL:
        return None
    if kind == ContentKind.JSON:
        return read_json(lexical.decode())
    raise ValueError(f"a content of kind {kind.name.lower()} is no JSON value")


def is_side(name: str) -> bool:
    """Tell whether `name` may stand in the side of a role: no '#', and characters that UTF-8 can hold."""
    return "#" not in name and (name.isascii() or not any("\ud800" <= c <= "\udfff" for c in name))
