"""Where CoNLL-U may be cut: before a line that follows a blank one, so that a sentence stays whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import BLOCK_BYTES, MEBIBYTE, InputSlice
from lisdata.sources.lines import PROBE_BYTES, find_line

MAX_SENTENCE_BYTES = 64 * MEBIBYTE
"""A sentence this long is refused, for it would have to be held in memory."""

_BLANK_LINE = re.compile(rb" *\r?\n?")  # the newline is missing at the end of a file alone
_BLANK_LINES = re.compile(rb"(?: *\r?\n)*")


class SentenceBlocks:
    """Blocks of about `size` bytes of whole sentences, each with the blank lines that follow it.

    A sentence too long to be held is cut. Lines are counted from the first place that is asked for.
    """

    def __init__(self, piece: InputSlice, size: int = BLOCK_BYTES) -> None:
        self._piece, self._size = piece, size
        self._offset, self._data = piece.begin, b""
        self._at, self._line = 0, 0  # a byte of the file and its line; 0: none is known yet

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, bytes) of each block."""
        for offset, data in _iter_blocks(self._piece, self._size):
            if self._line:
                self._line += self._data.count(b"\n", self._at - self._offset)
                self._at = offset
            self._offset, self._data = offset, data
            yield offset, data

    def place(self, offset: int) -> Place:
        """Return line and column (in bytes) of an offset in the block in hand, not before the last one asked for."""
        if not self._line:
            self._at, self._line = self._offset, self._piece.place(self._offset).line or 1
        at = offset - self._offset
        self._line += self._data.count(b"\n", self._at - self._offset, at)
        self._at = offset
        column = at - self._data.rfind(b"\n", 0, at)
        return Place(self._piece.file.name, offset=offset, line=self._line, column=column)


def _iter_blocks(piece: InputSlice, size: int) -> Iterator[tuple[int, bytes]]:
    held: list[memoryview] = []
    begin, length = piece.begin, 0
    has_text = after_blank = False  # what is held has a line that is not blank; its last line is blank
    try:
        for _, data in piece.blocks(size):
            cut = _last_begin(data, has_text, after_blank)
            if cut is None and length + len(data) >= MAX_SENTENCE_BYTES:
                cut = len(data)
            has_text |= _text_begin(data) < len(data)
            after_blank = _is_blank(data[data.rfind(b"\n", 0, -1) + 1 :])
            rest = memoryview(data)
            if cut is not None:
                yield begin, b"".join((*held, rest[:cut]))
                begin += length + cut
                held, length, rest = [], 0, rest[cut:]
                has_text = len(rest) > 0
            held.append(rest)
            length += len(rest)
    except BadRecordError:  # a damaged stream: a sentence before the damage is good if it is whole
        if after_blank:
            yield begin, b"".join(held)
        raise
    if length:
        yield begin, b"".join(held)


def find_sentence(piece: InputSlice, wanted: int) -> int:
    """Return an offset >= `wanted` where a sentence begins, or the slice's end."""
    at = find_line(piece, wanted)
    if at == piece.begin:
        return at
    first = piece.begin  # of the first sentence, which holds the blank lines before it
    for offset, data in piece.blocks(PROBE_BYTES):
        first = offset + _text_begin(data)
        if first < offset + len(data):
            break
    after_blank = False  # perhaps not, but then a later sentence is as good a cut
    for _, data in replace(piece, begin=at).blocks(PROBE_BYTES):
        for line in _lines(data):
            is_blank = _is_blank(line)
            if after_blank and not is_blank and at > first:
                return at
            after_blank = is_blank
            at += len(line)
    return at


def _last_begin(data: bytes, has_text: bool, after_blank: bool) -> int | None:
    """Return where the last sentence that begins in `data` does, None if that is the one that is held already.

    `has_text` says that one is held, `after_blank` that the last line held is blank.
    """
    end, is_text = len(data), False
    first = -1 if has_text else _text_begin(data)
    while end > 0:
        start = data.rfind(b"\n", 0, end - 1) + 1
        is_blank = _is_blank(data[start:end])
        if is_blank and is_text:
            return end if end > first else None
        is_text = not is_blank
        end = start
    return 0 if has_text and after_blank and is_text else None


def _is_blank(line: bytes) -> bool:
    return _BLANK_LINE.fullmatch(line) is not None


def _text_begin(data: bytes) -> int:
    """Return where the first line begins that is not blank."""
    found = _BLANK_LINES.match(data)
    return found.end() if found else 0


def _lines(data: bytes) -> Iterator[bytes]:
    """Yield lines with their newlines; only LF ends one."""
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin) + 1 or len(data)
        yield data[begin:end]
        begin = end
