"""JSONL records written as usual, read by compiled parsers: every other line is left to `jsonl_record`.

What is read is written again and compared with the line. That makes sure of all that a fast parser forgets: how numbers
are spelled, members that stand there twice, white space.
"""

from __future__ import annotations

from json import JSONEncoder
from typing import Any

import orjson

from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.json_text import STYLES, NumberText
from lisdata.sources.jsonl_layout import ENTITY_KEYS, JsonlOptions, likely_styles

_ENCODERS = {
    name: JSONEncoder(
        ensure_ascii=style.ascii_only,
        check_circular=False,
        separators=(style.item_separator, style.name_separator),
    ).encode
    for name, style in STYLES.items()
}
_NUMBERS = (int, float)


def read_usual(line: bytes, options: JsonlOptions, prefixes: IdPrefixes) -> tuple[dict[str, Any], str, str] | None:
    """Return the record of a line, style and line end; None where they cannot be told, or the record is not one.

    Start and end of its entities are offsets inside the text; RecursionError for values too deep in each other.
    """
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if type(record) is not dict or not _has_usual_members(record, options, prefixes):
        return None
    body = line.rstrip(b"\r\n")
    written = body.decode()
    for style in likely_styles(line):
        if _ENCODERS[style](record) == written:
            return record, style, line[len(body) :].decode()
    return None


def spelled(value: Any) -> Any:
    """Return a value of `read_usual` with numbers as they are written."""
    if type(value) in _NUMBERS:
        return NumberText(repr(value))
    if type(value) is dict:
        return {name: spelled(member) for name, member in value.items()}
    return [spelled(item) for item in value] if type(value) is list else value


def _has_usual_members(record: dict[str, Any], options: JsonlOptions, prefixes: IdPrefixes) -> bool:
    """Tell whether there is a text, and each entity links characters of it by an id that can be written again."""
    text, entities = record.get(options.text_field), record.get(options.entities_field, [])
    if type(text) is not str or type(entities) is not list:
        return False
    length = len(text)
    return all(_is_usual(entity, length, prefixes) for entity in entities)


def _is_usual(entity: Any, length: int, prefixes: IdPrefixes) -> bool:
    if type(entity) is not dict:
        return False
    begin, end, name = (entity.get(key) for key in ENTITY_KEYS)
    if type(begin) is not int or type(end) is not int or type(name) is not str or not 0 <= begin <= end <= length:
        return False
    return not prefixes.iris or prefixes.restore(prefixes.expand(name)) == name
