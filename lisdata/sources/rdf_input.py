"""The bytes that an RDF parser reads, and what is noted of them on the way: places, and names that it will change."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from lisdata.errors import BadRecordError
from lisdata.inputs import MEBIBYTE, InputFile, InputSlice

_LONGEST_NAME = 256  # bytes of a name and its marks that may go across two blocks
_KEPT_BLOCKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePatterns:
    """What of an input is noted: the last group of each match of `always`.

    From the first block on in which `trigger` is found, so are those of `triggered`; where an earlier block has gone by
    without, TRIGGERED_LATE is noted too.
    """

    always: tuple[re.Pattern[bytes], ...]
    trigger: re.Pattern[bytes] | None = None
    triggered: re.Pattern[bytes] | None = None


TRIGGERED_LATE = b"&"  # no name holds this character


@dataclass(frozen=True, slots=True)
class _Block:
    """Bytes of the input that begin at `offset`, in line `line` (from 1)."""

    offset: int
    line: int
    data: bytes


class ParserInput:
    """A binary stream over another, which it closes, for a parser that reads it once.

    What `names` matches goes to `found`. With `by_line`, no more than one line is read at a time, so that `line` is
    where the parser is. `position` is the number of bytes read. `check` is given the bytes before the parser is, and
    raises where it must not have them.
    """

    def __init__(
        self, stream: BinaryIO, names: NamePatterns, *, by_line: bool, check: Callable[[bytes], None] | None = None
    ) -> None:
        self._stream, self._check = stream, check
        self._names, self.by_line = names, by_line
        self._is_triggered = False
        self._blocks: deque[_Block] = deque([_Block(0, 1, b"")], maxlen=_KEPT_BLOCKS)
        self._tail = b""
        self._at = 0
        self.found: set[bytes] = set()
        self.position = 0

    def __enter__(self) -> ParserInput:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, empty at the end."""
        block = self._blocks[-1].data
        if self._at == len(block):
            block = self._next_block()
            self._at = 0
        end = len(block) if size < 0 else min(len(block), self._at + size)
        if self.by_line:
            end = block.find(b"\n", self._at, end) + 1 or end
        data = block[self._at : end]
        self._at = end
        self.position += len(data)
        return data

    def _next_block(self) -> bytes:
        last = self._blocks[-1]
        try:
            data = self._stream.read(MEBIBYTE)
        except BadRecordError as error:
            raise BadRecordError(
                error.place, expected=error.expected, found=error.found, begin=self.position, end=self.position
            ) from error
        if self._check is not None:
            self._check(data)
        self._note_names(data)
        self._blocks.append(_Block(last.offset + len(last.data), last.line + last.data.count(b"\n"), data))
        return data

    def _note_names(self, data: bytes) -> None:
        """Note the names in `data`; one that ends with it is noted with the block that follows."""
        known = self._tail + data
        stop = len(known) if not data else len(known) - 1
        patterns = self._names.always
        if self._names.trigger is not None and self._names.triggered is not None:
            if not self._is_triggered and self._names.trigger.search(known):
                self._is_triggered = True
                if self._blocks[-1].data:
                    self.found.add(TRIGGERED_LATE)
            patterns += (self._names.triggered,) if self._is_triggered else ()
        for pattern in patterns:
            for match in pattern.finditer(known):
                if match.end() <= stop:
                    self.found.add(match[match.lastindex or 0])
        self._tail = known[-_LONGEST_NAME:]

    @property
    def line(self) -> int:
        """The line (from 1) of the last byte read."""
        block = self._blocks[-1]
        return block.line + block.data.count(b"\n", 0, max(0, self._at - 1))

    def bytes_of_lines(self, first: int, last: int) -> tuple[int, bytes] | None:
        """Return (offset, bytes) of lines `first` to `last`; None where they are no longer at hand."""
        kept = self._blocks[0]
        data = b"".join(block.data for block in self._blocks)
        if first < kept.line + (kept.offset > 0):  # the first line may have begun in a block that is gone
            return None
        begin = _line_begin(data, first - kept.line)
        end = begin + _line_begin(data[begin:], last - first + 1)
        return kept.offset + begin, data[begin:end]

    def rest(self) -> Iterator[bytes]:
        """Yield what the parser has not read."""
        while data := self.read():
            yield data


def _line_begin(data: bytes, number: int) -> int:
    """Return where line `number` (from 0) of `data` begins, its end if it has fewer."""
    begin = 0
    for _ in range(number):
        begin = data.find(b"\n", begin) + 1
        if not begin:
            return len(data)
    return begin


def whole_blocks(file: InputFile) -> Iterator[bytes]:
    """Yield the bytes of an input up to its end, or to where it is damaged: whoever reads it for good will say so."""
    with file.open() as stream, suppress(BadRecordError):
        while data := stream.read(MEBIBYTE):
            yield data


def error_of_whole(piece: InputSlice, offset: int, expected: str, found: str) -> BadRecordError:
    """Return the error of an input that is refused as a whole for what stands at `offset`."""
    size = sum(map(len, whole_blocks(piece.file)))
    return BadRecordError(piece.place(offset), expected=expected, found=found, begin=0, end=size)
