"""From numbers of characters to bytes of their UTF-8 and back, block by block: the text may be long."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

UInt8 = npt.NDArray[np.uint8]
Int64 = npt.NDArray[np.int64]

BLOCK_BYTES = 1 << 20


def bytes_of_characters(data: UInt8, characters: Int64) -> Int64:
    """Return the byte of `data`, UTF-8, at which each of the numbered characters begins; the last number is its end."""
    if int(data.max(initial=0)) < 0x80:
        return characters
    order = np.argsort(characters, kind="stable")
    wanted = characters[order]
    found = np.full(len(characters), len(data), np.int64)
    number = 0
    for begin, is_begin in _blocks(data):
        places = np.flatnonzero(is_begin)
        first, last = np.searchsorted(wanted, [number, number + len(places)])
        found[order[first:last]] = begin + places[wanted[first:last] - number]
        number += len(places)
    return found


def characters_of_bytes(data: UInt8, offsets: Int64) -> Int64:
    """Return the number of the character of `data`, UTF-8, that begins at each offset: undoes the other."""
    if int(data.max(initial=0)) < 0x80:
        return offsets
    order = np.argsort(offsets, kind="stable")
    wanted = offsets[order]
    found = np.empty(len(offsets), np.int64)
    number = 0
    for begin, is_begin in _blocks(data):
        up_to = np.cumsum(is_begin, dtype=np.int32)
        first, last = np.searchsorted(wanted, [begin, begin + len(up_to)])
        found[order[first:last]] = number + up_to[wanted[first:last] - begin] - 1
        number += int(up_to[-1])
    found[order[np.searchsorted(wanted, len(data)) :]] = number
    return found


def _blocks(data: UInt8) -> Iterator[tuple[int, npt.NDArray[np.bool_]]]:
    """Yield (offset, which bytes begin a character) of each block."""
    for begin in range(0, len(data), BLOCK_BYTES):
        yield begin, (data[begin : begin + BLOCK_BYTES] & 0xC0) != 0x80
