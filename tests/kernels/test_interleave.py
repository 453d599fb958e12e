from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.kernels.interleave import interleave

ROWS = st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=4), st.lists(st.integers(0, 9), max_size=4)), max_size=5)


@given(rows=ROWS, dtype=st.sampled_from(["bool", "int8", "uint32", "int32", "uint64", "float64"]))
@settings(deadline=None)
def test_each_row_has_the_values_of_the_first_and_then_of_the_second(
    rows: list[tuple[list[int], list[int]]], dtype: str
) -> None:
    columns = [[value for row in rows for value in row[side]] for side in (0, 1)]
    first, second = (np.array(column).astype(dtype) for column in columns)
    offsets = [np.cumsum([0, *(len(row[side]) for row in rows)], dtype=np.int64) for side in (0, 1)]

    found = interleave(first, offsets[0], second, offsets[1])

    expected = [value for one, other in rows for value in (*one, *other)]
    assert found.dtype == first.dtype
    assert found.tolist() == np.array(expected).astype(dtype).tolist()


def test_other_types_and_rows_are_refused() -> None:
    offsets, values = np.array([0, 1]), np.zeros(1, np.int32)

    with pytest.raises(ValueError, match="expected two arrays of one type of 1, 4 or 8 bytes, got int32 and int64"):
        interleave(values, offsets, np.zeros(1, np.int64), offsets)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="got int16 and int16"):
        interleave(values.astype(np.int16), offsets, values.astype(np.int16), offsets)
    with pytest.raises(ValueError, match="expected as many rows, got 1 and 2"):
        interleave(values, offsets, values, np.array([0, 1, 1]))
