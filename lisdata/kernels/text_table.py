"""Numbers distinct texts by first appearance: a hash table that keeps the bytes, side by side, and compares them.

Buffers are readable for 16 bytes past every text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from lisdata.kernels.arrays import binary_array, binary_buffers
from lisdata.kernels.compiled import (
    BYTES,
    INT64S,
    OUT_BYTES,
    OUT_INT64S,
    OUT_UINT32S,
    OUT_UINT64S,
    UINT64S,
    inner,
    kernel,
    load_u64,
    store_u64,
)
from lisdata.kernels.spans import first_bytes, hash_of, new_slots, number_in, take_slot
from lisdata.schema import NO_ROW

UInt8 = npt.NDArray[np.uint8]
Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]
UInt32 = npt.NDArray[np.uint32]

_Tuple: Any = types.Tuple
TABLE = _Tuple((OUT_UINT64S, OUT_INT64S, OUT_BYTES, OUT_INT64S))
"""What kernels take a table as: slots, offsets of texts, their bytes, and the count in an array of one."""

_READ_PAST = 16
_FIRST_SLOTS = 1 << 14
_AT_ONCE = 64


@inner
def _is_text(known: Any, at: Any, data: Any, begin: Any, length: Any) -> Any:
    """Tell whether the `length` bytes at known[at] and data[begin] are equal."""
    while length >= 8:
        if load_u64(known, at) != load_u64(data, begin):
            return False
        at += 8
        begin += 8
        length -= 8
    return first_bytes(load_u64(known, at) ^ load_u64(data, begin), length) == 0


@inner
def number_of(table: Any, data: Any, begin: Any, end: Any) -> Any:
    """Return the number of the text data[begin:end], adding it when new; there must be room."""
    return _number_hashed(table, data, begin, end, hash_of(data, begin, end))


@inner
def _number_hashed(table: Any, data: Any, begin: Any, end: Any, hashed: Any) -> Any:
    """Return what `number_of` does, of a text whose hash is known."""
    slots, offsets, known, count = table
    mask = np.uint64(len(slots) - 1)
    slot = (hashed >> np.uint64(32)) & mask
    number = number_in(slots, slot)
    while number >= 0:
        if slots[slot] >> np.uint64(32) == hashed >> np.uint64(32):
            at = offsets[number]
            if offsets[number + 1] - at == end - begin and _is_text(known, at, data, begin, end - begin):
                return number
        slot = (slot + np.uint64(1)) & mask
        number = number_in(slots, slot)
    number = count[0]
    at = offsets[number]
    offsets[number + 1] = at + end - begin
    while begin < end:
        store_u64(known, at, load_u64(data, begin))
        begin += 8
        at += 8
    take_slot(slots, slot, hashed, number)
    count[0] = number + 1
    return number


@inner
def has_room(table: Any, more: Any) -> Any:
    """Tell whether a table has slots for so many more texts."""
    return 2 * (table[3][0] + more) <= len(table[0])


@kernel(types.void(UINT64S, OUT_UINT64S))
def _fill(old: Any, slots: Any) -> None:
    """Put what stands in the `old` slots into free ones: the half of a hash that a slot holds says where it belongs."""
    mask = np.uint64(len(slots) - 1)
    for index in range(len(old)):
        hashed = old[index]
        number = number_in(old, index)
        if number < 0:
            continue
        slot = (hashed >> np.uint64(32)) & mask
        while number_in(slots, slot) >= 0:
            slot = (slot + np.uint64(1)) & mask
        take_slot(slots, slot, hashed, number)


class TextTable:
    """A table of at most `max_texts` texts of `max_bytes` together: memory that is not used is not touched."""

    def __init__(self, max_texts: int, max_bytes: int) -> None:
        self._slots = new_slots(_FIRST_SLOTS)
        self._offsets = np.empty(max_texts + 1, np.int64)
        self._offsets[0] = 0
        self._known = np.empty(max_bytes + _READ_PAST, np.uint8)
        self._count = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return int(self._count[0])

    @property
    def arrays(self) -> tuple[UInt64, Int64, UInt8, Int64]:
        """What to pass to a kernel as TABLE."""
        return self._slots, self._offsets, self._known, self._count

    def make_room(self, more: int) -> None:
        """Have slots for `more` further texts."""
        size = len(self._slots)
        while 2 * (len(self) + more) > size:
            size *= 4
        if size > len(self._slots):
            old, self._slots = self._slots, new_slots(size)
            _fill(old, self._slots)

    def to_arrow(self) -> pa.LargeBinaryArray:
        """Return the texts by number, without a copy."""
        offsets = self._offsets[: len(self) + 1]
        return binary_array(offsets, self._known[: offsets[-1]], pa.large_binary())


@kernel(
    types.int64(
        TABLE, BYTES, INT64S, types.Array(types.boolean, 1, "C", readonly=True), OUT_UINT64S, OUT_UINT32S, types.int64
    )
)
def _number(table: Any, data: Any, offsets: Any, is_null: Any, hashes: Any, rows: Any, row: Any) -> Any:
    """Write the numbers of the texts from `row` on; return the row for which there was no room, or the end.

    Rows are taken as many at a time as `hashes` has room for: all their slots are read before one is needed, so that
    the processor waits for memory once.
    """
    slots = table[0]
    mask = np.uint64(len(slots) - 1)
    while row < len(rows) and has_room(table, len(hashes)):
        size = min(len(hashes), len(rows) - row)
        for index in range(size):
            hashes[index] = hash_of(data, offsets[row + index], offsets[row + index + 1])
        for index in range(size):
            rows[row + index] = slots[(hashes[index] >> np.uint64(32)) & mask] & np.uint64(NO_ROW)
        for index in range(size):
            if len(is_null) and is_null[row + index]:
                rows[row + index] = NO_ROW
            else:
                begin, end = offsets[row + index], offsets[row + index + 1]
                rows[row + index] = _number_hashed(table, data, begin, end, hashes[index])
        row += size
    return row


def number_texts(columns: list[pa.LargeBinaryArray]) -> tuple[pa.LargeBinaryArray, list[UInt32]]:
    """Return the distinct texts of several columns by first appearance, and the number of each, NO_ROW for null."""
    buffers = [binary_buffers(column) for column in columns]
    max_bytes = sum(int(offsets[-1] - offsets[0]) for offsets, _ in buffers)
    table = TextTable(sum(map(len, columns)), max_bytes)
    numbers = []
    hashes = np.empty(_AT_ONCE, np.uint64)
    for column, (offsets, data) in zip(columns, buffers, strict=True):
        padded = np.empty(int(offsets[-1] - offsets[0]) + _READ_PAST, np.uint8)
        padded[:-_READ_PAST], padded[-_READ_PAST:] = data[offsets[0] : offsets[-1]], 0
        is_null = np.asarray(column.is_null()) if column.null_count else np.empty(0, np.bool_)
        rows, row = np.empty(len(column), np.uint32), 0
        offsets = offsets - offsets[0]
        while (row := _number(table.arrays, padded, offsets, is_null, hashes, rows, row)) < len(rows):
            table.make_room(_AT_ONCE)
        numbers.append(rows)
    return table.to_arrow(), numbers
