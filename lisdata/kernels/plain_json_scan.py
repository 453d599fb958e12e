"""Plain twin of the scanner of JSON: slow, short and obviously right; tests compare the kernel with it."""

from __future__ import annotations

import json
import re

Token = tuple[str, int, int, str, int]

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"')
_LITERALS = ("true", "false", "null")


def scan_tokens(text: str) -> list[Token] | None:
    """Return (kind, begin, end, text, parent) of each token of a document, None where it is no JSON.

    `begin` and `end` count characters; the text of a string has its escapes undone, that of a container is "".
    """
    tokens: list[Token] = []
    try:
        at = _scan_value(text, _skip(text, 0), -1, tokens)
    except ValueError:
        return None
    return tokens if _skip(text, at) == len(text) else None


def _scan_value(text: str, at: int, parent: int, tokens: list[Token]) -> int:
    opener = text[at : at + 1]
    if opener and opener in "{[":
        return _scan_container(text, at, parent, tokens)
    if opener == '"':
        return _scan_string(text, at, parent, tokens, "STRING")
    for literal in _LITERALS:
        if text.startswith(literal, at):
            tokens.append((literal.upper(), at, at + len(literal), literal, parent))
            return at + len(literal)
    found = _NUMBER.match(text, at)
    if found is None:
        raise ValueError("no value")
    kind = "INTEGER" if found[0].removeprefix("-").isdigit() else "NUMBER"
    tokens.append((kind, at, found.end(), found[0], parent))
    return found.end()


def _scan_container(text: str, at: int, parent: int, tokens: list[Token]) -> int:
    is_object = text[at] == "{"
    closer, number, begin = ("}" if is_object else "]"), len(tokens), at
    tokens.append(("", at, at, "", parent))
    at = _skip(text, at + 1)
    while not text.startswith(closer, at) or len(tokens) > number + 1:
        if is_object:
            at = _skip(text, _scan_string(text, at, number, tokens, "KEY"))
            at = _skip(text, _expect(text, at, ":"))
        at = _skip(text, _scan_value(text, at, number, tokens))
        if text.startswith(closer, at):
            break
        at = _skip(text, _expect(text, at, ","))
    tokens[number] = ("OBJECT" if is_object else "ARRAY", begin, at + 1, "", parent)
    return at + 1


def _scan_string(text: str, at: int, parent: int, tokens: list[Token], kind: str) -> int:
    found = _STRING.match(text, at)
    if found is None:
        raise ValueError("no string")
    tokens.append((kind, at, found.end(), json.loads(found[0]), parent))
    return found.end()


def _expect(text: str, at: int, mark: str) -> int:
    if not text.startswith(mark, at):
        raise ValueError(f"no {mark}")
    return at + 1


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
