"""Ragged arrays against lists of lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lisdata.encoding.pieces import first_of_each, offsets_of, ragged_index, row_numbers, running_starts

rows = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=20)


@given(rows)
def test_a_ragged_index_is_the_ranges_one_after_the_other(spans: list[tuple[int, int]]) -> None:
    begins, lengths = np.array(spans, np.int64).reshape(-1, 2).T

    index = ragged_index(begins, lengths)

    assert index.tolist() == [begin + k for begin, length in spans for k in range(length)]


@given(st.lists(st.integers(0, 5), max_size=20))
def test_row_numbers_say_which_row_each_value_is_of(lengths: list[int]) -> None:
    offsets = offsets_of(np.array(lengths, np.int64))

    assert row_numbers(offsets).tolist() == [row for row, length in enumerate(lengths) for _ in range(length)]


@given(rows)
def test_running_starts_sum_what_came_before_under_the_key(items: list[tuple[int, int]]) -> None:
    keys, lengths = np.array(items, np.int64).reshape(-1, 2).T

    starts = running_starts(keys, lengths)

    assert starts.tolist() == [sum(n for k, n in items[:i] if k == key) for i, (key, _) in enumerate(items)]


@given(st.lists(st.integers(0, 7), max_size=30))
def test_first_of_each_is_the_first_index_or_none(values: list[int]) -> None:
    first = first_of_each(np.array(values, np.int64), 8)

    assert first.tolist() == [values.index(v) if v in values else -1 for v in range(8)]
