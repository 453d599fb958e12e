"""Comparing rows of two binary arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lisdata.kernels.compare import first_unequal

BINARIES = st.lists(st.binary(max_size=3), min_size=1, max_size=8)


def array(values: list[bytes]) -> pa.LargeBinaryArray:
    return pa.array(values, pa.large_binary())


@given(BINARIES, BINARIES, st.data())
def test_the_first_difference_is_that_of_plain_comparison(a: list[bytes], b: list[bytes], data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(range(len(a))), st.sampled_from(range(len(b)))), max_size=8))
    left, right = (np.array([p[side] for p in pairs], np.int64) for side in (0, 1))

    found = first_unequal(array(a), left, array(b), right)

    assert found == next((i for i, (x, y) in enumerate(pairs) if a[x] != b[y]), -1)


def test_slices_are_compared_from_their_own_begin() -> None:
    rows = np.array([0], np.int64)

    assert first_unequal(array([b"x", b"ab"]).slice(1), rows, array([b"ab"]), rows) == -1
