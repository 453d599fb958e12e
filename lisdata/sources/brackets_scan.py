"""Finds the brackets, labels and words of bracketed trees in whole blocks of bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]

_SPACE, _ATOM, _OPEN, _CLOSE = 0, 1, 2, 3
_CLASSES = np.full(256, _ATOM, np.uint8)
_CLASSES[list(b" \t\n\r\v\f")] = _SPACE
_CLASSES[ord("(")], _CLASSES[ord(")")] = _OPEN, _CLOSE


@dataclass(frozen=True, slots=True, kw_only=True)
class Brackets:
    """The tokens of a block, in order: where each begins and ends, and what it is.

    A label is the first thing behind an opening bracket, if that is no bracket. `depth` is the number of brackets open
    around a token; a closing bracket that nothing opened changes none. `match` is the number of the bracket that closes
    an opening one, -1 where none does.
    """

    begin: Int64
    end: Int64
    is_open: Bools
    is_close: Bools
    is_label: Bools
    depth: Int64
    match: Int64

    @property
    def is_word(self) -> Bools:
        """Which tokens are neither brackets nor labels."""
        return ~(self.is_open | self.is_close | self.is_label)


def scan_brackets(data: bytes) -> Brackets:
    """Return the tokens of `data`."""
    classes = _CLASSES[np.frombuffer(data, np.uint8)]
    is_atom = classes == _ATOM
    begin = np.flatnonzero((classes >= _OPEN) | (is_atom & ~_follows(is_atom)))
    kind = classes[begin]
    is_open, is_close, is_token_atom = kind == _OPEN, kind == _CLOSE, kind == _ATOM
    end = begin + 1
    end[is_token_atom] = np.flatnonzero(is_atom & ~_follows(is_atom[::-1])[::-1]) + 1
    sums = np.cumsum(is_open.astype(np.int64) - is_close)
    floor = np.minimum(np.minimum.accumulate(sums), 0)
    is_unopened = np.diff(floor, prepend=0) < 0
    depth = sums - floor - is_open
    return Brackets(
        begin=begin,
        end=end,
        is_open=is_open,
        is_close=is_close,
        is_label=is_token_atom & _follows(is_open),
        depth=depth,
        match=_match(is_open, is_close & ~is_unopened, depth),
    )


def _follows(wanted: Bools) -> Bools:
    """Return which items stand behind a wanted one."""
    follows = np.zeros(len(wanted), bool)
    follows[1:] = wanted[:-1]
    return follows


def _match(is_open: Bools, is_close: Bools, depth: Int64) -> Int64:
    """Pair brackets: of those at one depth, in order, each opening one is closed by the next, if that closes."""
    brackets = np.flatnonzero(is_open | is_close)
    order = brackets[np.argsort(depth[brackets], kind="stable")]
    first, second = order[:-1], order[1:]
    is_pair = is_open[first] & is_close[second] & (depth[first] == depth[second])
    match = np.full(len(depth), -1, np.int64)
    match[first[is_pair]] = second[is_pair]
    return match


def parents_of(brackets: Brackets, nodes: Int64) -> Int64:
    """Return the token that opens what each of `nodes` (opening brackets and words) is in, -1 where nothing is around.

    That is the last opening bracket before it at a depth of one less.
    """
    size = len(brackets.depth) + 1
    opens = np.flatnonzero(brackets.is_open)
    keys = brackets.depth[opens] * size + opens
    order = np.argsort(keys, kind="stable")
    depth = brackets.depth[nodes]
    found = np.searchsorted(keys[order], (depth - 1) * size + nodes) - 1
    return np.where(depth > 0, opens[order[found]], -1) if len(opens) else np.full(len(nodes), -1, np.int64)
