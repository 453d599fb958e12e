"""Arrow arrays as flat buffers and back."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisdata.kernels.arrays import binary_array, binary_buffers, fixed_binary, fixed_rows


@given(values=st.lists(st.binary(max_size=5)), begin=st.integers(0, 5))
def test_binary_values_go_to_buffers_and_back(values: list[bytes], begin: int) -> None:
    array = pa.array(values, pa.large_binary())[begin:]

    offsets, data = binary_buffers(array)

    assert [data[a:b].tobytes() for a, b in pairwise(offsets)] == values[begin:]
    assert binary_array(offsets, data, pa.large_binary()).equals(array)


@given(values=st.lists(st.binary(min_size=3, max_size=3)), begin=st.integers(0, 5))
def test_fixed_size_values_go_to_rows_and_back(values: list[bytes], begin: int) -> None:
    array = pa.array(values, pa.binary(3))[begin:]

    rows = fixed_rows(array)

    assert [row.tobytes() for row in rows] == values[begin:]
    assert fixed_binary(np.asfortranarray(rows), pa.binary(3)).equals(array)


def test_arrays_of_other_types_are_refused() -> None:
    with pytest.raises(ValueError, match="expected large_binary or large_string, got string"):
        binary_buffers(pa.array(["a"]))
