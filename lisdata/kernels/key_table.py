"""A growing hash table from content keys to row numbers, for numbering the contents of one batch after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from lisdata.kernels.arrays import fixed_rows
from lisdata.kernels.compiled import OUT_UINT32S, inner, kernel

UInt8 = npt.NDArray[np.uint8]
UInt32 = npt.NDArray[np.uint32]
Bool = npt.NDArray[np.bool_]

_EMPTY = np.uint32(0xFFFF_FFFF)
_KEYS = types.Array(types.uint64, 2, "C", readonly=True)
_OUT_KEYS = types.Array(types.uint64, 2, "C")
_FIRST_ROOM = 1024


@inner
def _slot_of(slots: Any, known: Any, low: Any, high: Any) -> Any:
    """Return the slot that holds the key, or the free one where it belongs."""
    # A key is a hash already: its own bits choose the slot.
    mask = np.uint64(len(slots) - 1)
    slot = (low ^ high) & mask
    while slots[slot] != _EMPTY:
        row = slots[slot]
        if known[row, 0] == low and known[row, 1] == high:
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel(
    types.int64(OUT_UINT32S, types.Array(types.uint64, 2, "C"), types.int64, _KEYS, OUT_UINT32S, types.boolean[::1])
)
def _find_or_add(slots: Any, known: Any, count: Any, keys: Any, ids: Any, is_new: Any) -> Any:
    for index in range(len(keys)):
        slot = _slot_of(slots, known, keys[index, 0], keys[index, 1])
        is_new[index] = slots[slot] == _EMPTY
        if is_new[index]:
            known[count, 0], known[count, 1] = keys[index, 0], keys[index, 1]
            slots[slot] = count
            count += 1
        ids[index] = slots[slot]
    return count


@kernel(types.void(OUT_UINT32S, _KEYS, types.int64))
def _fill(slots: Any, known: Any, count: Any) -> None:
    for row in range(count):
        slots[_slot_of(slots, known, known[row, 0], known[row, 1])] = row


class KeyTable:
    """Numbers 16-byte keys from 0 by first appearance.

    Memory: 16 bytes a key and 8 to 16 bytes of slots, up to twice that while it grows.
    """

    def __init__(self) -> None:
        self._known = np.empty((_FIRST_ROOM, 2), np.uint64)
        self._slots = np.full(2 * _FIRST_ROOM, _EMPTY, np.uint32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def keys(self) -> UInt8:
        """The keys in order of their numbers, uint8 (len, 16); a view, valid until the next call."""
        return self._known[: self._count].view(np.uint8).reshape(-1, 16)

    def find_or_add(self, keys: UInt8 | pa.FixedSizeBinaryArray) -> tuple[UInt32, Bool]:
        """Return (number of each key, whether this is its first appearance); keys are uint8 (N, 16) or binary(16)."""
        rows = keys if isinstance(keys, np.ndarray) else fixed_rows(keys)
        if rows.ndim != 2 or rows.shape[1] != 16 or rows.dtype != np.uint8:
            raise ValueError(f"expected keys as uint8 (N, 16), got {rows.dtype} {rows.shape}")
        pairs = np.ascontiguousarray(rows).view(np.uint64)
        self._make_room(self._count + len(pairs))
        ids = np.empty(len(pairs), np.uint32)
        is_new = np.empty(len(pairs), np.bool_)
        self._count = _find_or_add(self._slots, self._known, self._count, pairs, ids, is_new)
        return ids, is_new

    def _make_room(self, wanted: int) -> None:
        if wanted <= len(self._known):
            return
        if wanted >= int(_EMPTY):
            raise ValueError(f"a table numbers fewer than {int(_EMPTY)} keys, {wanted} were asked for")
        room = 1 << (wanted - 1).bit_length()
        known = np.empty((room, 2), np.uint64)
        known[: self._count] = self._known[: self._count]
        self._known = known
        self._slots = np.full(2 * room, _EMPTY, np.uint32)
        _fill(self._slots, self._known, self._count)
