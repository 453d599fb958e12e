"""Copies rows of mapped list columns to given places of a batch, and fills the gaps between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import INT64S, kernel
from lisdata.kernels.gather import BEGIN, KIND, LENGTH, SEGMENT, _copy_row

Int64 = npt.NDArray[np.int64]

_INT64_TABLE = types.Array(types.int64, 2, "C", readonly=True)


def _place_columns(codes: Any, values_at: Any, located: Any, places: Any, size: Any, target: Any) -> None:
    for column in range(len(codes)):
        for index in range(located.shape[1]):
            begin = column * size + places[index]
            address = values_at[column, located[SEGMENT, index]]
            part = target[begin : begin + located[LENGTH, index]]
            _copy_row(codes[column], address, located[BEGIN, index], located[KIND, index], part)


def _fill_columns(padding: Any, begins: Any, ends: Any, size: Any, target: Any) -> None:
    for column in range(len(padding)):
        for index in range(len(begins)):
            gap = target[column * size + begins[index] : column * size + ends[index]]
            for filler in range(len(gap)):
                gap[filler] = padding[column]


def _placing_signature(target: Any) -> Any:
    return types.void(INT64S, _INT64_TABLE, _INT64_TABLE, INT64S, types.int64, types.Array(target, 1, "C"))


def _filling_signature(target: Any) -> Any:
    return types.void(INT64S, INT64S, INT64S, types.int64, types.Array(target, 1, "C"))


_place_int32 = kernel(_placing_signature(types.int32), makes_arrays=True)(_place_columns)
_place_int64 = kernel(_placing_signature(types.int64), makes_arrays=True)(_place_columns)
_fill_int32 = kernel(_filling_signature(types.int32))(_fill_columns)
_fill_int64 = kernel(_filling_signature(types.int64))(_fill_columns)


def place_columns(
    codes: Int64, values_at: Int64, located: Int64, places: Int64, size: int, target: npt.NDArray[Any]
) -> None:
    """Write row i of column c to target[c * size + places[i]] and after (flat int32 or int64).

    `codes`, `values_at` and `located` are those of `gather.copy_columns`; rows must not leave their column's `size`.
    """
    place = _place_int64 if target.dtype == np.int64 else _place_int32
    place(codes, values_at, located, places, size, target)


def fill_columns(padding: Int64, begins: Int64, ends: Int64, size: int, target: npt.NDArray[Any]) -> None:
    """Write padding[c] to [begins[i], ends[i]) of each column c of `size` in `target` (flat int32 or int64)."""
    fill = _fill_int64 if target.dtype == np.int64 else _fill_int32
    fill(padding, begins, ends, size, target)
