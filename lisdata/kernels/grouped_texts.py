"""Numbers texts of groups by first appearance; the last ones can be taken back.

A text is written at the end of the bytes of those before it, a piece at a time, and then numbered: one that is there
already, in the same group, is dropped again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import BYTES, OUT_BYTES, OUT_INT64S, OUT_UINT64S, inner, kernel
from lisdata.kernels.spans import hash_of, is_equal, new_slots, number_in, take_slot

UInt8 = npt.NDArray[np.uint8]
Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]

_READ_PAST = 16
_FIRST_SLOTS = 1 << 14
_FREE = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_HALF = np.uint64(32)
_GROUP_STEP = np.uint64(0x9E3779B97F4A7C15)


class Texts(NamedTuple):
    """N texts: number n spells data[rows[n, BEGINNING] : rows[n + 1, BEGINNING]] in group rows[n, GROUP].

    rows[n, MARK] is what the user notes of a text, -1 at first. `state` holds N and where the text in hand ends.
    """

    slots: UInt64
    rows: Int64
    data: UInt8
    state: Int64


TEXTS: Any = types.NamedTuple((OUT_UINT64S, types.Array(types.int64, 2, "C"), OUT_BYTES, OUT_INT64S), Texts)
BEGINNING, GROUP, MARK = range(3)


@inner
def put_byte(texts: Any, byte: Any) -> None:
    """Write a byte of the next text."""
    texts.data[texts.state[1]] = byte
    texts.state[1] += 1


@inner
def put_bytes(texts: Any, source: Any, begin: Any, end: Any) -> None:
    """Write source[begin:end] as a piece of the next text."""
    target = texts.state[1]
    out, piece = texts.data[target : target + end - begin], source[begin:end]
    for index in range(len(piece)):
        out[index] = piece[index]
    texts.state[1] = target + end - begin


@inner
def put_decimal(texts: Any, number: Any) -> None:
    """Write a number that is not negative."""
    power = np.int64(1)
    while power * 10 <= number:
        power *= 10
    while power:
        put_byte(texts, 48 + number // power % 10)
        power //= 10


@inner
def _hash(texts: Any, begin: Any, end: Any, group: Any) -> Any:
    # The upper half tells spans apart in a slot, the lower half chooses it: the group has to move both.
    return hash_of(texts.data, begin, end) ^ (np.uint64(group + 1) * _GROUP_STEP)


@inner
def _is_known(texts: Any, number: Any, begin: Any, end: Any, group: Any) -> Any:
    rows = texts.rows
    first, size = rows[number, BEGINNING], end - begin
    if rows[number, GROUP] != group or rows[number + 1, BEGINNING] - first != size:
        return False
    return is_equal(texts.data, first, begin, size)


@inner
def number_text(texts: Any, group: Any) -> Any:
    """Return the number of the text that was written since the last one; there must be a free slot."""
    slots, rows, state = texts.slots, texts.rows, texts.state
    begin, end = rows[state[0], BEGINNING], state[1]
    mask, hashed = np.uint64(len(slots) - 1), _hash(texts, begin, end, group)
    slot = hashed & mask
    number = number_in(slots, slot)
    while number >= 0:
        if slots[slot] >> _HALF == hashed >> _HALF and _is_known(texts, number, begin, end, group):
            state[1] = begin
            return number
        slot = (slot + np.uint64(1)) & mask
        number = number_in(slots, slot)
    number = state[0]
    take_slot(slots, slot, hashed, number)
    rows[number, GROUP], rows[number, MARK] = group, -1
    rows[number + 1, BEGINNING] = end
    state[0] = number + 1
    return number


@inner
def _hash_of_number(texts: Any, number: Any) -> Any:
    rows = texts.rows
    return _hash(texts, rows[number, BEGINNING], rows[number + 1, BEGINNING], rows[number, GROUP])


@inner
def keep_texts(texts: Any, count: Any) -> None:
    """Take back all texts but the first `count`, and what was written of the next."""
    slots = texts.slots
    mask = np.uint64(len(slots) - 1)
    for number in range(texts.state[0] - 1, count - 1, -1):
        slot = _hash_of_number(texts, number) & mask
        while number_in(slots, slot) != number:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = _FREE  # no other text was put behind it: the last one goes first
    texts.state[0], texts.state[1] = count, texts.rows[count, BEGINNING]


@kernel(types.void(TEXTS))
def _fill(texts: Any) -> None:
    mask = np.uint64(len(texts.slots) - 1)
    for number in range(texts.state[0]):
        hashed = _hash_of_number(texts, number)
        slot = hashed & mask
        while number_in(texts.slots, slot) >= 0:
            slot = (slot + np.uint64(1)) & mask
        take_slot(texts.slots, slot, hashed, number)


@kernel(types.int64(TEXTS, BYTES, types.int64))
def _add_text(texts: Any, text: Any, group: Any) -> Any:
    put_bytes(texts, text, 0, len(text))
    return number_text(texts, group)


def add_text(texts: Texts, text: bytes, group: int) -> int:
    """Return the number of a text."""
    return int(_add_text(texts, np.frombuffer(text, np.uint8), group))


def new_texts(max_texts: int, max_bytes: int) -> Texts:
    """Return room for at most `max_texts` texts of `max_bytes` together: memory that is not used is not touched."""
    rows = np.empty((max_texts + 1, 3), np.int64)
    rows[0, BEGINNING] = 0
    return Texts(
        slots=new_slots(_FIRST_SLOTS), rows=rows, data=np.empty(max_bytes + _READ_PAST, np.uint8),
        state=np.zeros(2, np.int64),
    )  # fmt: skip


def with_slots(texts: Texts, more: int) -> Texts:
    """Return `texts` with free slots for `more` further ones."""
    size = len(texts.slots)
    while 2 * (int(texts.state[0]) + more) > size:
        size *= 4
    if size == len(texts.slots):
        return texts
    texts = texts._replace(slots=new_slots(size))
    _fill(texts)
    return texts
