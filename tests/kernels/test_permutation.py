"""The permutation kernels against their plain twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.kernels import permutation, plain_loading

KEYS = st.lists(st.integers(0, 2**64 - 1), min_size=6, max_size=6)
COUNTS = st.one_of(st.integers(1, 400), st.integers(1, 2**40))


@settings(max_examples=50, deadline=None)
@given(count=COUNTS, keys=KEYS, picks=st.lists(st.integers(0, 2**40), max_size=20))
def test_indices_go_where_the_plain_twin_sends_them_and_come_back(
    count: int, keys: list[int], picks: list[int]
) -> None:
    indices = np.array(picks, np.int64) % count

    found = permutation.permute(indices, count, np.array(keys, np.uint64))

    assert found.tolist() == [plain_loading.permute(int(i), count, keys) for i in indices]
    assert permutation.permute(found, count, np.array(keys, np.uint64), inverse=True).tolist() == indices.tolist()


@settings(max_examples=40, deadline=None)
@given(count=st.integers(1, 60), window=st.integers(1, 30), block=st.integers(1, 20), keys=st.tuples(KEYS, KEYS))
def test_windows_go_where_the_plain_twin_sends_them(
    count: int, window: int, block: int, keys: tuple[list[int], list[int]]
) -> None:
    block_keys, window_keys = keys

    found = permutation.permute_windows(
        np.arange(count),
        count,
        window=window,
        block=block,
        block_keys=np.array(block_keys, np.uint64),
        window_keys=np.array(window_keys, np.uint64),
    )

    assert found.tolist() == plain_loading.permute_windows(
        count, window=window, block=block, block_keys=block_keys, window_keys=window_keys
    )
    assert sorted(found) == list(range(count))
