"""Trees of many sentences made projective: arcs that cross are lifted (Nivre and Nilsson 2005)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import INT64S, OUT_BYTES, OUT_INT64S, inner, kernel

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_OUT_INT32S = types.Array(types.int32, 1, "C")


@inner
def _is_below(heads: Any, base: Any, word: Any, head: Any) -> Any:
    """Tell whether `head` dominates `word`, when it dominates all words between the two."""
    at = heads[base + word]
    while at != 0:
        if min(word, head) < at < max(word, head) or at == head:
            return True
        at = heads[base + at]
    return False


@inner
def _mark(heads: Any, base: Any, head: Any, first: Any, last: Any, crosses: Any) -> None:
    """Mark which arcs from `head`, no root, pass over a word that it does not dominate."""
    for step in (-1, 1):
        end = first[head] if step < 0 else last[head]
        word, is_whole = head, True
        while word != end:
            word += step
            if heads[base + word] == head:
                crosses[word] = not is_whole
            elif is_whole:
                is_whole = _is_below(heads, base, word, head)


@inner
def _shortest(heads: Any, base: Any, n: Any, crosses: Any) -> Any:
    """Return the leftmost dependent of the shortest marked arcs, 0 where none is marked."""
    found, shortest = 0, n
    for word in range(1, n + 1):
        if crosses[word] and abs(heads[base + word] - word) < shortest:
            found, shortest = word, abs(heads[base + word] - word)
    return found


@inner
def _lift(heads: Any, base: Any, n: Any, first: Any, last: Any, crosses: Any) -> None:
    """Lift arcs of words 1 to n, which lie at base + word, until none crosses.

    A lift takes words from below one head only, the arc's own. So the arcs from there, and from where the arc now
    hangs, are all that can change; those from a root cross nothing.
    """
    for word in range(1, n + 1):
        first[word] = last[word] = word
        crosses[word] = False
    for word in range(1, n + 1):
        head = heads[base + word]
        if head != 0:
            first[head], last[head] = min(first[head], word), max(last[head], word)
    for word in range(1, n + 1):
        if heads[base + word] != 0:
            _mark(heads, base, word, first, last, crosses)
    word = _shortest(heads, base, n, crosses)
    while word != 0:
        old = heads[base + word]
        new = heads[base + old]
        heads[base + word] = new
        crosses[word] = False
        first[new], last[new] = min(first[new], word), max(last[new], word)
        _mark(heads, base, old, first, last, crosses)
        if heads[base + new] != 0:
            _mark(heads, base, new, first, last, crosses)
        word = _shortest(heads, base, n, crosses)


@kernel(types.void(_OUT_INT32S, INT64S, OUT_INT64S, OUT_INT64S, OUT_BYTES))
def _lift_all(heads: Any, offsets: Any, first: Any, last: Any, crosses: Any) -> None:
    for row in range(len(offsets) - 1):
        begin, end = offsets[row], offsets[row + 1]
        _lift(heads, begin - 1, end - begin, first, last, crosses)


def lift_sentences(heads: Int32, offsets: Int64) -> tuple[Int32, Int64]:
    """Return projective heads (int32) and the number of lifted arcs of each sentence; all sentences must be trees.

    The shortest arc that crosses, the leftmost dependent among equals, is hung to the head of its head, until no arc
    crosses. A sentence takes as long as its arcs are together, and as many words for each lift.
    """
    lifted = heads.copy()
    longest = int(np.diff(offsets).max(initial=0)) + 1
    first, last, crosses = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.uint8)
    _lift_all(lifted, offsets, first, last, crosses)
    num_lifted = np.concatenate(([0], np.cumsum(lifted != heads)))
    return lifted, num_lifted[offsets[1:]] - num_lifted[offsets[:-1]]
