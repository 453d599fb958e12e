"""Alignment against a search through all words for every piece."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lisdata.encoding.alignment import align_pieces

TEXT = b"ab  cd\tef gh   "
spans = st.tuples(st.integers(0, len(TEXT)), st.integers(0, len(TEXT))).map(sorted)


def align(pieces: list[list[int]], words: list[list[int]]) -> tuple[list[int], int]:
    begin, end = np.array(pieces, np.int64).reshape(-1, 2).T
    first, last = np.array(words, np.int64).reshape(-1, 2).T
    found = align_pieces(begin, end, first, last, np.frombuffer(TEXT, np.uint8))
    return found.word.tolist(), found.num_over_several


@given(st.lists(spans, max_size=8), st.lists(spans, max_size=8))
def test_a_piece_shows_the_first_word_it_overlaps_and_is_counted_where_there_are_more(
    pieces: list[list[int]], words: list[list[int]]
) -> None:
    words = sorted(words)
    found, num_over_several = align(pieces, words)

    several = 0
    for (begin, end), word in zip(pieces, found, strict=True):
        begin = next((b for b in range(begin, end) if TEXT[b] not in b" \t"), begin)
        overlapping = [n for n, (first, last) in enumerate(words) if max(first, begin) < min(last, end)]
        assert word == (overlapping[0] if overlapping else -1)
        several += len(overlapping) > 1
    assert num_over_several == several


def test_a_leading_space_counts_to_the_word_also_after_a_word_that_holds_it() -> None:
    assert align([[2, 6]], [[0, 4], [4, 6]]) == ([1], 0)


def test_white_space_shows_a_word_only_inside_its_span() -> None:
    assert align([[2, 4], [2, 4]], [[0, 2], [4, 6]]) == ([-1, -1], 0)
    assert align([[2, 4]], [[0, 6]]) == ([0], 0)


def test_a_piece_over_two_words_shows_the_first_and_is_counted() -> None:
    assert align([[0, 6], [6, 9]], [[0, 2], [4, 6], [7, 9]]) == ([0, 2], 1)


def test_a_piece_over_two_words_is_counted_also_where_a_third_lies_between_them_in_order() -> None:
    assert align([[7, 9]], [[0, 15], [0, 2], [7, 9]]) == ([0], 1)


def test_empty_pieces_and_empty_words_meet_nothing() -> None:
    assert align([[1, 1], [0, 2]], [[1, 1]]) == ([-1, -1], 0)
    assert align([], [[0, 2]]) == ([], 0)
    assert align([[0, 2]], []) == ([-1], 0)
