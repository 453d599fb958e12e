"""Arrow arrays as flat NumPy buffers and back, without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

UInt8 = npt.NDArray[np.uint8]
Int64 = npt.NDArray[np.int64]


def binary_buffers(array: pa.Array) -> tuple[Int64, UInt8]:
    """Return (offsets int64 of N + 1, bytes) of a large_binary or large_string array without nulls."""
    if not (pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type)):
        raise ValueError(f"expected large_binary or large_string, got {array.type}")
    _, offsets, data = array.buffers()
    if offsets is None or offsets.size == 0:
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    rows = np.frombuffer(offsets, np.int64, len(array) + 1, 8 * array.offset)
    return rows, np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return the chunks of a column as one array; a single chunk is not copied."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def binary_array(offsets: Int64, data: UInt8, type_: pa.DataType) -> pa.Array:
    """Return a large_binary or large_string array over `offsets` and `data`."""
    return pa.Array.from_buffers(type_, len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def fixed_binary(rows: UInt8, type_: pa.DataType) -> pa.FixedSizeBinaryArray:
    """Return the rows of a uint8 array (N, width) as a fixed-size binary array."""
    contiguous: Any = np.ascontiguousarray(rows)
    return pa.Array.from_buffers(type_, len(rows), [None, pa.py_buffer(contiguous)])


def fixed_rows(array: pa.FixedSizeBinaryArray) -> UInt8:
    """Return a fixed-size binary array without nulls as uint8 (N, width)."""
    width = array.type.byte_width
    data = array.buffers()[1]
    if data is None:
        return np.empty((0, width), np.uint8)
    return np.frombuffer(data, np.uint8, len(array) * width, array.offset * width).reshape(-1, width)
