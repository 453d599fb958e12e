"""Lines of an input: read in blocks, cut at newlines, and named in messages without reading the file again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import InputSlice
from lisdata.registry import Reject

Int64 = npt.NDArray[np.int64]
Record = TypeVar("Record")

BATCH_BYTES = 4 << 20
PROBE_BYTES = 64 << 10
_NEWLINE = 0x0A


class LineError(ValueError):
    """A line is no record; `at` is the byte of the line where it is wrong."""

    def __init__(self, at: int, expected: str, found: str) -> None:
        self.at, self.expected, self.found = at, expected, found
        super().__init__(f"byte {at}: expected {expected}, found {found}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineLimit:
    """The most bytes of a line, which is called `unit`; a longer one is rejected without being held in memory.

    `option` names the setting that says how many.
    """

    unit: str
    max_bytes: int
    reject: Reject
    option: str | None = "max_document_bytes"


class LineBlocks:
    """The whole lines of a slice in blocks of about `size` bytes; `place` names a byte of the block in hand.

    Without a `limit` a line above MAX_LINE_BYTES ends the reading with BadRecordError.
    """

    def __init__(self, piece: InputSlice, size: int = BATCH_BYTES, *, limit: LineLimit | None = None) -> None:
        self.file = piece.file
        self._piece, self._size, self._limit = piece, size, limit
        self._offset, self._data = piece.begin, b""
        self._lines_before = 0  # of this block, in the slice
        self._slice_line: int | None = None
        self._newlines: Int64 | None = None

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, bytes) of each block."""
        if self._limit is None:
            blocks = self._piece.blocks(self._size)
        else:
            longest = self._limit.max_bytes
            blocks = self._piece.blocks(self._size, longest_line=longest, on_long_line=self._pass_over)
        for offset, data in blocks:
            self._go_on(offset, data)
            yield offset, data

    def _go_on(self, offset: int, data: bytes) -> None:
        self._lines_before += self._data.count(b"\n")
        self._offset, self._data, self._newlines = offset, data, None

    def _pass_over(self, begin: int, end: int) -> None:
        """Reject a line that is too long."""
        if self._limit is None:
            raise ValueError("there is no limit")
        self._go_on(begin, b"")
        limit = self._limit
        limit.reject(too_long(self, begin, end - begin, limit.unit, limit.max_bytes, option=limit.option))
        self._lines_before += 1

    def place(self, offset: int) -> Place:
        """Return line and column (in bytes) of an offset of the file."""
        at = offset - self._offset
        if not 0 <= at <= len(self._data):
            return self._piece.place(offset)
        if self._newlines is None:
            self._newlines = _line_ends(self._data) - 1
        if self._slice_line is None:
            self._slice_line = self._piece.place(self._piece.begin).line or 1
        row = int(np.searchsorted(self._newlines, at))
        begin = int(self._newlines[row - 1]) + 1 if row else 0
        line = self._slice_line + self._lines_before + row
        return Place(self._piece.file.name, offset=offset, line=line, column=at - begin + 1)


def iter_parsed(
    blocks: LineBlocks, offset: int, data: bytes, limit: LineLimit, parse: Callable[[bytes, int], Record]
) -> Iterator[tuple[Record, int, int]]:
    """Yield what `parse(line, begin)` gives of each line of a block, with the line's begin and end in the file.

    A line above the limit is rejected, and so is one for which `parse` raises LineError.
    """
    bounds = (offset + line_bounds(data)).tolist()
    for begin, end in pairwise(bounds):
        if end - begin > limit.max_bytes:
            limit.reject(too_long(blocks, begin, end - begin, limit.unit, limit.max_bytes, option=limit.option))
            continue
        line = data[begin - offset : end - offset]
        try:
            record = parse(line, begin)
        except LineError as error:
            place = blocks.place(begin + error.at)
            limit.reject(
                BadRecordError(place, expected=error.expected, found=error.found, begin=begin, end=end, data=line)
            )
        else:
            yield record, begin, end


def line_bounds(data: bytes) -> Int64:
    """Return the begin of each line and the end of the last; a line keeps its newline, and only "\\n" ends one."""
    rest = [len(data)] if data and not data.endswith(b"\n") else []
    return np.concatenate(([0], _line_ends(data), rest)).astype(np.int64)


def _line_ends(data: bytes) -> Int64:
    """Return where a newline has just ended."""
    return np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE) + 1


def find_line(piece: InputSlice, wanted: int) -> int:
    """Return the first offset >= `wanted` where a line of `piece` begins, or the slice's end."""
    if wanted <= piece.begin:
        return piece.begin
    end = wanted - 1
    for offset, data in replace(piece, begin=wanted - 1).chunks(PROBE_BYTES):
        newline = data.find(b"\n")
        if newline >= 0:
            return offset + newline + 1
        end = offset + len(data)
    return end


def too_long(
    blocks: LineBlocks, begin: int, size: int, unit: str, limit: int, *, option: str | None = "max_document_bytes"
) -> BadRecordError:
    """Return the error of a unit of `size` bytes that is longer than `limit`, which `option` says."""
    said = "" if option is None else f" ({option})"
    return BadRecordError(
        blocks.place(begin),
        expected=f"a {unit} of at most {limit} bytes{said}",
        found=f"{size} bytes",
        begin=begin,
        end=begin + size,
    )
