"""How entities stand in a file: one a line, or in one JSON value (an array, an answer of the API, a single one)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from lisdata.inputs import InputSlice
from lisdata.sources.json_text import byte_offsets, iter_items, iter_members
from lisdata.sources.lines import PROBE_BYTES
from lisdata.sources.wikidata_json import read_exact, read_fast

ARRAY, ANSWER = "array", "answer"
BOM = b"\xef\xbb\xbf"
Place = tuple[int, int, str | None]
"""Begin and end of a record, and the name that it is listed under, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Where the records of a JSON value are: (begin, end) and the name that each is listed under, if any.

    `form` is None for a single entity. `members` are those of an answer beside its entities.
    """

    form: str | None
    records: tuple[Place, ...]
    members: dict[str, Any] = field(default_factory=dict)


def is_line_wise(piece: InputSlice, limit: int) -> bool:
    """Tell whether the file of a slice has an entity a line (in an array or not), from lines in its first bytes."""
    lines = _iter_lines(replace(piece, begin=0, end=limit))
    first, second = next(lines, b""), next(lines, b"")
    if first == b"[":
        if not second.startswith(b"{"):
            return False
        first, second = second, next(lines, b"]")
    if not second:
        return False
    first = first.removeprefix(b"[")
    return second.startswith((b"{", b"]")) or isinstance(read_fast(first.removesuffix(b",")), dict)


def _iter_lines(piece: InputSlice) -> Iterator[bytes]:
    """Yield the lines that are not blank, without the white space around them."""
    for offset, data in piece.blocks(PROBE_BYTES):
        lines = data.removeprefix(b"" if offset else BOM).split(b"\n")
        yield from filter(None, (line.strip() for line in lines))


def find_records(data: bytes) -> Document:
    """Return where the records of a JSON value are; WrongRecordError where it is no JSON."""
    value = read_fast(data)
    if isinstance(value, dict) and "entities" not in value:
        return Document(form=None, records=((0, len(data), None),))
    text, value = read_exact(data)
    begin = len(text) - len(text.lstrip())
    if isinstance(value, list):
        return _document(ARRAY, text, data, [(*place, None) for place in iter_items(text, begin)], {})
    if isinstance(value, dict) and isinstance(value.get("entities"), dict):
        at = dict(iter_members(text, begin))["entities"]
        places = iter_members(text, at)
        records: list[Place] = [(first, _end_of_value(text, first), name) for name, first in places]
        return _document(ANSWER, text, data, records, {k: v for k, v in value.items() if k != "entities"})
    return Document(form=None, records=((0, len(data), None),))


def _document(form: str, text: str, data: bytes, records: list[Place], members: dict[str, Any]) -> Document:
    at = byte_offsets(text, data)
    in_bytes = tuple((int(at[first]), int(at[end]), name) for first, end, name in records)
    return Document(form=form, records=in_bytes, members=members)


def _end_of_value(text: str, begin: int) -> int:
    end: int = json.JSONDecoder().raw_decode(text, begin)[1]
    return end
