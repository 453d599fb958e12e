"""Cuts files of bracketed trees into blocks that end between trees, and each block into trees and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import InputSlice
from lisdata.registry import Reject
from lisdata.sources.brackets_records import Bools, BracketBlock, Int64, TreePlaces
from lisdata.sources.brackets_scan import scan_brackets

_BLOCK_BYTES = 1 << 20
_LONGEST_LINE = 64 << 20
_SHOWN_BYTES = 40
_NEWLINE = 0x0A


def iter_trees(piece: InputSlice, limit: int, reject: Reject) -> Iterator[tuple[BracketBlock, TreePlaces]]:
    """Yield blocks with their whole trees; what is no tree is rejected, and so is one that is not UTF-8.

    A tree that is not closed, or not within `limit` bytes, ends before the next line that begins with a bracket, and
    before a line that is too long to be held, which is rejected.
    """
    lines = _Lines(piece)
    offset, data = piece.begin, b""
    passed: list[tuple[int, int]] = []
    whole_lines = piece.blocks(_BLOCK_BYTES, longest_line=_LONGEST_LINE, on_long_line=lambda *line: passed.append(line))
    for begin, more in whole_lines:
        if passed:
            block = _scan(piece, offset, data)
            yield block, _sort_out(block, _Items.of(block, is_whole=True), len(data), lines, reject)
            lines.pass_over(block, len(data))
            _reject_lines(piece, passed, lines, reject)
            offset, data = begin, b""
        block = _scan(piece, offset, data + more)
        items = _Items.of(block, is_whole=False)
        if len(block.data) - items.last_begin > limit:
            items = _Items.of(block, is_whole=True)
        keep = len(block.data) if len(block.data) - items.last_begin > limit else items.last_begin
        yield block, _sort_out(block, items, keep, lines, reject)
        lines.pass_over(block, keep)
        offset, data = offset + keep, block.data[keep:]
    block = _scan(piece, offset, data)
    yield block, _sort_out(block, _Items.of(block, is_whole=True), len(data), lines, reject)
    lines.pass_over(block, len(data))
    _reject_lines(piece, passed, lines, reject)


def _reject_lines(piece: InputSlice, passed: list[tuple[int, int]], lines: _Lines, reject: Reject) -> None:
    """Reject lines that are too long, and forget them."""
    for begin, end in passed:
        place, found = lines.next_line(piece.file.name, begin, end), f"{end - begin} bytes"
        reject(
            BadRecordError(
                place, expected=f"a line of at most {_LONGEST_LINE} bytes", found=found, begin=begin, end=end
            )
        )
    passed.clear()


def _scan(piece: InputSlice, offset: int, data: bytes) -> BracketBlock:
    return BracketBlock(file=piece.file, offset=offset, data=data, brackets=scan_brackets(data))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Items:
    """Trees, trees that are not closed, runs of what is in none, in order: the token and the byte where each begins.

    An item ends where the next begins.
    """

    token: Int64
    begin: Int64
    is_tree: Bools
    is_unclosed: Bools

    @staticmethod
    def of(block: BracketBlock, *, is_whole: bool) -> _Items:
        """Find the items; where the block `is_whole`, nothing comes that could close the last tree."""
        brackets = block.brackets
        roots = np.flatnonzero(brackets.is_open & (brackets.depth == 0))
        if is_whole and len(roots) and brackets.match[roots[-1]] < 0:
            roots = np.append(roots, _begin_again(block, int(roots[-1])))
        is_closed = brackets.match[roots] >= 0
        behind = np.concatenate(([0], brackets.match[roots[is_closed]] + 1))
        following = np.append(roots, len(brackets.begin))
        strays = behind[behind < following[np.searchsorted(following, behind)]]
        token = np.concatenate((roots, strays))
        order = np.argsort(token)
        is_root = np.repeat([True, False], [len(roots), len(strays)])[order]
        is_tree = is_root.copy()
        is_tree[is_root] = is_closed
        return _Items(
            token=token[order],
            begin=brackets.begin[token[order]],
            is_tree=is_tree,
            is_unclosed=is_root & ~is_tree,
        )

    @property
    def last_begin(self) -> int:
        """Where the last item begins, with the white space before it where it is the first: that belongs to it."""
        return int(self.begin[-1]) if len(self.begin) > 1 else 0


def _begin_again(block: BracketBlock, unclosed: int) -> Int64:
    """Return the brackets, behind one that nothing closes, that begin a line and so perhaps a tree."""
    begin = block.brackets.begin
    candidates = np.flatnonzero(block.brackets.is_open)
    candidates = candidates[candidates > unclosed]
    before = np.frombuffer(block.data, np.uint8)[begin[candidates] - 1]
    found: list[int] = []
    reach = unclosed
    for token in candidates[before == _NEWLINE].tolist():
        if token > reach:
            found.append(token)
            reach = max(token, int(block.brackets.match[token]))
    return np.array(found, np.int64)


def _sort_out(block: BracketBlock, items: _Items, keep: int, lines: _Lines, reject: Reject) -> TreePlaces:
    """Reject what is wrong among the items before byte `keep`, and return the trees."""
    is_here = items.begin < keep
    begin = items.begin[is_here]
    end = np.append(begin[1:], keep)[: len(begin)]
    begin[:1] = 0  # white space before the first tree of a file is part of it
    is_good = items.is_tree[is_here]
    is_utf8 = _is_utf8(block.data[:keep])
    for number in np.flatnonzero(~is_good | (not is_utf8)).tolist():
        error = _find_error(block, items, number, int(begin[number]), int(end[number]), lines)
        if error is not None:
            is_good[number] = False
            reject(error)
    return TreePlaces(root=items.token[is_here][is_good], begin=begin[is_good], end=end[is_good])


def _find_error(
    block: BracketBlock, items: _Items, number: int, begin: int, end: int, lines: _Lines
) -> BadRecordError | None:
    at, expected, found = int(items.begin[number]), "", ""
    data = block.data[begin:end]
    if items.is_unclosed[number]:
        expected, found = "a ) for this (", "none before the next tree or the end"
    elif not items.is_tree[number]:
        token = int(items.token[number])
        shown = block.data[at : min(int(block.brackets.end[token]), at + _SHOWN_BYTES)]
        expected, found = "( at the begin of a tree", shown.decode(errors="backslashreplace")
    else:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            at = begin + error.start
            expected, found = "UTF-8", f"byte 0x{data[error.start]:02x} ({error.reason})"
        else:
            return None
    span = {"begin": block.offset + begin, "end": block.offset + end}
    return BadRecordError(lines.place(block, at), expected=expected, found=found, data=data, **span)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class _Lines:
    """Counts the lines of a file on the way; places are asked for in order."""

    def __init__(self, piece: InputSlice) -> None:
        first = piece.place(piece.begin)
        self._line, self._line_begin = first.line or 1, piece.begin - (first.column or 1) + 1
        self._at = 0

    def place(self, block: BracketBlock, at: int) -> Place:
        """Return the place of a byte of the block."""
        self._advance(block, at)
        offset = block.offset + at
        return Place(block.file.name, offset=offset, line=self._line, column=offset - self._line_begin + 1)

    def pass_over(self, block: BracketBlock, end: int) -> None:
        """Go on to a block that begins where `end` is in this one."""
        self._advance(block, end)
        self._at = 0

    def next_line(self, name: str, begin: int, end: int) -> Place:
        """Return the place of a line of which no block has the bytes, and go on behind it."""
        place = Place(name, offset=begin, line=self._line, column=1)
        self._line, self._line_begin = self._line + 1, end
        return place

    def _advance(self, block: BracketBlock, at: int) -> None:
        newlines = block.data.count(b"\n", self._at, at)
        if newlines:
            self._line += newlines
            self._line_begin = block.offset + block.data.rfind(b"\n", self._at, at) + 1
        self._at = at
