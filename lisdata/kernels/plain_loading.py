"""Plain twins of the kernels `gather` and `permutation`; the tests compare the kernels with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.kernels.permutation import MIN_BITS, MULTIPLIERS

Int64 = npt.NDArray[np.int64]
_LOW64 = 2**64 - 1


def gather(offsets: Int64, values: npt.NDArray[Any], rows: Int64, width: int, padding: int) -> Int64:
    """Return rows of a list column: end to end, or each padded to `width` where that is not 0 (flat, int64)."""
    begins, lengths = offsets[rows], offsets[rows + 1] - offsets[rows]
    starts = np.arange(len(rows)) * width if width else np.cumsum(lengths) - lengths
    local = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    out = np.full(len(rows) * width if width else int(lengths.sum()), padding, np.int64)
    out[np.repeat(starts, lengths) + local] = values[np.repeat(begins, lengths) + local]
    return out


def permute(index: int, count: int, keys: Sequence[int], tweak: int = 0) -> int:
    """Return where the bijection of range(count) that `keys` choose sends `index`."""
    bits = max(MIN_BITS, (count - 1).bit_length())
    low_bits = bits // 2
    low, high = index % 2**low_bits, index >> low_bits
    for number, key in enumerate(keys):
        if number % 2 == 0:
            high ^= _mix(low, key ^ tweak) % 2 ** (bits - low_bits)
        else:
            low ^= _mix(high, key ^ tweak) % 2**low_bits
    result = (high << low_bits) | low
    return result if result < count else permute(result, count, keys, tweak)


def permute_windows(
    count: int, *, window: int, block: int, block_keys: Sequence[int], window_keys: Sequence[int]
) -> list[int]:
    """Return where the local bijection of range(count) sends each index: by listing the blocks in their order."""
    num_blocks = -(-count // block)
    order = (permute(place, num_blocks, block_keys) for place in range(num_blocks))
    rows = [row for number in order for row in range(number * block, min(count, (number + 1) * block))]
    found = []
    for begin in range(0, count, window):
        tweak, size = _mix(begin // window, MULTIPLIERS[1]), min(window, count - begin)
        found += [rows[begin + permute(index, size, window_keys, tweak)] for index in range(size)]
    return found


def _mix(value: int, key: int) -> int:
    value = (value ^ key) * MULTIPLIERS[0] & _LOW64
    value ^= value >> 29
    value = value * MULTIPLIERS[1] & _LOW64
    return value ^ (value >> 32)
