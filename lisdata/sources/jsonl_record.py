"""One line of JSONL as a record: its text, its linked mentions, its other members and how it is written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.json_text import JsonPath, JsonTextError, NumberText, locate, read_json, write_json
from lisdata.sources.jsonl_layout import ENTITY_KEYS, JsonlOptions, LineLayout, find_layout, layout_of
from lisdata.sources.jsonl_usual import read_usual, spelled
from lisdata.sources.layouts import layout_to_text
from lisdata.sources.lines import LineError

_MAX_DIGITS = 18  # of an offset: more cannot be inside any text
_MAX_USUAL_BYTES = 1 << 20  # a longer line is not written again whole to compare it, but piece by piece
_BLANK = " \t\r\n"
_INK = re.compile(rb"[^ \t\r\n]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Characters [begin, end) of the text name entity `name`; `members` are the further ones it is listed with."""

    begin: int
    end: int
    name: str
    members: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonlRecord:
    """What a line holds; `layout` is None for the default one, and `line` the line itself where no layout writes it."""

    text: str
    mentions: tuple[Mention, ...] = ()
    members: dict[str, Any]
    layout: str | None = None
    line: bytes | None = None


def parse_line(line: bytes, options: JsonlOptions, prefixes: IdPrefixes) -> JsonlRecord:
    """Return the record of a line; LineError says where and how it is none.

    A line of white space alone is a record without text: it is kept as it is.
    """
    if not _INK.search(line):
        return JsonlRecord(text="", members={}, line=line)
    try:
        if len(line) <= _MAX_USUAL_BYTES and (usual := read_usual(line, options, prefixes)) is not None:
            return _usual_record(line, *usual, options, prefixes)
        record, mentions = _parse_record(line, options, prefixes)
        return _to_record(line, record, mentions, options, prefixes)
    except RecursionError as error:
        raise LineError(0, "JSON of fewer levels", "values too deep in each other to be kept") from error


def _usual_record(
    line: bytes, record: dict[str, Any], style: str, ending: str, options: JsonlOptions, prefixes: IdPrefixes
) -> JsonlRecord:
    """Return the record that `read_usual` has read."""
    layout = layout_of(record, options, style, ending)
    text, entities = record.pop(options.text_field), record.pop(options.entities_field, ())
    mentions = tuple(
        Mention(
            begin=entity.pop("start"),
            end=entity.pop("end"),
            name=prefixes.expand(entity.pop("id")),
            members=spelled(entity),
        )
        for entity in entities
    )
    return JsonlRecord(
        text=text,
        mentions=mentions,
        members=spelled(record),
        layout=None if layout is None else _layout_text(layout),
        line=line if layout is None else None,
    )


@lru_cache(maxsize=1024)
def _layout_text(layout: LineLayout) -> str | None:
    return layout_to_text(layout)


def _parse_record(
    line: bytes, options: JsonlOptions, prefixes: IdPrefixes
) -> tuple[dict[str, Any], tuple[Mention, ...]]:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LineError(error.start, "UTF-8", f"byte 0x{line[error.start]:02x} ({error.reason})") from error
    try:
        return _parse_text(text, options, prefixes)
    except JsonTextError as error:
        raise LineError(len(text[: error.offset].encode()), error.expected, error.found) from error


def _parse_text(line: str, options: JsonlOptions, prefixes: IdPrefixes) -> tuple[dict[str, Any], tuple[Mention, ...]]:
    """Return the record and the mentions in it."""
    try:
        record = read_json(line)
    except JsonTextError:
        record = read_json(line.rstrip(_BLANK))  # says where it is wrong as if the line had no end
    if not isinstance(record, dict):
        raise _wrong(line, (), "an object", record)
    if options.text_field not in record:
        raise _wrong(line, (), f"an object with a member {_quoted(options.text_field)}", record)
    text = record[options.text_field]
    if not isinstance(text, str) or isinstance(text, NumberText):
        raise _wrong(line, (options.text_field,), "a string", text)
    entities = record.get(options.entities_field, [])
    if not isinstance(entities, list):
        raise _wrong(line, (options.entities_field,), "an array", entities)
    mentions = tuple(
        _parse_mention(line, (options.entities_field, number), entity, len(text), prefixes)
        for number, entity in enumerate(entities)
    )
    return record, mentions


def _to_record(
    line: bytes, record: dict[str, Any], mentions: tuple[Mention, ...], options: JsonlOptions, prefixes: IdPrefixes
) -> JsonlRecord:
    """Return the record with what its members do not say of how `line` is written."""
    entities = record.get(options.entities_field, [])
    layout = find_layout(line, record, options)
    if layout is not None and not all(map(_comes_back, mentions, entities, [prefixes] * len(mentions))):
        layout = None
    return JsonlRecord(
        text=record[options.text_field],
        mentions=mentions,
        members={k: v for k, v in record.items() if k not in (options.text_field, options.entities_field)},
        layout=None if layout is None else _layout_text(layout),
        line=line if layout is None else None,
    )


def _parse_mention(line: str, path: JsonPath, entity: Any, length: int, prefixes: IdPrefixes) -> Mention:
    if not isinstance(entity, dict):
        raise _wrong(line, path, "an object", entity)
    for name in ENTITY_KEYS:
        if name not in entity:
            raise _wrong(line, path, f"an object with a member {_quoted(name)}", entity)
    begin, end = (_parse_offset(line, (*path, name), entity[name], length) for name in ("start", "end"))
    if begin > end:
        raise _wrong(line, (*path, "end"), f"an end at or behind the start {begin}", entity["end"])
    name = entity["id"]
    if not isinstance(name, str) or isinstance(name, NumberText):
        raise _wrong(line, (*path, "id"), "a string", name)
    members = {k: v for k, v in entity.items() if k not in ENTITY_KEYS}
    return Mention(begin=begin, end=end, name=prefixes.expand(name), members=members)


def _parse_offset(line: str, path: JsonPath, value: Any, length: int) -> int:
    if not isinstance(value, NumberText) or not value.is_integer:
        raise _wrong(line, path, "an integer", value)
    if len(value) > _MAX_DIGITS or not 0 <= int(value) <= length:
        raise _wrong(line, path, f"an offset from 0 to {length}, the characters of the text", value)
    return int(value)


def _comes_back(mention: Mention, entity: dict[str, Any], prefixes: IdPrefixes) -> bool:
    """Tell whether start, end and id can be written from the mention: -0 and an IRI that has a short form cannot."""
    written = (str(mention.begin), str(mention.end), prefixes.restore(mention.name))
    return written == (entity["start"], entity["end"], entity["id"])


def _wrong(line: str, path: JsonPath, expected: str, found: Any) -> JsonTextError:
    text = write_json(found)
    return JsonTextError(locate(line, path), expected, text if len(text) <= 60 else f"{text[:60]}...")


def _quoted(name: str) -> str:
    return write_json(name)
