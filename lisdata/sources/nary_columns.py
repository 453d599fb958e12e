"""Which column of lines of names is the relation, told by what the columns have in common and how they are spelled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FEWEST_LINES = 8
"""From how many lines on it tells anything that one column has fewer names than another."""
_RUN = re.compile(rb"[A-Za-z0-9\x80-\xff]+")
_DIGITS = re.compile(rb"[0-9]")
_NUMBERED = re.compile(rb"([A-Za-z]+)[0-9]+")


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """The column of the relation, 0 or 1, and why it is that one; column None where that is not clear."""

    column: int | None
    reason: str = ""


def find_relation(rows: Sequence[Sequence[bytes]]) -> RelationColumn:
    """Return which of the first two columns of lines of three names or more is the relation.

    Entities are heads and tails both, so that the column of heads shares names with the third one; and relations are
    few, so that their column has fewer names. Where the two disagree (few entities with many relations) the first
    holds if most tails are heads too. Where that tells nothing, as on few lines, the spelling of numbered names may:
    of Q1 P2 Q3, or of _hypernym 00260881 00001740, it is clear which two are of one kind.
    """
    columns = [set(column) for column in list(zip(*rows, strict=False))[:3]]
    first, second, third = columns
    shared = len(first & third), len(second & third)
    by_tails = _clearly_more(*shared)
    by_counts = _clearly_more(len(first), len(second)) if len(rows) >= _FEWEST_LINES else 0
    if by_tails * by_counts >= 0 or 2 * max(shared) > len(third):
        if by_tails:
            return RelationColumn(int(by_tails > 0), f"the {_other(by_tails > 0)} names are those that come last too")
        if by_counts:
            return RelationColumn(int(by_counts > 0), f"the {_own(by_counts > 0)} names are few")
    return _by_spelling(columns)


def _by_spelling(columns: list[set[bytes]]) -> RelationColumn:
    """Tell the relation where the other two columns are numbered in one way, and it in none or another."""
    *pair, third = ({_spelling(name) for name in names} for names in columns)
    if all(b"9" in spelling for spelling in third):
        for column, entities in ((1, pair[0]), (0, pair[1])):
            if (third <= entities or entities <= third) and not pair[column] & (entities | third):
                return RelationColumn(column, f"the {_other(bool(column))} names are spelled like the last ones")
    return RelationColumn(None)


def _spelling(name: bytes) -> bytes:
    """Return a name with "a" for words and "9" for numbers; letters before a number stay, as in Q9."""
    return _RUN.sub(_spelled_run, name)


def _spelled_run(run: re.Match[bytes]) -> bytes:
    numbered = _NUMBERED.fullmatch(run[0])
    if numbered is not None:
        return numbered[1] + b"9"
    return b"9" if _DIGITS.search(run[0]) else b"a"


def _own(is_second: bool) -> str:
    return "second" if is_second else "first"


def _other(is_second: bool) -> str:
    return _own(not is_second)


def _clearly_more(first: int, second: int) -> int:
    """Return 1 where `first` is at least twice `second`, -1 the other way round, else 0."""
    if max(first, second) < 2 * min(first, second) or first == second:
        return 0
    return 1 if first > second else -1
