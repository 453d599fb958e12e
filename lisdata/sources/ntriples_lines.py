"""Reading of line-based RDF: blocks of whole lines that cut no run, bad lines named with their place."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import MAX_LINE_BYTES, InputSlice
from lisdata.kernels.ntriples_scan import PADDING
from lisdata.records import TripleRecords
from lisdata.registry import Reject
from lisdata.sources.ntriples_parser import LineError, LineParser
from lisdata.sources.ntriples_records import BlockReader
from lisdata.sources.ntriples_runs import BLOCK_BYTES
from lisdata.sources.rdf_grouping import Grouping

_SHOWN_CHARACTERS = 80


def read_lines(piece: InputSlice, parser: LineParser, grouping: Grouping, reject: Reject) -> Iterator[TripleRecords]:
    """Yield the statements of `piece` in batches that cut no run; a line that is not valid goes to `reject`.

    So does one that is too long to be held.
    """
    reader = BlockReader(file=piece.file, parser=parser, grouping=grouping)
    expected = "a statement in N-Quads" if parser.has_graphs else "a triple in N-Triples"
    lines = LineNumbers(piece)
    blocks = iter_blocks(piece, reject)
    for offset, chunks in grouping.iter_batches(blocks, begin=piece.begin):
        block = b"".join([*chunks, PADDING])
        yield reader.read(block, offset, partial(_reject_line, reject, expected, lines, offset, block))
        lines.leave(offset, block)


def iter_blocks(piece: InputSlice, reject: Reject) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, bytes) of blocks of whole lines; one that is too long to be held goes to `reject`."""

    def pass_over(begin: int, end: int) -> None:
        expected, found = f"a line of at most {MAX_LINE_BYTES} bytes", f"{end - begin} bytes"
        reject(BadRecordError(piece.place(begin), expected=expected, found=found, begin=begin, end=end))

    return piece.blocks(BLOCK_BYTES, longest_line=MAX_LINE_BYTES, on_long_line=pass_over)


class LineNumbers:
    """Counts lines from the first bad one on, so that the file is read again once for it, and behind what is left out.

    Lines are asked for in order.
    """

    def __init__(self, piece: InputSlice) -> None:
        self._piece = piece
        self._at, self._line = 0, 0  # a line of the file and its number; 0: none is known yet

    def place(self, offset: int, block: bytes, begin: int, column: int) -> Place:
        """Return the place of a line that begins at `begin` of the block at `offset`."""
        if self._line and self._at >= offset:
            self._line += block.count(b"\n", self._at - offset, begin)
        else:
            self._line = self._piece.place(offset + begin).line or 1
        self._at = offset + begin
        return Place(self._piece.file.name, offset=offset + begin, line=self._line, column=column)

    def leave(self, offset: int, block: bytes) -> None:
        """Go on to the block that follows."""
        if self._line and self._at >= offset:
            end = len(block) - len(PADDING)
            self._line += block.count(b"\n", self._at - offset, end)
            self._at = offset + end


def _reject_line(
    reject: Reject,
    expected: str,
    lines: LineNumbers,
    offset: int,
    block: bytes,
    begin: int,
    end: int,
    error: LineError,
) -> None:
    data = block[begin:end]
    shown = data[: 4 * _SHOWN_CHARACTERS + 3].rstrip(b"\r\n").decode(errors="backslashreplace")  # all bytes of these
    shown = shown if len(shown) <= _SHOWN_CHARACTERS else shown[:_SHOWN_CHARACTERS] + "..."
    place = lines.place(offset, block, begin, error.column)
    found = f"{shown!r} ({error})"
    reject(BadRecordError(place, expected=expected, found=found, begin=offset + begin, end=offset + end, data=data))
