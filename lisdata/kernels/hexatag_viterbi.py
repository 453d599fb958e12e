"""Scores of hexatags to the best valid tags of many sentences, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.branchless import ONE, TWO, ZERO
from lisdata.kernels.compiled import INT64S, OUT_BYTES, inner, kernel
from lisdata.schema import UNTAGGED

Int8 = npt.NDArray[np.int8]
Float32 = npt.NDArray[np.float32]
Int64 = npt.NDArray[np.int64]

_FLOAT32_TABLE = types.Array(types.float32, 2, "C", readonly=True)
_OUT_FLOAT64S = types.Array(types.float64, 1, "C")
_OUT_INT8S = types.Array(types.int8, 1, "C")

_NEVER = -np.inf
_VALID, _INVALID, _NOT_FINITE = range(3)


@inner
def _choose(
    terminals: Any, nonterminals: Any, begin: Any, n: Any, limit: Any, terminal: Any, nonterminal: Any, opening: Any,
    closing: Any,
) -> Any:  # fmt: skip
    """Write the best tags of each word alone, and tell whether they are valid, and so the best of all.

    `opening` and `closing` get what a word gains by a left leaf over a right one, and by a right node over a left one.
    """
    depth, is_valid, check = 0, True, 0.0
    for word in range(n):
        at = begin + word
        right, left = np.float64(terminals[at, 1]), np.float64(terminals[at, 0])
        left_l, left_r = np.float64(nonterminals[at, 1]), np.float64(nonterminals[at, 2])
        right_l, right_r = np.float64(nonterminals[at, 3]), np.float64(nonterminals[at, 4])
        check += (left + right + left_l + left_r + right_l + right_r) * 0.0
        opening[word] = left - right
        closing[word] = max(right_l, right_r) - max(left_l, left_r)
        opens, closes = opening[word] > 0.0, closing[word] > 0.0
        terminal[at] = not opens
        nonterminal[at] = 1 + 2 * closes + ((closes & (right_r > right_l)) | ((not closes) & (left_r > left_l)))
        depth += opens
        is_valid &= (depth >= 1) & (depth <= limit)
        depth -= closes & (word + ONE < n)
        is_valid &= depth >= 1
    nonterminal[begin + n - ONE] = 0
    if check != 0.0:
        return _NOT_FINITE
    return _VALID if is_valid & (depth == 1) else _INVALID


@inner
def _search(
    nonterminals: Any, begin: Any, n: Any, limit: Any, terminal: Any, nonterminal: Any, opening: Any, closing: Any,
    now: Any, after: Any, steps: Any,
) -> Any:  # fmt: skip
    """Write the best valid tags: `now` and `after` are scores of the best ways to each depth after a word's node.

    Depth counts open partial trees: a left leaf adds one, a right node takes one away. It stays between 1 and `limit`,
    and after the last word it is 1.
    """
    limit = min(limit, (n + ONE) >> ONE)
    for level in range(limit + TWO):
        now[level] = after[level] = _NEVER
    now[ZERO] = 0.0
    for word in range(n):
        opens, closes, row = opening[word], closing[word], word * limit - ONE
        highest = min(word + ONE, n - word, limit)
        for level in range(ONE, highest + ONE):
            opened, kept = now[level - ONE] + opens, now[level]
            score = max(opened, kept)
            closed = max(kept + opens, now[level + ONE]) + closes
            after[level] = max(score, closed)
            steps[row + level] = np.uint8(opened > kept) | (np.uint8(closed > score) << np.uint8(1))
        if highest == limit:  # no node can come down from above it
            opened, kept = now[limit - ONE] + opens, now[limit]
            after[limit] = max(opened, kept)
            steps[row + limit] = np.uint8(opened > kept)
        now, after = after, now
        now[ZERO] = _NEVER
    depth = ONE
    for place in range(n):
        word = n - ONE - place
        at, row = begin + word, word * limit - ONE
        if place > ZERO:
            is_right = np.uint64(steps[row + depth] >> np.uint8(1))
            label = ONE + TWO * is_right
            nonterminal[at] = label + np.uint64(nonterminals[at, label + ONE] > nonterminals[at, label])
            depth += is_right
        is_left = np.uint64(steps[row + depth] & np.uint8(1))
        terminal[at] = ONE - is_left
        depth -= is_left


@kernel(
    types.int64(
        _FLOAT32_TABLE, _FLOAT32_TABLE, INT64S, types.int64, _OUT_INT8S, _OUT_INT8S, _OUT_FLOAT64S, _OUT_FLOAT64S,
        _OUT_FLOAT64S, _OUT_FLOAT64S, OUT_BYTES,
    )
)  # fmt: skip
def _search_all(
    terminals: Any, nonterminals: Any, offsets: Any, limit: Any, terminal: Any, nonterminal: Any, opening: Any,
    closing: Any, now: Any, after: Any, steps: Any,
) -> Any:  # fmt: skip
    """Return the first sentence with scores that are not finite, or -1."""
    for row in range(len(offsets) - 1):
        begin, n = np.uint64(offsets[row]), np.uint64(offsets[row + 1] - offsets[row])
        if n == ZERO:
            continue
        outcome = _choose(terminals, nonterminals, begin, n, limit, terminal, nonterminal, opening, closing)
        if outcome == _NOT_FINITE:
            return row
        if outcome == _INVALID:
            _search(
                nonterminals, begin, n, np.uint64(limit), terminal, nonterminal, opening, closing, now, after, steps
            )  # fmt: skip
    return -1


def best_tags(terminals: Float32, nonterminals: Float32, offsets: Int64, limit: int) -> tuple[Int8, Int8, int]:
    """Return the valid tags of highest score, and the first sentence with scores that are not finite, or -1.

    Scores are (N, 2) and (N, 5); `limit` >= 1 is the greatest depth of the stack. Sums are float64.
    """
    terminal, nonterminal = np.full(len(terminals), UNTAGGED, np.int8), np.full(len(terminals), UNTAGGED, np.int8)
    lengths = np.diff(offsets)
    longest = int(lengths.max(initial=0))
    depths = np.minimum((lengths + 1) // 2, limit)
    opening, closing = np.empty(longest), np.empty(longest)
    now, after = np.empty(longest + 3), np.empty(longest + 3)
    steps = np.empty(int((lengths * depths).max(initial=0)), np.uint8)
    bad = _search_all(
        terminals, nonterminals, offsets, limit, terminal, nonterminal, opening, closing, now, after, steps
    )  # fmt: skip
    return terminal, nonterminal, bad
