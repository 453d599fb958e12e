"""Columns of numbers laid row by row, as the cells of a table stand in its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import OUT_UINT32S, UINT32S, kernel
from lisdata.schema import NO_ROW

UInt32 = npt.NDArray[np.uint32]

_COLUMNS = types.Array(types.uint32, 2, "C", readonly=True)
_ROWS_AT_ONCE = 1024  # of these rows, what is read and what is written stay in the processor's cache


@kernel(types.boolean(_COLUMNS, UINT32S, OUT_UINT32S))
def _lay(columns: Any, instead: Any, out: Any) -> Any:
    """Write the rows; return whether any NO_ROW is left."""
    width, is_left = len(columns), False
    for begin in range(0, columns.shape[1], _ROWS_AT_ONCE):
        end = min(begin + _ROWS_AT_ONCE, columns.shape[1])
        for number in range(width):
            column, otherwise = columns[number], instead[number]
            at = begin * width + number
            for row in range(begin, end):
                value = column[row]
                if value == NO_ROW:
                    value = otherwise
                    is_left |= value == NO_ROW
                out[at] = value
                at += width
    return is_left


def lay_rows(columns: list[UInt32], instead: UInt32) -> tuple[UInt32, bool]:
    """Return the rows (N, C) of C columns of N numbers, and whether none is NO_ROW.

    NO_ROW in column c becomes instead[c], which may be NO_ROW too.
    """
    stacked = np.stack(columns)
    out = np.empty(stacked.size, np.uint32)
    is_left = _lay(stacked, instead, out)
    return out.reshape(stacked.shape[1], len(columns)), not is_left
