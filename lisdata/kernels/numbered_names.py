"""Names that are a text and a number behind it, a column at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from lisdata.kernels.arrays import binary_array
from lisdata.kernels.compiled import (
    BYTES,
    OUT_BYTES,
    OUT_INT64S,
    UINT64S,
    count_trailing_zeros,
    inner,
    kernel,
    load_u64,
    store_u64,
)

_EIGHT_DIGITS = np.uint64(100_000_000)
_ZEROS = np.uint64(0x3030_3030_3030_3030)
_LAST_DIGIT = np.uint64(1 << 56)
_OVERWRITTEN = 16  # bytes behind a name that are written, too: the rest of its last words


@inner
def _spell_eight(value: Any) -> Any:
    """Return the eight decimal digits of a number below 10^8 as bytes of a word, the first one lowest."""
    upper = value // np.uint64(10000)
    fours = upper | ((value - upper * np.uint64(10000)) << np.uint64(32))
    hundreds = ((fours * np.uint64(10486)) >> np.uint64(20)) & np.uint64(0x7F_0000_007F)
    twos = hundreds | ((fours - hundreds * np.uint64(100)) << np.uint64(16))
    tens = ((twos * np.uint64(103)) >> np.uint64(10)) & np.uint64(0x000F_000F_000F_000F)
    return tens | ((twos - tens * np.uint64(10)) << np.uint64(8))


@inner
def _write_number(value: Any, out: Any, at: Any) -> Any:
    """Write decimal digits, and up to 7 bytes behind them; return where they end."""
    if value >= _EIGHT_DIGITS:
        at = _write_rest(value // _EIGHT_DIGITS, out, at)
        store_u64(out, at, _spell_eight(value % _EIGHT_DIGITS) | _ZEROS)
        return at + 8
    digits = _spell_eight(value)
    # Zeros in front are bytes that are 0; the last digit is written even if it is one.
    zeros = count_trailing_zeros(digits | _LAST_DIGIT) & ~np.uint64(7)
    store_u64(out, at, (digits | _ZEROS) >> zeros)
    return at + 8 - np.int64(zeros >> np.uint64(3))


@inner
def _write_rest(value: Any, out: Any, at: Any) -> Any:
    end = at + 1
    left = value // np.uint64(10)
    while left:
        end += 1
        left //= np.uint64(10)
    for place in range(end - 1, at - 1, -1):
        left = value // np.uint64(10)
        out[place] = 48 + (value - left * np.uint64(10))
        value = left
    return end


@kernel(types.void(BYTES, types.int64, UINT64S, OUT_INT64S, OUT_BYTES))
def _write(prefix: Any, length: Any, numbers: Any, offsets: Any, out: Any) -> None:
    """Write the names, and where each begins and the last ends; `prefix` is filled up to whole words."""
    at = offsets[0] = 0
    for row in range(len(numbers)):
        for word in range(0, len(prefix), 8):
            store_u64(out, at + word, load_u64(prefix, word))
        at = _write_number(numbers[row], out, at + length)
        offsets[row + 1] = at


def numbered_names(prefix: str, numbers: npt.NDArray[np.uint64]) -> pa.LargeStringArray:
    """Return `prefix` and each number in decimal digits."""
    start = prefix.encode()
    words = np.frombuffer(start + bytes(-len(start) % 8), np.uint8)
    width = len(start) + len(str(int(numbers.max(initial=0))))
    offsets, out = np.empty(len(numbers) + 1, np.int64), np.empty(width * len(numbers) + _OVERWRITTEN, np.uint8)
    _write(words, len(start), np.ascontiguousarray(numbers), offsets, out)
    return binary_array(offsets, out[: offsets[-1]], pa.large_string())
