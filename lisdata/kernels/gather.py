"""Copies rows of mapped list columns into batches, widening the stored integers on the way.

The columns of a dataset lie in many Arrow buffers. Kernels take the addresses of those buffers; `locate` checks every
row against the number of values behind the address, so that a damaged offset is reported and never followed.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from lisdata.kernels.compiled import INT64S, inner, kernel

Int64 = npt.NDArray[np.int64]

# Codes of stored integer types; the last two read no buffer: zeros, and the kind of the row.
TYPE_CODES = {"uint8": 0, "int8": 1, "uint16": 2, "int16": 3, "int32": 4, "uint32": 5, "int64": 6}
ZEROS, ROW_KIND = 7, 8

# Rows of the `located` table of a batch.
SEGMENT, BEGIN, ROW, LENGTH, KIND = range(5)

_INT64_TABLE = types.Array(types.int64, 2, "C", readonly=True)
_OUT_INT64_TABLE = types.Array(types.int64, 2, "C")
_THREE_INT64S = cast(Any, types).UniTuple(types.int64, 3)


def _pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


pointer: Any = intrinsic(_pointer)


@kernel(
    _THREE_INT64S(
        INT64S, INT64S, INT64S, INT64S, INT64S, types.int64, types.int64, _OUT_INT64_TABLE
    ),
    makes_arrays=True,
)  # fmt: skip
def locate(
    rows: Any, first_row: Any, offsets_at: Any, num_values: Any, kinds_at: Any, one_kind: Any, max_length: Any,
    located: Any,
) -> Any:  # fmt: skip
    """Find rows in segments; return (index of the first bad row or -1, sum of lengths, longest length).

    Segment s holds rows first_row[s] to first_row[s + 1]; its offsets (int64) lie at address offsets_at[s], its kinds
    (uint8) at kinds_at[s] (0: all are `one_kind`), and its lists hold num_values[s] items in all. `located` (5, B)
    gets each row's segment, begin in the segment, row number, length cut to `max_length`, and kind.
    """
    total, longest = 0, 0
    for index in range(len(rows)):
        row = rows[index]
        if row < 0 or row >= first_row[-1]:
            return index, 0, 0
        low, high = 0, len(first_row) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if first_row[middle] <= row:
                low = middle
            else:
                high = middle
        local = row - first_row[low]
        offsets = carray(pointer(offsets_at[low]), (local + 2,), np.int64)
        begin, end = offsets[local], offsets[local + 1]
        if begin < 0 or end < begin or end > num_values[low]:
            return index, 0, 0
        length = min(end - begin, max_length)
        located[SEGMENT, index], located[BEGIN, index], located[ROW, index] = low, begin, row
        located[LENGTH, index], located[KIND, index] = length, one_kind
        if kinds_at[low] != 0:
            located[KIND, index] = carray(pointer(kinds_at[low]), (local + 1,), np.uint8)[local]
        total += length
        longest = max(longest, length)
    return -1, total, longest


@inner
def _copy(source: Any, target: Any) -> None:
    # A plain loop over a slice that begins at 0: this is what the compiler turns into vector instructions.
    for index in range(len(target)):
        target[index] = source[index]


@inner
def _copy_row(code: Any, address: Any, begin: Any, kind: Any, target: Any) -> None:
    length = len(target)
    if code == 0:
        _copy(carray(pointer(address + begin), (length,), np.uint8), target)
    elif code == 1:
        _copy(carray(pointer(address + begin), (length,), np.int8), target)
    elif code == 2:
        _copy(carray(pointer(address + 2 * begin), (length,), np.uint16), target)
    elif code == 3:
        _copy(carray(pointer(address + 2 * begin), (length,), np.int16), target)
    elif code == 4:
        _copy(carray(pointer(address + 4 * begin), (length,), np.int32), target)
    elif code == 5:
        _copy(carray(pointer(address + 4 * begin), (length,), np.uint32), target)
    elif code == 6:
        _copy(carray(pointer(address + 8 * begin), (length,), np.int64), target)
    else:
        value = kind if code == ROW_KIND else 0
        for index in range(length):
            target[index] = value


def _copy_columns(codes: Any, values_at: Any, padding: Any, located: Any, width: Any, target: Any) -> None:
    at = 0
    for column in range(len(codes)):
        for index in range(located.shape[1]):
            length = located[LENGTH, index]
            address = values_at[column, located[SEGMENT, index]]
            part = target[at : at + length]
            _copy_row(codes[column], address, located[BEGIN, index], located[KIND, index], part)
            at += length
            if length < width:
                rest = target[at : at + width - length]
                for filler in range(len(rest)):
                    rest[filler] = padding[column]
                at += len(rest)


def _columns_signature(target: Any) -> Any:
    return types.void(INT64S, _INT64_TABLE, INT64S, _INT64_TABLE, types.int64, types.Array(target, 1, "C"))


_copy_to_int32 = kernel(_columns_signature(types.int32), makes_arrays=True)(_copy_columns)
_copy_to_int64 = kernel(_columns_signature(types.int64), makes_arrays=True)(_copy_columns)


def copy_columns(
    codes: Int64, values_at: Int64, padding: Int64, located: Int64, width: int, target: npt.NDArray[Any]
) -> None:
    """Write the located rows of each column, one column after the other, to `target` (flat int32 or int64).

    Column c has type codes[c] and the values of segment s at address values_at[c, s]. Rows shorter than `width` are
    filled up with padding[c]; `width` 0 lays them end to end.
    """
    copy = _copy_to_int64 if target.dtype == np.int64 else _copy_to_int32
    copy(codes, values_at, padding, located, width, target)
