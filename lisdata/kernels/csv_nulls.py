"""Which cells of delimited rows are NULL, and how their quotes agree with what must be quoted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import kernel
from lisdata.kernels.csv_scan import QUOTED, SPECIAL, Cells

Bools = npt.NDArray[np.bool_]
Int64 = npt.NDArray[np.int64]

_ROWS_AT_ONCE = 1024  # of these rows, what is read and what is written stay in the processor's cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Nulls:
    """NULL cells, (columns, rows), and counts, one a column.

    `num_otherwise` counts cells that are quoted and need not be or are not and must be, `num_unquoted` those that are
    not quoted; NULLs are in neither. A cell must be quoted that holds a delimiter, a quote or a line ending, and one
    that would be NULL otherwise.
    """

    is_null: Bools
    num_nulls: Int64
    num_otherwise: Int64
    num_unquoted: Int64


@kernel(types.void(
    types.Array(types.uint32, 2, "C", readonly=True), types.Array(types.uint8, 2, "C", readonly=True),
    types.Array(types.boolean, 2, "C", readonly=True), types.Array(types.boolean, 2, "C"),
    types.Array(types.int64, 2, "C"),
))  # fmt: skip
def _find(size: Any, flags: Any, is_token: Any, is_null: Any, counts: Any) -> None:
    """Mark NULLs and count, see `Nulls`; without rows in `is_token`, empty cells are the tokens."""
    are_empty = len(is_token) == 0
    for begin in range(0, len(size), _ROWS_AT_ONCE):
        end = min(begin + _ROWS_AT_ONCE, len(size))
        for column in range(size.shape[1]):
            nulls = otherwise = unquoted = 0
            for row in range(begin, end):
                flag = flags[row, column]
                token = size[row, column] == 0 if are_empty else is_token[column, row]
                quoted, special = flag & QUOTED != 0, flag & SPECIAL != 0
                null = token & (not quoted)
                is_null[column, row] = null
                nulls += null
                unquoted += (not quoted) & (not null)
                otherwise += (quoted != (special | (token & quoted))) & (not null)
            counts[0, column] += nulls
            counts[1, column] += otherwise
            counts[2, column] += unquoted


def find_nulls(cells: Cells, is_token: Bools | None = None) -> Nulls:
    """Return the NULLs of some rows: unquoted cells that are NULL's tokens (columns, rows), by default empty ones."""
    num_rows, num_columns = cells.size.shape
    is_null, counts = np.empty((num_columns, num_rows), np.bool_), np.zeros((3, num_columns), np.int64)
    tokens = np.empty((0, num_rows), np.bool_) if is_token is None else is_token
    _find(cells.size, cells.flags, tokens, is_null, counts)
    return Nulls(is_null=is_null, num_nulls=counts[0], num_otherwise=counts[1], num_unquoted=counts[2])
