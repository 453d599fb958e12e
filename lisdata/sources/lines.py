"""Lines of an input: read in blocks, cut at newlines, and named in messages without reading the file again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import InputSlice

Int64 = npt.NDArray[np.int64]

BATCH_BYTES = 4 << 20
PROBE_BYTES = 64 << 10
_NEWLINE = 0x0A


class LineBlocks:
    """The whole lines of a slice in blocks of about `size` bytes; `place` names a byte of the block in hand."""

    def __init__(self, piece: InputSlice, size: int = BATCH_BYTES) -> None:
        self.file = piece.file
        self._piece, self._size = piece, size
        self._offset, self._data = piece.begin, b""
        self._lines_before = 0  # of this block, in the slice
        self._slice_line: int | None = None
        self._newlines: Int64 | None = None

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, bytes) of each block."""
        for offset, data in self._piece.blocks(self._size):
            self._lines_before += self._data.count(b"\n")
            self._offset, self._data, self._newlines = offset, data, None
            yield offset, data

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
    for offset, data in replace(piece, begin=wanted - 1).blocks(PROBE_BYTES):
        newline = data.find(b"\n")
        if newline >= 0:
            return offset + newline + 1
        end = offset + len(data)
    return end


def too_long(blocks: LineBlocks, begin: int, size: int, unit: str, limit: int) -> BadRecordError:
    """Return the error of a unit of `size` bytes that is longer than max_document_bytes, `limit`."""
    return BadRecordError(
        blocks.place(begin),
        expected=f"a {unit} of at most {limit} bytes (max_document_bytes)",
        found=f"{size} bytes",
        begin=begin,
        end=begin + size,
    )
