"""Where CoNLL-U may be cut: before a line that follows a blank one, so that a sentence stays whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import BLOCK_BYTES, MEBIBYTE, InputSlice
from lisdata.sources.lines import PROBE_BYTES, find_line

MAX_SENTENCE_BYTES = 64 * MEBIBYTE
"""A sentence this long is refused, for it would have to be held in memory."""

BYTE_ORDER_MARK = "\ufeff".encode()

_BLANK_LINE = re.compile(rb" *\r?\n?")  # the newline is missing at the end of a file alone
_BLANK_LINES = re.compile(rb"(?: *\r?\n)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Bytes [begin, end) of a file: whole sentences, or one too long to be held, of which `data` is None."""

    begin: int
    end: int
    data: bytes | None


class SentenceBlocks:
    """Blocks of about `size` bytes of whole sentences, each with the blank lines that follow it.

    A sentence too long to be held is a block of its own. Lines are counted from the first place that is asked for.
    """

    def __init__(self, piece: InputSlice, size: int = BLOCK_BYTES) -> None:
        self._piece, self._size = piece, size
        self._offset, self._data = piece.begin, b""
        self._at, self._line = 0, 0  # a byte of the file and its line; 0: none is known yet

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks in order; together they are the piece."""
        for block in _iter_blocks(self._piece, self._size):
            if self._line:
                self._line += self._data.count(b"\n", self._at - self._offset)
                self._at = block.begin
            self._offset, self._data = block.begin, block.data or b""
            yield block
            if block.data is None:
                self._line = 0  # how many lines there were is not known

    def place(self, offset: int) -> Place:
        """Return line and column (in bytes) of an offset in the block in hand, not before the last one asked for."""
        if not self._line:
            self._at, self._line = self._offset, self._piece.place(self._offset).line or 1
        at = offset - self._offset
        self._line += self._data.count(b"\n", self._at - self._offset, at)
        self._at = offset
        column = at - self._data.rfind(b"\n", 0, at)
        return Place(self._piece.file.name, offset=offset, line=self._line, column=column)


def _iter_blocks(piece: InputSlice, size: int) -> Iterator[Block]:
    held: list[memoryview] = []
    begin = end = piece.begin
    has_text = after_blank = False  # what is held has a line that is not blank; its last line is blank
    parted: list[Block] = []

    def pass_over(line_begin: int, line_end: int) -> None:
        """Go on behind a line that no sentence may have; one that was whole before it stays apart from it."""
        nonlocal begin, end, held, has_text, after_blank
        if has_text and after_blank:
            parted.append(_last_block(begin, line_begin, held))
            begin = line_begin
        end, held, has_text, after_blank = line_end, [], True, False

    try:
        for offset, data in piece.blocks(size, longest_line=MAX_SENTENCE_BYTES, on_long_line=pass_over):
            yield from parted
            parted.clear()
            lines = _without_mark(data, offset)
            cut = _last_begin(lines, has_text, after_blank)
            rest = memoryview(data)
            if cut is not None:
                first = 0
                if end - begin >= MAX_SENTENCE_BYTES:
                    first = _first_begin(lines, has_text, after_blank)
                    yield Block(begin=begin, end=offset + first, data=None)
                    begin = offset + first
                if begin < offset + cut:
                    yield Block(begin=begin, end=offset + cut, data=b"".join((*held, rest[first:cut])))
                begin, held, rest, has_text = offset + cut, [], rest[cut:], True
            has_text |= _text_begin(lines) < len(lines)
            after_blank = _is_blank(lines[lines.rfind(b"\n", 0, -1) + 1 :])
            end = offset + len(data)
            held = [*held, rest] if end - begin < MAX_SENTENCE_BYTES else []
    except BadRecordError:  # a damaged stream: a sentence before the damage is good if it is whole
        yield from parted
        if after_blank:
            yield _last_block(begin, end, held)
        raise
    yield from parted
    if begin < end:
        yield _last_block(begin, end, held)


def _last_block(begin: int, end: int, held: list[memoryview]) -> Block:
    return Block(begin=begin, end=end, data=b"".join(held) if end - begin < MAX_SENTENCE_BYTES else None)


def find_sentence(piece: InputSlice, wanted: int) -> int:
    """Return an offset >= `wanted` where a sentence begins, or the slice's end."""
    at = find_line(piece, wanted)
    if at == piece.begin:
        return at
    first = piece.begin  # of the first sentence, which holds the blank lines before it
    for offset, data in piece.blocks(PROBE_BYTES, on_long_line=lambda *_: None):
        first = offset + _text_begin(_without_mark(data, offset))
        if first < offset + len(data):
            break
    after_blank = False  # perhaps not, but then a later sentence is as good a cut

    def pass_over(_: int, end: int) -> None:
        nonlocal at, after_blank
        at, after_blank = end, False

    for _, data in replace(piece, begin=at).blocks(PROBE_BYTES, on_long_line=pass_over):
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


def _first_begin(data: bytes, has_text: bool, after_blank: bool) -> int:
    """Return where the first sentence that begins in `data` does; `_last_begin` has found that there is one."""
    at = 0 if has_text else _text_begin(data)
    after_blank &= has_text
    for line in _lines(data[at:]):
        is_blank = _is_blank(line)
        if after_blank and not is_blank:
            break
        after_blank = is_blank
        at += len(line)
    return at


def _without_mark(data: bytes, offset: int) -> bytes:
    """Return bytes from `offset` of a file with spaces for its byte order mark: a blank line has it before, too."""
    has_mark = offset == 0 and data.startswith(BYTE_ORDER_MARK)
    return b" " * len(BYTE_ORDER_MARK) + data[len(BYTE_ORDER_MARK) :] if has_mark else data


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
