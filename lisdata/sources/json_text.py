"""JSON text read and written exactly: numbers as they are written, no member twice, lone surrogates kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

JsonPath = tuple[str | int, ...]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile("[\ud800-\udfff]")


class NumberText(str):
    """A JSON number as it is written, so that 1.0, 1e400 and 2^64 + 1 stay what they are."""

    __slots__ = ()

    @property
    def is_integer(self) -> bool:
        """Whether it has neither fraction nor exponent."""
        return self.lstrip("-").isdigit()


class JsonTextError(ValueError):
    """Text is not JSON; `offset` counts characters."""

    def __init__(self, offset: int, expected: str, found: str) -> None:
        self.offset, self.expected, self.found = offset, expected, found
        super().__init__(f"character {offset}: expected {expected}, found {found}")


class _RepeatedMemberError(ValueError):
    """Some object has a name twice; the parser's hook cannot say where."""


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _RepeatedMemberError
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is not JSON", name, 0)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_int=NumberText, parse_float=NumberText, parse_constant=_refuse_constant
)


_SKIPPER = json.JSONDecoder(parse_int=len, parse_float=len)  # finds ends; `len` for it takes integers of any length


def read_json(text: str) -> Any:
    """Return the one JSON value that `text` holds, numbers as `NumberText`; JsonTextError says where it is wrong."""
    try:
        return _DECODER.decode(text)
    except _RepeatedMemberError as error:
        name, offset = _find_repeated(text)
        raise JsonTextError(offset, "each member once", f"{json.dumps(name)} again") from error
    except json.JSONDecodeError as error:
        offset = error.pos if error.doc is text else _find_constant(text)
        found = json.dumps(text[offset : offset + 20], ensure_ascii=False) if text[offset:] else "the end"
        raise JsonTextError(offset, "JSON", f"{found} ({error.msg})") from error
    except RecursionError as error:
        raise JsonTextError(0, "JSON of fewer levels", "values too deep in each other to be read") from error


def iter_values(text: str) -> Iterator[tuple[JsonPath, int]]:
    """Yield (path, offset) of every value in `text`, which is JSON."""
    path: list[Any] = []  # for each open array the index, for each open object the member's name, None before it
    for token in _TOKEN.finditer(text):
        character = text[token.start()]
        if character == ",":
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None
        elif character in "]}":
            path.pop()
        elif path and path[-1] is None:
            path[-1] = json.loads(token[0])
        elif character != ":":
            yield tuple(path), token.start()
            if character in "[{":
                path.append(0 if character == "[" else None)


def locate(text: str, path: JsonPath) -> int:
    """Return the offset of the value at `path` in `text`, which is JSON."""
    return next(offset for found, offset in iter_values(text) if found == path)


def _find_repeated(text: str) -> tuple[str | int, int]:
    seen: set[JsonPath] = set()
    for path, offset in iter_values(text):
        if path in seen:
            return path[-1], offset
        seen.add(path)
    raise ValueError("no member is repeated")


def _find_constant(text: str) -> int:
    return next((token.start() for token in _TOKEN.finditer(text) if token[0].endswith(("NaN", "Infinity"))), 0)


def iter_items(text: str, begin: int) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) of each item of the array that begins at `begin` of `text`, which is JSON."""
    at = _after_space(text, begin + 1)
    while text[at] != "]":
        _, end = _SKIPPER.raw_decode(text, at)
        yield at, end
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)


def iter_members(text: str, begin: int) -> Iterator[tuple[str, int]]:
    """Yield (name, begin of the value) of each member of the object that begins at `begin` of `text`, which is JSON."""
    at = _after_space(text, begin + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        at = _after_space(text, _after_space(text, end) + 1)
        yield name, at
        _, end = _SKIPPER.raw_decode(text, at)
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def byte_offsets(text: str, data: bytes) -> range | npt.NDArray[np.int64]:
    """Return the byte of `data`, the UTF-8 of `text`, at which each character begins, and last where it ends."""
    if len(text) == len(data):
        return range(len(data) + 1)
    units = np.frombuffer(data, np.uint8)
    return np.append(np.flatnonzero((units & 0xC0) != 0x80), len(data))


# -- writing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonStyle:
    """One of the usual ways to write JSON on one line."""

    item_separator: str
    name_separator: str
    ascii_only: bool

    def quote(self, text: str) -> str:
        """Return `text` as a JSON string; a lone surrogate, which UTF-8 cannot hold, is always escaped."""
        if self.ascii_only:
            return encode_basestring_ascii(text)
        quoted = encode_basestring(text)
        if quoted.isascii():
            return quoted
        return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


STYLES = {
    "spaced": JsonStyle(item_separator=", ", name_separator=": ", ascii_only=False),
    "spaced-ascii": JsonStyle(item_separator=", ", name_separator=": ", ascii_only=True),
    "compact": JsonStyle(item_separator=",", name_separator=":", ascii_only=False),
    "compact-ascii": JsonStyle(item_separator=",", name_separator=":", ascii_only=True),
}
SPACED = STYLES["spaced"]


def write_json(value: Any, style: JsonStyle = SPACED) -> str:
    """Return the text of a value made of dict, list, str, NumberText, bool and None."""
    if isinstance(value, NumberText):
        return str(value)
    if isinstance(value, str):
        return style.quote(value)
    if isinstance(value, dict):
        members = [f"{style.quote(name)}{style.name_separator}{write_json(v, style)}" for name, v in value.items()]
        return "{" + style.item_separator.join(members) + "}"
    if isinstance(value, list):
        return "[" + style.item_separator.join([write_json(item, style) for item in value]) + "]"
    if value is None:
        return "null"
    return "true" if value else "false"
