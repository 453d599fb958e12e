"""HIF (Hypergraph Interchange Format) documents, read strictly: the format's JSON schema holds, or it is an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lisdata.sources.json_text import (
    JsonPath,
    JsonTextError,
    NumberText,
    byte_offsets,
    iter_items,
    iter_members,
    locate,
    read_json,
    write_json,
)

ARRAYS = ("edges", "nodes", "incidences")
NETWORK_TYPES = ("undirected", "directed", "asc")
DIRECTIONS = ("head", "tail")

_Check = tuple[str, Callable[[Any], bool]]


def _is_string(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, NumberText)


_OBJECT: _Check = ("an object", lambda value: isinstance(value, dict))
_ARRAY: _Check = ("an array", lambda value: isinstance(value, list))
_NUMBER: _Check = ("a number", lambda value: isinstance(value, NumberText))
_ID: _Check = ("a string or an integer", lambda v: v.is_integer if isinstance(v, NumberText) else isinstance(v, str))


def _one_of(values: tuple[str, ...]) -> _Check:
    return f"one of {', '.join(values)}", lambda value: _is_string(value) and value in values


_TOP: dict[str, _Check] = {
    "network-type": _one_of(NETWORK_TYPES),
    "metadata": _OBJECT,
    "incidences": _ARRAY,
    "nodes": _ARRAY,
    "edges": _ARRAY,
}
_ENTRIES: dict[str, dict[str, _Check]] = {
    "incidences": {
        "edge": _ID,
        "node": _ID,
        "weight": _NUMBER,
        "direction": _one_of(DIRECTIONS),
        "attrs": _OBJECT,
    },
    "nodes": {"node": _ID, "weight": _NUMBER, "attrs": _OBJECT},
    "edges": {"edge": _ID, "weight": _NUMBER, "attrs": _OBJECT},
}
_REQUIRED = {"incidences": ("edge", "node"), "nodes": ("node",), "edges": ("edge",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class HifDocument:
    """A document as read, and for each array the (begin, end) bytes of its entries; numbers are `NumberText`.

    `members` is the whole document; `begin` is the byte of its opening brace.
    """

    members: dict[str, Any]
    entry_bytes: dict[str, list[tuple[int, int]]]
    begin: int

    def entries(self, array: str) -> list[dict[str, Any]]:
        """Return the entries of an array, none when it is absent."""
        found: list[dict[str, Any]] = self.members.get(array, [])
        return found


def parse_hif(data: bytes) -> HifDocument:
    """Return the document; UnicodeDecodeError or JsonTextError (with the JSON path of what is wrong) otherwise."""
    text = data.decode("utf-8")
    if text.startswith("\ufeff"):
        text = f" {text[1:]}"  # a byte order mark is allowed; offsets stay
    members = read_json(text)
    try:
        _check_object(members, (), _TOP, ("incidences",))
        for array, checks in _ENTRIES.items():
            for number, entry in enumerate(members.get(array, ())):
                _check_object(entry, (array, number), checks, _REQUIRED[array])
    except _WrongValueError as error:
        offset = locate(text, error.path)
        raise JsonTextError(offset, f"{error.expected} at {_path_text(error.path)}", error.found) from error
    at = byte_offsets(text, data)
    begin = text.index("{")
    entry_bytes = {
        name: [(int(at[first]), int(at[last])) for first, last in iter_items(text, value)]
        for name, value in iter_members(text, begin)
        if name in ARRAYS
    }
    return HifDocument(members=members, entry_bytes=entry_bytes, begin=int(at[begin]))


class _WrongValueError(ValueError):
    def __init__(self, path: JsonPath, expected: str, found: Any) -> None:
        text = write_json(found)
        self.path, self.expected = path, expected
        self.found = text if len(text) <= 60 else f"{text[:60]}..."
        super().__init__(expected)


def _check_object(value: Any, path: JsonPath, checks: dict[str, _Check], required: tuple[str, ...]) -> None:
    if not isinstance(value, dict):
        raise _WrongValueError(path, "an object", value)
    for name, member in value.items():
        if name not in checks:
            raise _WrongValueError((*path, name), f"no member but {', '.join(checks)}", member)
        expected, is_good = checks[name]
        if not is_good(member):
            raise _WrongValueError((*path, name), expected, member)
    for name in required:
        if name not in value:
            raise _WrongValueError(path, f"an object with a member {name}", value)


def _path_text(path: JsonPath) -> str:
    """Return a JSONPath, as in $.incidences[3].weight."""
    parts = [f"[{p}]" if isinstance(p, int) else f".{p}" if p.isidentifier() else f"[{write_json(p)}]" for p in path]
    return "$" + "".join(parts)
