"""Distinct spans of a buffer: a hash table of bytes [begin, end) that compares bytes, so it is exact.

Buffers are readable for 16 bytes past every span. A slot holds the upper half of the span's hash and its number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.kernels.compiled import inner, load_u64, multiply_high

_FREE = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_NUMBER = np.uint64(0xFFFF_FFFF)
_SEED = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER = np.uint64(0xA0761D6478BD642F)


@inner
def first_bytes(word: Any, length: Any) -> Any:
    """Return `word` with all but its first `length` (0..7) bytes cleared."""
    return word & ((np.uint64(1) << np.uint64(8 * length)) - np.uint64(1))


@inner
def hash_of(data: Any, begin: Any, end: Any) -> Any:
    """Return a 64-bit hash of data[begin:end]."""
    value = _SEED ^ np.uint64(end - begin)
    while begin + 8 <= end:
        value ^= load_u64(data, begin)
        value = (value * _MULTIPLIER) ^ multiply_high(value, _MULTIPLIER)
        begin += 8
    value ^= first_bytes(load_u64(data, begin), end - begin)
    return (value * _MULTIPLIER) ^ multiply_high(value, _MULTIPLIER)


@inner
def is_equal(data: Any, left: Any, right: Any, length: Any) -> Any:
    """Tell whether the `length` bytes at `left` and at `right` are equal."""
    while length >= 8:
        if load_u64(data, left) != load_u64(data, right):
            return False
        left += 8
        right += 8
        length -= 8
    return first_bytes(load_u64(data, left) ^ load_u64(data, right), length) == 0


def new_slots(size: int) -> npt.NDArray[np.uint64]:
    """Return `size` (a power of two) free slots."""
    return np.full(size, _FREE, np.uint64)


@inner
def slot_of(slots: Any, data: Any, items: Any, begin: Any, end: Any, hashed: Any) -> Any:
    """Return the slot whose item (fields `begin`, `end`) spells data[begin:end], or the free slot where it belongs."""
    mask = np.uint64(len(slots) - 1)
    slot = hashed & mask
    while slots[slot] != _FREE:
        if slots[slot] >> np.uint64(32) == hashed >> np.uint64(32):
            item = items[slots[slot] & _NUMBER]
            if item.end - item.begin == end - begin and is_equal(data, item.begin, begin, end - begin):
                break
        slot = (slot + np.uint64(1)) & mask
    return slot


@inner
def number_in(slots: Any, slot: Any) -> Any:
    """Return the number in a slot, -1 where it is free."""
    return np.int64(-1) if slots[slot] == _FREE else np.int64(slots[slot] & _NUMBER)


@inner
def take_slot(slots: Any, slot: Any, hashed: Any, number: Any) -> None:
    """Put item `number` into a free slot."""
    slots[slot] = (hashed >> np.uint64(32) << np.uint64(32)) | np.uint64(number)


@inner
def fill_slots(slots: Any, data: Any, items: Any, count: Any) -> None:
    """Put the first `count` items, all distinct, into free slots."""
    mask = np.uint64(len(slots) - 1)
    for number in range(count):
        hashed = hash_of(data, items[number].begin, items[number].end)
        slot = hashed & mask
        while slots[slot] != _FREE:
            slot = (slot + np.uint64(1)) & mask
        take_slot(slots, slot, hashed, number)
