from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lisdata.kernels.groups import number_pairs, rank_in_group, sort_pairs

VALUES = st.integers(0, 3) | st.just(2**64 - 1)
PAIRS = st.lists(st.tuples(VALUES, VALUES), max_size=20).map(lambda pairs: np.array(pairs, np.uint64).reshape(-1, 2))


@given(st.lists(st.integers(-2, 3), max_size=20))
def test_a_rank_is_the_number_of_equal_ones_before(values: list[int]) -> None:
    expected = [values[:at].count(value) for at, value in enumerate(values)]

    assert rank_in_group(np.array(values, np.int64)).tolist() == expected


@given(PAIRS)
def test_pairs_are_numbered_among_the_distinct_ones_in_order(pairs: np.ndarray) -> None:
    distinct, number = number_pairs(pairs)

    assert distinct.tolist() == sorted(map(list, set(map(tuple, pairs.tolist()))))
    assert distinct[number].tolist() == pairs.tolist()


@given(PAIRS)
def test_equal_pairs_keep_their_order_and_the_first_of_each_is_told(pairs: np.ndarray) -> None:
    order, is_first = sort_pairs(pairs)

    listed = pairs.tolist()
    assert order.tolist() == sorted(range(len(listed)), key=lambda at: listed[at])
    assert is_first.tolist() == [at == 0 or listed[order[at]] != listed[order[at - 1]] for at in range(len(listed))]
