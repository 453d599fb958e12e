"""Comparing contents by number: the rows of two tables that should be the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from lisdata.kernels.arrays import binary_buffers
from lisdata.kernels.compiled import BYTES, INT64S, inner, kernel

Int64 = npt.NDArray[np.int64]


@inner
def _is_equal(left: Any, begin: int, right: Any, other: int, length: int) -> bool:
    for offset in range(length):  # noqa: SIM110  a generator would not compile
        if left[begin + offset] != right[other + offset]:
            return False
    return True


@kernel(types.int64(INT64S, BYTES, INT64S, INT64S, BYTES, INT64S))
def _first_unequal(left_at: Any, left: Any, left_rows: Any, right_at: Any, right: Any, right_rows: Any) -> Any:
    for index in range(len(left_rows)):
        begin, other = left_at[left_rows[index]], right_at[right_rows[index]]
        length = left_at[left_rows[index] + 1] - begin
        if length != right_at[right_rows[index] + 1] - other or not _is_equal(left, begin, right, other, length):
            return index
    return -1


def first_unequal(left: pa.LargeBinaryArray, left_rows: Int64, right: pa.LargeBinaryArray, right_rows: Int64) -> int:
    """Return the first index i at which left[left_rows[i]] != right[right_rows[i]], -1 when there is none."""
    return int(_first_unequal(*binary_buffers(left), left_rows, *binary_buffers(right), right_rows))
