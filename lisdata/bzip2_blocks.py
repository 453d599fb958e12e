"""Blocks of bzip2 streams, decompressed one by one: each is found by its magic number, and has its own checksum."""

from __future__ import annotations

import bz2
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

MAX_BLOCK_BYTES = 2 << 20  # as stored: a block holds up to 900,000 bytes, and bzip2 makes them little longer at worst
_BLOCK, _END = 0x314159265359, 0x177245385090  # the 48 bits before a block, and before the checksum of a stream
_MAGIC_BITS, _CHECKSUM_BITS = 48, 32
_HEADER_BYTES = 4  # "BZh" and a digit
_READ_BYTES = 1 << 20


class DamagedStreamError(OSError):
    """What was read is no bzip2 stream."""


def magic_at(data: bytes, bit: int) -> int:
    """Return the 48 bits that begin at a bit, which must be there."""
    return _bits_at(data, bit, _MAGIC_BITS)


def _bits_at(data: bytes, bit: int, length: int) -> int:
    end = bit + length
    number = int.from_bytes(data[bit // 8 : -(-end // 8)], "big") >> (-end % 8)
    return number & ((1 << length) - 1)


def _inner_bytes() -> list[tuple[int, bytes]]:
    """Return what stands in whole bytes of each magic number at each shift: all but its first and last few bits."""
    shifted = ((shift, magic << (8 - shift)) for magic in (_BLOCK, _END) for shift in range(8))
    return [(shift, (number & ((1 << 56) - 1)).to_bytes(7, "big")[1:6]) for shift, number in shifted]


_INNER = _inner_bytes()


def find_magic(data: bytes, begin: int) -> int | None:
    """Return the first bit from `begin` on where a magic number stands whole, None where there is none."""
    best: int | None = None
    for shift, inner in _INNER:
        at = begin // 8
        end = len(data) if best is None else min(len(data), best // 8 + 8)
        while (at := data.find(inner, at, end)) >= 0:
            bit = 8 * (at - 1) + shift
            is_whole = begin <= bit and bit + _MAGIC_BITS <= 8 * len(data)
            if is_whole and (best is None or bit < best) and magic_at(data, bit) in (_BLOCK, _END):
                best = bit
                break
            at += 1
    return best


def stream_of_block(data: bytes, begin: int, end: int) -> bytes:
    """Return a bzip2 stream of one block alone: bits [begin, end) of `data`, shifted to where a stream has them."""
    block = np.frombuffer(data[begin // 8 : -(-end // 8)], np.uint8)
    shift, (num_whole, num_rest) = begin % 8, divmod(end - begin, 8)
    if shift:
        block = ((block << shift) | (np.append(block[1:], np.uint8(0)) >> (8 - shift))).astype(np.uint8)
    checksum = _bits_at(data, begin + _MAGIC_BITS, _CHECKSUM_BITS)  # that of one block is the stream's
    rest = int(block[num_whole]) >> (8 - num_rest) if num_rest else 0
    tail, length = (rest << 80) | (_END << _CHECKSUM_BITS) | checksum, num_rest + 80
    padding = -length % 8
    return b"BZh9" + block[:num_whole].tobytes() + (tail << padding).to_bytes((length + padding) // 8, "big")


class BlockDecompressor:
    """Decompresses a stream from the begin of one of its blocks on, as `bz2.BZ2Decompressor` does from its header on.

    The checksum of each block is checked, that of the stream, which covers blocks before, is not.
    """

    def __init__(self, shift: int) -> None:
        """The block begins at bit `shift` of the first byte."""
        self.eof = False
        self.unused_data = b""
        self._data, self._bit, self._searched = b"", shift, 0  # in the data in hand
        self._ready = memoryview(b"")

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return the next bytes, `max_length` of them where so many can be made of what it was given."""
        self._data += data
        parts: list[memoryview] = []
        left = max_length
        while left and (self._ready or self._next_block()):
            parts.append(self._ready[:left])
            self._ready = self._ready[left:]
            left -= len(parts[-1])
        return b"".join(parts)

    def _next_block(self) -> bool:
        """Make the next block ready; tell whether there is one, and all of it."""
        if self.eof or 8 * len(self._data) < self._bit + _MAGIC_BITS + _CHECKSUM_BITS:
            return False
        magic = magic_at(self._data, self._bit)
        if magic == _END:
            end = -(-(self._bit + _MAGIC_BITS + _CHECKSUM_BITS) // 8)
            self.eof, self.unused_data, self._data = True, self._data[end:], b""
            return False
        if magic != _BLOCK:
            raise DamagedStreamError("Invalid data stream")
        self._searched = max(self._searched, self._bit + _MAGIC_BITS)
        while (found := find_magic(self._data, self._searched)) is not None:
            try:
                block = bz2.decompress(stream_of_block(self._data, self._bit, found))
            except (OSError, ValueError):  # this one may stand inside of the block, by chance
                self._searched = found + 1
                continue
            self._data, self._bit, self._searched = self._data[found // 8 :], found % 8, 0
            self._ready = memoryview(block)
            return True
        self._searched = max(self._searched, 8 * len(self._data) - 8 * 8)
        if len(self._data) > MAX_BLOCK_BYTES:
            raise DamagedStreamError("Invalid data stream")
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block that begins at a bit of the file; `stream` is one of it alone. The end of a stream has none."""

    bit: int
    stream: bytes | None


def iter_blocks(raw: BinaryIO) -> Iterator[Block]:
    """Yield the blocks of all streams of a file from its begin, and the end of each whose checksum is right.

    Nothing is decompressed. Raises DamagedStreamError where no stream goes on, or begins.
    """
    bits = _Bits(raw)
    while bits.has(1):
        if not bits.has(8 * _HEADER_BYTES) or bits.data[:3] != b"BZh" or bits.data[3] not in b"123456789":
            raise DamagedStreamError("Invalid data stream")
        bits.drop(8 * _HEADER_BYTES)
        checksum = 0
        while (magic := bits.number(0, _MAGIC_BITS)) == _BLOCK:
            checksum = ((checksum << 1) & 0xFFFFFFFF | checksum >> 31) ^ bits.number(_MAGIC_BITS, _CHECKSUM_BITS)
            end = bits.find_magic(_MAGIC_BITS)
            yield Block(bit=bits.position, stream=stream_of_block(bits.data, bits.begin, bits.begin + end))
            bits.drop(end)
        if magic != _END or bits.number(_MAGIC_BITS, _CHECKSUM_BITS) != checksum:
            raise DamagedStreamError("Invalid data stream")
        yield Block(bit=bits.position, stream=None)
        bits.drop(_MAGIC_BITS + _CHECKSUM_BITS)
        bits.drop(-bits.position % 8)


class _Bits:
    """The bits of a file that were not dropped yet; those in hand are `data` from bit `begin` on."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.data, self.begin, self.position = b"", 0, 0

    def has(self, length: int) -> bool:
        """Tell whether so many are left, reading on if need be."""
        while 8 * len(self.data) < self.begin + length:
            more = self._raw.read(_READ_BYTES)
            if not more:
                return False
            self.data += more
        return True

    def number(self, at: int, length: int) -> int:
        """Return the number in `length` bits."""
        if not self.has(at + length):
            raise DamagedStreamError("Invalid data stream")
        return _bits_at(self.data, self.begin + at, length)

    def find_magic(self, at: int) -> int:
        """Return where the next magic number is, from `at` on."""
        while (found := find_magic(self.data, self.begin + at)) is None:
            in_hand = 8 * len(self.data) - self.begin
            if in_hand > 8 * (MAX_BLOCK_BYTES + _READ_BYTES) or not self.has(in_hand + 1):
                raise DamagedStreamError("Invalid data stream")
        return found - self.begin

    def drop(self, length: int) -> None:
        """Drop the first bits."""
        whole, self.begin = divmod(self.begin + length, 8)
        self.data, self.position = self.data[whole:], self.position + length
