"""Pieces of running text to the words they spell, by bytes of the document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lisdata.encoding.pieces import Int64
from lisdata.kernels.arrays import UInt8

_IS_SPACE = np.zeros(256, bool)
_IS_SPACE[list(b" \t\n\v\f\r")] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """The word of each piece (its row among the words given, -1 where none), and how many pieces overlap several."""

    word: Int64
    num_over_several: int


def align_pieces(piece_begin: Int64, piece_end: Int64, word_begin: Int64, word_end: Int64, text: UInt8) -> Alignment:
    """Give each piece the first word whose span overlaps it; leading white space of a piece does not count.

    All offsets are bytes of `text`. Words are ordered by begin; spans may nest or overlap. An empty span is overlapped
    by nothing, an empty piece overlaps nothing; one of white space only belongs to a word when it lies inside its span.
    """
    spelled = np.flatnonzero(word_end > word_begin)
    if len(spelled) < len(word_end):
        found = align_pieces(piece_begin, piece_end, word_begin[spelled], word_end[spelled], text)
        word = np.append(spelled, -1)[found.word]
        return Alignment(word=word, num_over_several=found.num_over_several)
    if not len(word_begin) or not len(piece_begin):
        return Alignment(word=np.full(len(piece_begin), -1, np.int64), num_over_several=0)
    begin = _skip_space(piece_begin, piece_end, text)
    # The first word that ends after byte b is the first whose running greatest end does, also when spans nest.
    greatest_end = np.maximum.accumulate(word_end)
    first_after = np.repeat(np.arange(len(word_end) + 1), np.diff(greatest_end, prepend=0, append=len(text) + 1))
    word = first_after[begin]
    begins = np.append(word_begin, len(text) + 1)
    overlaps = (begins[word] < piece_end) & (begin < piece_end)
    may_touch = overlaps & (begins[np.minimum(word + 1, len(word_end))] < piece_end)
    num_several = _count_several(begin[may_touch], piece_end[may_touch], word_begin, word_end)
    return Alignment(word=np.where(overlaps, word, -1), num_over_several=num_several)


def _count_several(begin: Int64, end: Int64, word_begin: Int64, word_end: Int64) -> int:
    """Return how many pieces overlap more than one word: all that begin before its end, but for those that end then."""
    if not len(begin):
        return 0
    num_ended = np.searchsorted(np.sort(word_end), begin, side="right")
    return int(np.count_nonzero(np.searchsorted(word_begin, end) - num_ended > 1))


def _skip_space(begin: Int64, end: Int64, text: UInt8) -> Int64:
    """Return the first byte of each piece that is not white space, or its begin where there is none."""
    candidates = np.flatnonzero(end - begin > 1)
    candidates = candidates[_IS_SPACE[text[begin[candidates]]]]
    if not len(candidates):
        return begin
    moved, moving = begin.copy(), candidates
    while len(moving):
        moved[moving] += 1
        moving = moving[moved[moving] < end[moving]]
        moving = moving[_IS_SPACE[text[moved[moving]]]]
    return np.where(moved < end, moved, begin)
