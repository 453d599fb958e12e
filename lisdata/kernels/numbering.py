"""Numbers of one table put in the place of those of another."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import OUT_UINT32S, UINT32S, kernel

UInt32 = npt.NDArray[np.uint32]


@kernel(types.int64(UINT32S, UINT32S, OUT_UINT32S))
def _renumber(values: Any, numbers: Any, out: Any) -> Any:
    """Write numbers[value] for each value; return the first place where there is none, or -1."""
    for index in range(len(values)):
        value = values[index]
        if value >= len(numbers):
            return index
        out[index] = numbers[value]
    return -1


def renumber(values: UInt32, numbers: UInt32) -> UInt32:
    """Return numbers[value] for each of `values`; IndexError where there is none."""
    out = np.empty(len(values), np.uint32)
    bad = _renumber(values, numbers, out)
    if bad >= 0:
        raise IndexError(f"value {bad} is {values[bad]}, of {len(numbers)} numbers")
    return out
