"""Values of grids as bytes with a dtype and a shape: which dtypes are allowed, and how many bytes there must be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt


@cache
def plain_dtype(name: str) -> np.dtype[Any]:
    """Return the dtype that `name` (as `numpy.dtype.str` writes it) stands for.

    ValueError where it is none, is not spelled that way, or holds Python objects or named fields, whose bytes alone
    do not give the values back.
    """
    try:
        dtype = np.dtype(name)
    except (TypeError, ValueError, SyntaxError):  # which of them depends on how `name` is wrong
        raise ValueError(f"expected a dtype such as '<f4', found {name!r}") from None
    if dtype.str != name:
        raise ValueError(f"expected the dtype spelled {dtype.str!r}, found {name!r}")
    check_plain(dtype)
    return dtype


def check_plain(dtype: np.dtype[Any]) -> None:
    """Raise ValueError unless bytes and `dtype.str` alone give the values of such an array back."""
    if dtype.hasobject or dtype.names is not None or dtype.itemsize == 0:
        raise ValueError(f"expected a dtype of plain values of at least one byte, found {dtype}")
    if dtype.kind == "M" and np.datetime_data(dtype)[0] == "generic":  # such dates have no text and no meaning
        raise ValueError(f"expected dates with a unit, such as '<M8[s]', found {dtype.str!r}")


def check_tensor(dtype: str, shape: Sequence[int], num_bytes: int) -> None:
    """Raise ValueError unless `num_bytes` is what row-major values of `dtype` and `shape` take."""
    itemsize = plain_dtype(dtype).itemsize
    if any(extent < 0 for extent in shape):
        raise ValueError(f"expected extents of 0 or more, found shape {list(shape)}")
    expected = math.prod(shape) * itemsize
    if num_bytes != expected:
        raise ValueError(f"expected {expected} bytes for shape {list(shape)} of {dtype}, found {num_bytes}")


def tensor_from_bytes(dtype: str, shape: Sequence[int], data: bytes) -> npt.NDArray[Any]:
    """Return the array that row-major `data` holds, read-only and without a copy; ValueError where they do not fit."""
    check_tensor(dtype, shape, len(data))
    return np.frombuffer(data, plain_dtype(dtype)).reshape(shape)
