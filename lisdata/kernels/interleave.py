"""Joins two list columns row by row: the values of the one, then those of the other."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import INT64S, inner, kernel

Int64 = npt.NDArray[np.int64]
T = TypeVar("T", bound=np.generic)


@inner
def _copy(source: Any, out: Any, at: Any) -> Any:
    # A plain loop over a slice that begins at 0: this is what the compiler turns into vector instructions.
    target = out[at : at + len(source)]
    for index in range(len(target)):
        target[index] = source[index]
    return at + len(source)


def _interleave(first: Any, first_offsets: Any, second: Any, second_offsets: Any, out: Any) -> None:
    at = 0
    for row in range(len(first_offsets) - 1):
        at = _copy(first[first_offsets[row] : first_offsets[row + 1]], out, at)
        at = _copy(second[second_offsets[row] : second_offsets[row + 1]], out, at)


def _signature(value: Any) -> Any:
    array = types.Array(value, 1, "C", readonly=True)
    return types.void(array, INT64S, array, INT64S, types.Array(value, 1, "C"))


# Values are only moved: one kernel a width, whatever their type.
_KERNELS = {
    np.dtype(value.name).itemsize: (np.dtype(value.name), kernel(_signature(value))(_interleave))
    for value in (types.uint8, types.uint32, types.uint64)
}


def interleave(
    first: npt.NDArray[T], first_offsets: Int64, second: npt.NDArray[T], second_offsets: Int64
) -> npt.NDArray[T]:
    """Return, for each row, first[first_offsets[row] : first_offsets[row + 1]] and then the same of `second`.

    Both begin at 0, have the same rows and one type of 1, 4 or 8 bytes; the offsets of the result are their sum.
    """
    if first.dtype != second.dtype or first.dtype.itemsize not in _KERNELS:
        raise ValueError(f"expected two arrays of one type of 1, 4 or 8 bytes, got {first.dtype} and {second.dtype}")
    if len(first_offsets) != len(second_offsets):
        raise ValueError(f"expected as many rows, got {len(first_offsets) - 1} and {len(second_offsets) - 1}")
    word, copy = _KERNELS[first.dtype.itemsize]
    out = np.empty(first_offsets[-1] + second_offsets[-1], first.dtype)
    copy(first.view(word), first_offsets, second.view(word), second_offsets, out.view(word))
    return out
