"""Names that are a text and a number behind it, a column at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from lisdata.kernels.arrays import binary_array
from lisdata.kernels.compiled import BYTES, OUT_BYTES, OUT_INT64S, UINT64S, kernel


@kernel(types.void(BYTES, UINT64S, OUT_INT64S, OUT_BYTES))
def _write(prefix: Any, numbers: Any, offsets: Any, out: Any) -> None:
    """Write the names, and where each begins and the last ends."""
    at = offsets[0] = 0
    for row in range(len(numbers)):
        for index in range(len(prefix)):
            out[at + index] = prefix[index]
        at += len(prefix)
        value = numbers[row]
        left = value // np.uint64(10)
        while left:
            at += 1
            left //= np.uint64(10)
        for place in range(at, offsets[row] + len(prefix) - 1, -1):
            left = value // np.uint64(10)
            out[place] = 48 + (value - left * np.uint64(10))
            value = left
        at += 1
        offsets[row + 1] = at


def numbered_names(prefix: str, numbers: npt.NDArray[np.uint64]) -> pa.LargeStringArray:
    """Return `prefix` and each number in decimal digits."""
    start = np.frombuffer(prefix.encode(), np.uint8)
    width = len(start) + len(str(int(numbers.max(initial=0))))
    offsets, out = np.empty(len(numbers) + 1, np.int64), np.empty(width * len(numbers), np.uint8)
    _write(start, np.ascontiguousarray(numbers), offsets, out)
    return binary_array(offsets, out[: offsets[-1]], pa.large_string())
