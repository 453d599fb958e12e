"""Names of constraints in the SQL of an SQLite table, which no pragma tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(rf"{QUOTED.pattern}|[(),]|[^\s(),'\"`\[]+", re.DOTALL)
_COMMENTS = ("--", "/*")
_CLOSING = {"[": "]"}
_BEFORE = (("(", False), (",", False))  # tokens before a column


@dataclass(slots=True)
class ConstraintNames:
    """Names by what they name: the primary key, UNIQUE by its columns, the n-th foreign key; and those of the rest."""

    primary_key: str | None = None
    unique: dict[tuple[str, ...], str] = field(default_factory=dict)
    foreign_keys: dict[int, str] = field(default_factory=dict)
    num_others: int = 0


def read_constraint_names(sql: str) -> ConstraintNames:
    """Return the names in a CREATE TABLE statement that SQLite has taken; columns of UNIQUE in lower case."""
    found, tokens = ConstraintNames(), list(_iter_tokens(sql))
    depth, column, num_references, name = 0, "", 0, None
    for place, (token, is_name) in enumerate(tokens):
        word = "" if is_name else token.upper()
        if depth == 1 and tokens[place - 1] in _BEFORE:
            column = token.lower()
        if word in ("(", ")"):
            depth += 1 if word == "(" else -1
        elif depth != 1:
            continue
        elif word == ",":
            name = None
        elif word == "CONSTRAINT":
            name = tokens[place + 1][0]
            kind, is_quoted = tokens[place + 2]
            found.num_others += not is_quoted and kind.upper() in ("NOT", "NULL", "DEFAULT")
        elif name is None:
            num_references += word == "REFERENCES"
        elif word == "PRIMARY":
            found.primary_key, name = name, None
        elif word == "UNIQUE":
            columns = _columns(tokens[place + 1 :]) or (column,)
            found.num_others += columns in found.unique  # one index for both
            found.unique.setdefault(columns, name)
            name = None
        elif word == "REFERENCES":
            found.foreign_keys[num_references], name = name, None
            num_references += 1
        elif word in ("CHECK", "NOT", "NULL", "DEFAULT", "COLLATE", "GENERATED", "AS"):
            name = None
    return found


def _iter_tokens(sql: str) -> Iterator[tuple[str, bool]]:
    """Yield the tokens but comments, and whether each was quoted; then it is without its quotes."""
    for match in _TOKEN.finditer(sql):
        token = match[0]
        if token.startswith(_COMMENTS):
            continue
        is_quoted = token[0] in "'\"`["
        closing = _CLOSING.get(token[0], token[0])
        yield (token[1:-1].replace(closing * 2, closing), True) if is_quoted else (token, False)


def _columns(tokens: list[tuple[str, bool]]) -> tuple[str, ...]:
    """Return the columns in the parentheses that come first, in lower case; none where something else does."""
    if not tokens or tokens[0] != ("(", False):
        return ()
    end = tokens.index((")", False))
    return tuple(name.lower() for (name, _), before in zip(tokens[1:end], tokens, strict=False) if before in _BEFORE)
