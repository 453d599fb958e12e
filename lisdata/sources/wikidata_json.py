"""The JSON of an entity, read fast where nothing is lost by that, and exactly where something is or is wrong."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import orjson

from lisdata.sources.json_text import JsonTextError, locate, read_json, write_json
from lisdata.sources.wikidata_entities import EntityWriter
from lisdata.sources.wikidata_faults import check_entity
from lisdata.sources.wikidata_values import FloatTexts, MalformedError

_COLON, _MINUS, _SPACE = b":- "
_MINUS_ZERO = re.compile(rb":-0(?![0-9.eE])")  # an integer, which becomes 0
_SPACED_MINUS_ZERO = re.compile(rb":[ \t\r\n]+-0(?![0-9.eE])")
_SHOWN_CHARACTERS = 60


class WrongRecordError(ValueError):
    """Bytes are no record; `at` is the first that is wrong."""

    def __init__(self, at: int, expected: str, found: str) -> None:
        self.at, self.expected, self.found = at, expected, found
        super().__init__(f"byte {at}: expected {expected}, found {found}")


def add_entity(writer: EntityWriter, data: bytes, begin: int, end: int, key: str | None = None) -> None:
    """Add the entity that `data` holds, from bytes [begin, end) of the file; WrongRecordError when it holds none.

    `key` is the name that an answer of the API lists it under.
    """
    value = read_fast(data)
    if value is not None:
        writer.values.floats = FloatTexts(data)
        try:
            writer.add(value, begin, end, key)
        except (ValueError, LookupError, TypeError, AttributeError):  # the exact way finds out what is wrong, if it is
            writer.columns.undo_entity()
        else:
            return
    value = _read_checked(data)
    writer.values.is_exact = True
    try:
        writer.add(value, begin, end, key)
    finally:
        writer.values.is_exact = False


def read_fast(data: bytes) -> Any:
    """Return the value that `data` holds; None where the fast parser refuses it or does not keep what is written.

    Only floats, and integers of more than 64 bits, which become floats, are not known to be exact.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    written = orjson.dumps(value)
    if written == data:
        return value
    # Of a member that comes twice the parser keeps the last; what it has kept is told by the colons, in strings or not.
    units = np.frombuffer(data, np.uint8)
    is_colon = units == _COLON
    if np.count_nonzero(is_colon) != np.count_nonzero(np.frombuffer(written, np.uint8) == _COLON):
        return None
    is_colon, after = is_colon[:-1], units[1:]
    is_lost = ((is_colon & (after == _MINUS)).any() and _MINUS_ZERO.search(data)) or (
        (is_colon & (after <= _SPACE)).any() and _SPACED_MINUS_ZERO.search(data)
    )
    return None if is_lost else value


def read_exact(data: bytes) -> tuple[str, Any]:
    """Return text and value of `data`, numbers as they are written; WrongRecordError when it is no JSON."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte 0x{data[error.start]:02x} ({error.reason})"
        raise WrongRecordError(error.start, "UTF-8", found) from error
    try:
        return text, read_json(text)
    except JsonTextError as error:
        raise WrongRecordError(len(text[: error.offset].encode()), error.expected, error.found) from error


def _read_checked(data: bytes) -> Any:
    text, value = read_exact(data)
    try:
        check_entity(value)
    except MalformedError as error:
        at = len(text[: locate(text, error.path)].encode())
        found = write_json(error.found)
        found = found if len(found) <= _SHOWN_CHARACTERS else f"{found[:_SHOWN_CHARACTERS]}..."
        raise WrongRecordError(at, f"{error.expected} at {path_text(error.path)}", found) from error
    return value


def path_text(path: tuple[str | int, ...]) -> str:
    """Return a JSONPath, as in $.claims.P31[0].mainsnak."""
    parts = [f"[{p}]" if isinstance(p, int) else f".{p}" if p.isidentifier() else f"[{write_json(p)}]" for p in path]
    return "$" + "".join(parts)
