"""What callers give, as the flat arrays that kernels take: without a copy where the type is right already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Integers = Sequence[int] | npt.NDArray[np.integer]


def flat_integers(values: Integers, dtype: type[np.signedinteger[Any]], name: str) -> npt.NDArray[Any]:
    """Return `values` as a flat array of `dtype`; numbers that do not fit become its smallest or largest one.

    Neither of those is a head, tag or offset that is ever right, so that wrong numbers stay wrong. Raise ValueError
    where there are not whole numbers in one dimension.
    """
    array = np.asarray(values)
    if array.dtype.kind in "fO" and array.ndim == 1 and all(isinstance(value, int | np.integer) for value in values):
        limits = np.iinfo(dtype)  # no type of numpy holds them all
        array = np.array([min(max(int(value), limits.min), limits.max) for value in values], dtype)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise ValueError(f"{name}: expected integers in one dimension, found {array.dtype} of shape {array.shape}")
    if array.dtype != dtype and array.size:
        given, wanted = np.iinfo(array.dtype), np.iinfo(dtype)
        array = array.clip(max(given.min, wanted.min), min(given.max, wanted.max))
    return np.ascontiguousarray(array, dtype)


def checked_offsets(offsets: Integers, num_words: int) -> Int64:
    """Return `offsets` as int64, or raise ValueError: they must not fall, and lie between 0 and `num_words`."""
    array = flat_integers(offsets, np.int64, "offsets")
    if not len(array) or array[0] < 0 or array[-1] > num_words or (array[1:] < array[:-1]).any():
        raise ValueError(f"offsets: expected one more than sentences, ascending, all from 0 to {num_words}")
    return array
