"""A keyed bijection of range(n): any index in any order, without a table (Feistel network with cycle walking).

The two halves of an index take turns: each round mixes one half with the other one and a round key, which can be
undone whatever the mixing does. Results outside range(n) are sent through again until they fall inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import INT64S, OUT_INT64S, UINT64S, inner, kernel

Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]

# Below this many bits the halves have too few values to mix well, so that a small range walks in a larger one.
MIN_BITS = 8
MULTIPLIERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9)
_MULTIPLIER_1, _MULTIPLIER_2 = np.uint64(MULTIPLIERS[0]), np.uint64(MULTIPLIERS[1])


@inner
def _mix(value: Any, key: Any) -> Any:
    value = (value ^ key) * _MULTIPLIER_1
    value ^= value >> np.uint64(29)
    value *= _MULTIPLIER_2
    return value ^ (value >> np.uint64(32))


@inner
def _num_bits(count: Any) -> Any:
    bits = MIN_BITS
    while (np.int64(1) << bits) < count:
        bits += 1
    return bits


@inner
def _walk(index: Any, count: Any, bits: Any, keys: Any, tweak: Any, inverse: Any) -> Any:
    low_bits = np.uint64(bits // 2)
    low_mask = (np.uint64(1) << low_bits) - np.uint64(1)
    high_mask = (np.uint64(1) << (np.uint64(bits) - low_bits)) - np.uint64(1)
    value = np.uint64(index)
    while True:
        low, high = value & low_mask, value >> low_bits
        for step in range(len(keys)):
            number = len(keys) - 1 - step if inverse else step
            if number % 2 == 0:
                high ^= _mix(low, keys[number] ^ tweak) & high_mask
            else:
                low ^= _mix(high, keys[number] ^ tweak) & low_mask
        value = (high << low_bits) | low
        if value < np.uint64(count):
            return np.int64(value)


@kernel(types.void(INT64S, types.int64, UINT64S, types.boolean, OUT_INT64S))
def _permute(indices: Any, count: Any, keys: Any, inverse: Any, out: Any) -> None:
    bits = _num_bits(count)
    for at in range(len(indices)):
        out[at] = _walk(indices[at], count, bits, keys, np.uint64(0), inverse)


@kernel(types.void(INT64S, types.int64, types.int64, types.int64, types.int64, UINT64S, UINT64S, OUT_INT64S))
def _permute_windows(
    indices: Any, count: Any, window: Any, block: Any, short_place: Any, block_keys: Any, window_keys: Any, out: Any
) -> None:
    num_blocks = (count + block - 1) // block
    short_length = count - (num_blocks - 1) * block
    block_bits = _num_bits(num_blocks)
    for at in range(len(indices)):
        number = indices[at] // window
        begin = number * window
        size = min(window, count - begin)
        tweak = _mix(np.uint64(number), _MULTIPLIER_2)
        place = begin + _walk(indices[at] - begin, size, _num_bits(size), window_keys, tweak, False)
        # Blocks follow each other in permuted order; all have one length, but for the short one at its own place.
        if place < short_place * block:
            order, local = place // block, place % block
        elif place < short_place * block + short_length:
            order, local = short_place, place - short_place * block
        else:
            shifted = place + block - short_length
            order, local = shifted // block, shifted % block
        out[at] = _walk(order, num_blocks, block_bits, block_keys, np.uint64(0), False) * block + local


def permute(indices: Int64, count: int, keys: UInt64, *, inverse: bool = False) -> Int64:
    """Return where the bijection of range(count) that `keys` choose sends `indices` (all inside), or its inverse."""
    out = np.empty(len(indices), np.int64)
    _permute(indices, count, keys, inverse, out)
    return out


def permute_windows(
    indices: Int64, count: int, *, window: int, block: int, block_keys: UInt64, window_keys: UInt64
) -> Int64:
    """Return where a local bijection of range(count) sends `indices`: each window of it mixes window / block blocks.

    Blocks of `block` neighbouring rows are put in permuted order; then each `window` rows of that order are permuted
    among themselves.
    """
    num_blocks = -(-count // block)
    short_place = permute(np.array([num_blocks - 1]), num_blocks, block_keys, inverse=True)[0]
    out = np.empty(len(indices), np.int64)
    _permute_windows(indices, count, window, block, short_place, block_keys, window_keys, out)
    return out
