"""Heads of many sentences to their hexatags, checked on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.branchless import ONE, TWO, ZERO, only_if, select, word_at
from lisdata.kernels.compiled import INT64S, OUT_BYTES, OUT_UINT32S, OUT_UINT64S, inner, kernel
from lisdata.kernels.tree_faults import TreeFault
from lisdata.schema import UNTAGGED

Int8 = npt.NDArray[np.int8]
UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_INT32S = types.Array(types.int32, 1, "C", readonly=True)
_OUT_INT8S = types.Array(types.int8, 1, "C")

# Kernels compare plain numbers: enum members are slow there.
_NONE, _EMPTY, _OUT_OF_RANGE, _SELF_LOOP, _NO_ROOT, _SEVERAL_ROOTS, _CYCLE, _NON_PROJECTIVE = map(int, TreeFault)


@inner
def _encode(heads: Any, base: Any, n: Any, terminal: Any, nonterminal: Any, low: Any, high: Any, below: Any) -> Any:
    """Write the tags of words 1 to n, which lie at base + word; tell whether the heads are a projective tree.

    The block of a word reaches from low[word] to high[word]: its outermost dependent on each side, that one's outermost
    dependent on the same side, and so on. The tags follow from the blocks in closed form, but for any heads at all. So
    the heads are checked: there is one root, and every block is longer by one word than those of the word's dependents
    together. On a cycle blocks would grow without end. In a tree, take a word whose dependents' blocks are their whole
    subtrees: these overlap neither each other nor the word and lie between the outermost ones, so that they fill the
    word's block, which then is its subtree, if and only if the lengths agree.
    """
    num_roots, is_outside = ZERO, False
    low[0] = high[0] = below[0] = 0
    for word in range(ONE, n + ONE):  # right dependents in ascending order, left ones in descending: outermost last
        head = word_at(heads, base + word)
        num_roots += np.uint64(head == ZERO)
        is_outside |= head > n
        high[word], below[word] = word, 0
        high[only_if(head < word, head)] = word
        other = n + ONE - word
        head = word_at(heads, base + other)
        low[other] = other
        low[only_if((head > other) & (head <= n), head)] = other
    if is_outside | (num_roots != ONE):
        return False
    low[0] = high[0] = 0
    for word in range(ONE, n + ONE):
        low[word] = low[low[word]]
        high[n + ONE - word] = high[high[n + ONE - word]]
    for word in range(ONE, n + ONE):
        head = word_at(heads, base + word)
        is_dependent, is_left = head != ZERO, word < head
        begin, end = np.uint64(low[word]), np.uint64(high[word])
        below[head] += end - begin + ONE
        above = word_at(heads, base + select(is_dependent, head, word))
        # A child that nothing else decides goes the way of the node that it heads: right where its own head is left.
        is_word_right = is_dependent & (head < word)
        is_head_right = (above != ZERO) & (above < head)
        terminal[base + word] = (begin != word) | ((end == word) & is_word_right)
        is_last = (is_left & (high[head] == head)) | (is_word_right & (end == high[head]))
        is_right = (is_left & (begin != low[head])) | (is_last & is_head_right)
        # The arc's node lies over the gap after word `gap`; where there is none, the tag goes where EOS overwrites it.
        gap = select(is_left, end, begin - ONE)
        gap = select(is_dependent & (gap != ZERO), gap, n)
        nonterminal[base + gap] = ONE + np.uint64(is_left) + TWO * np.uint64(is_right)
    nonterminal[base + n] = 0
    is_wrong = False
    for word in range(ONE, n + ONE):
        is_wrong |= below[word] != np.uint64(high[word]) - np.uint64(low[word])
    return not is_wrong


@inner
def _fault_of(heads: Any, base: Any, n: Any, seen: Any) -> Any:
    """Return why heads are no projective tree."""
    if n == ZERO:
        return _EMPTY
    num_roots, is_own_head = ZERO, False
    for word in range(ONE, n + ONE):
        head = word_at(heads, base + word)
        if head > n:
            return _OUT_OF_RANGE
        num_roots += np.uint64(head == ZERO)
        is_own_head |= head == word
        seen[word] = 0
    if is_own_head:
        return _SELF_LOOP
    if num_roots != ONE:
        return _NO_ROOT if num_roots == ZERO else _SEVERAL_ROOTS
    for start in range(ONE, n + ONE):
        word = start
        while word != ZERO and seen[word] == 0:
            seen[word] = start
            word = word_at(heads, base + word)
        if word != ZERO and seen[word] == start:
            return _CYCLE
    return _NON_PROJECTIVE


@kernel(types.void(_INT32S, INT64S, _OUT_INT8S, _OUT_INT8S, OUT_BYTES, OUT_UINT32S, OUT_UINT32S, OUT_UINT64S))
def _encode_all(
    heads: Any, offsets: Any, terminal: Any, nonterminal: Any, faults: Any, low: Any, high: Any, below: Any
) -> None:
    for row in range(len(faults)):
        begin, end = offsets[row], offsets[row + 1]
        base, n = np.uint64(begin) - ONE, np.uint64(end - begin)
        if n != ZERO and _encode(heads, base, n, terminal, nonterminal, low, high, below):
            faults[row] = _NONE
        else:
            faults[row] = _fault_of(heads, base, n, low)
            for index in range(begin, end):
                terminal[index] = nonterminal[index] = UNTAGGED


def encode_sentences(heads: Int32, offsets: Int64) -> tuple[Int8, Int8, UInt8]:
    """Return terminal and nonterminal tags (int8, as many as heads) and faults (uint8, one a sentence).

    Sentence i is heads[offsets[i]:offsets[i + 1]]; offsets do not fall and stay inside. Tags are -100 where a sentence
    has a fault, and outside all sentences.
    """
    longest = int(np.diff(offsets).max(initial=0)) + 1
    terminal, nonterminal = np.empty(len(heads), np.int8), np.empty(len(heads), np.int8)
    for tags in (terminal, nonterminal):
        tags[: offsets[0]] = tags[offsets[-1] :] = UNTAGGED
    faults = np.empty(len(offsets) - 1, np.uint8)
    low, high, below = np.empty(longest, np.uint32), np.empty(longest, np.uint32), np.empty(longest, np.uint64)
    _encode_all(heads, offsets, terminal, nonterminal, faults, low, high, below)
    return terminal, nonterminal, faults
