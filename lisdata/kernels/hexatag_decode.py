"""Hexatags of many sentences to heads, checked on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.branchless import ONE, THREE, TWO, ZERO, select
from lisdata.kernels.compiled import INT64S, OUT_BYTES, OUT_UINT64S, inner, kernel

Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

NO_HEAD = -1

_INT8S = types.Array(types.int8, 1, "C", readonly=True)
_OUT_INT32S = types.Array(types.int32, 1, "C")


@inner
def _tag_at(tags: Any, index: Any) -> Any:
    return np.uint64(np.uint8(tags[index]))  # a negative tag becomes too large for any


@inner
def _decode(terminal: Any, nonterminal: Any, base: Any, n: Any, heads: Any, pending: Any) -> Any:
    """Write the heads of words 1 to n, which lie at base + word; tell whether the tags are valid.

    `pending` holds the finished left child of each node whose right child is yet to come: 4 * its head + the node's
    tag - 1. Bit 0 of that says that the node's head is on its right; bit 1 that the node is itself a right child, and
    so belongs to the partial tree of the node before. A right leaf finishes one partial tree: all nodes back to the
    first one that is a left child.
    """
    num_pending: Any = ZERO
    top: Any = ZERO
    num_read: Any = ZERO
    for word in range(ONE, n + ONE):
        top = num_read = word
        tag = _tag_at(terminal, base + word)
        if tag != ZERO:
            if (tag != ONE) | (num_pending == ZERO):
                return False
            is_open = True
            while is_open:
                num_pending -= ONE
                node = pending[num_pending]
                other, is_head_right = node >> TWO, node & ONE
                dependent = select(is_head_right, other, top)
                top = select(is_head_right, top, other)
                heads[base + dependent] = top
                is_open = node & TWO != ZERO
        tag = _tag_at(nonterminal, base + word) - ONE
        if (tag > THREE) | ((tag > ONE) & (num_pending == ZERO)):
            break
        pending[num_pending] = (top << TWO) | tag
        num_pending += ONE
    heads[base + top] = 0
    return (num_read == n) & (nonterminal[base + n] == 0) & (num_pending == ZERO)


@kernel(types.void(_INT8S, _INT8S, INT64S, _OUT_INT32S, OUT_BYTES, OUT_UINT64S))
def _decode_all(terminal: Any, nonterminal: Any, offsets: Any, heads: Any, is_wrong: Any, pending: Any) -> None:
    for row in range(len(is_wrong)):
        begin, end = offsets[row], offsets[row + 1]
        n = np.uint64(end - begin)
        is_wrong[row] = n == ZERO or not _decode(terminal, nonterminal, np.uint64(begin) - ONE, n, heads, pending)
        if is_wrong[row]:
            for index in range(begin, end):
                heads[index] = NO_HEAD


def decode_sentences(terminal: Int8, nonterminal: Int8, offsets: Int64) -> tuple[Int32, npt.NDArray[np.bool_]]:
    """Return heads (int32, as many as tags) and which sentences are empty or have no valid tags.

    Heads are -1 in those sentences, and outside all sentences. Offsets do not fall and stay inside the tags.
    """
    heads = np.empty(len(terminal), np.int32)
    heads[: offsets[0]] = heads[offsets[-1] :] = NO_HEAD
    is_wrong = np.empty(len(offsets) - 1, np.uint8)
    pending = np.empty(int(np.diff(offsets).max(initial=0)), np.uint64)
    _decode_all(terminal, nonterminal, offsets, heads, is_wrong, pending)
    return heads, is_wrong.view(np.bool_)
