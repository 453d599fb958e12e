"""Where decompression may begin in the midst of a file: at members of gzip and xz, frames of zstd, blocks of bzip2.

To know how many bytes come before a point, all before it is decompressed, once, by as many threads as there are cores.
Only points are given that reading from the begin meets: what stands behind damage has none.
"""

from __future__ import annotations

import bz2
import os
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

from lisdata.bzip2_blocks import Block, DamagedStreamError, iter_blocks
from lisdata.decompression import codec_of

_SCAN_BYTES = 4 << 20
_STORED_SPACING = 16  # members begin at least an n-th of the wanted distance apart, as stored: text shrinks to a tenth
_MEMBERS = {  # what a member begins with that is likely none by chance
    "gzip": re.compile(rb"\x1f\x8b\x08[\x00-\x1f].{4}[\x00\x02\x04][\x00-\x0d\xff]", re.DOTALL),
    "xz": re.compile(rb"\xfd7zXZ\x00\x00[\x00-\x0f]"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
}
_LONGEST_BEGIN = 10
Given = TypeVar("Given")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class SeekPoint:
    """A place where decompression may begin afresh.

    `bit` counts the bits as stored, `offset` the bytes as decompressed, `newlines` those among them; the line in which
    it stands begins at byte `line_begin`.
    """

    bit: int
    offset: int
    newlines: int
    line_begin: int


BEGIN = SeekPoint(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class SeekIndex:
    """The points of a file, its begin first, and how many bytes it decompresses to; None where it is damaged."""

    points: tuple[SeekPoint, ...]
    size: int | None

    @property
    def known_size(self) -> int:
        """How many bytes are known to decompress."""
        return self.points[-1].offset if self.size is None else self.size


def find_seek_points(
    opened: Callable[[], BinaryIO],
    compression: str,
    *,
    spacing: int,
    limit: int,
    threads: int | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> SeekIndex | None:
    """Return points about `spacing` bytes apart; None, without decompressing it, for a file that is one member.

    `opened` opens the file as stored; what decompresses to more than `limit` bytes has no points behind them. The
    points do not depend on `threads`. `on_bytes` is told how many bytes of the stored file are done.
    """
    points = _Points(spacing, limit, on_bytes or (lambda _: None))
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        try:
            if compression == "bz2":
                return _index_blocks(opened, points, pool)
            with opened() as raw:
                begins = list(_member_begins(raw, _MEMBERS[compression], max(1, spacing // _STORED_SPACING)))
            if len(begins) < 2:
                return None
            return _index_members(opened, compression, begins, points, pool)
        finally:
            pool.shutdown(cancel_futures=True)


@dataclass(slots=True)
class _Stretch:
    """Decompressed bytes: how many, how many newlines, where the last line begins; `end` is where a member begins."""

    size: int = 0
    newlines: int = 0
    last_line: int | None = None
    end: int | None = None

    def add(self, data: bytes) -> None:
        self.newlines += data.count(b"\n")
        if newline := data.rfind(b"\n") + 1:
            self.last_line = self.size + newline
        self.size += len(data)


class _Points:
    """Adds up stretches of a file; keeps points that are `spacing` apart, up to `limit` bytes."""

    def __init__(self, spacing: int, limit: int, on_bytes: Callable[[int], None]) -> None:
        self.limit = limit
        self._on_bytes = on_bytes
        self.kept = [BEGIN]
        self._spacing = spacing
        self._offset = self._newlines = self._line_begin = 0

    def keep(self, bit: int) -> None:
        """Keep the point where we are, if it is far enough from the last."""
        self._on_bytes(bit // 8)
        if self._offset >= self.kept[-1].offset + self._spacing:
            self.kept.append(SeekPoint(bit, self._offset, self._newlines, self._line_begin))

    def add(self, stretch: _Stretch) -> bool:
        """Go on to the end of a stretch; tell whether that is within the limit."""
        if stretch.last_line is not None:
            self._line_begin = self._offset + stretch.last_line
        self._offset += stretch.size
        self._newlines += stretch.newlines
        return self._offset <= self.limit

    def index(self) -> SeekIndex:
        """Return the points of a file that is whole."""
        return SeekIndex(tuple(self.kept), self._offset)


def _in_order(
    pool: ThreadPoolExecutor, work: Callable[[Given], Found], given: Iterable[Given]
) -> Generator[tuple[Given, Found], None, None]:
    """Yield what `work` gives of each, in order, while some that come next are being worked on."""
    waiting: deque[tuple[Given, Future[Found]]] = deque()
    for one in given:
        waiting.append((one, pool.submit(work, one)))
        if len(waiting) > 2 * (os.cpu_count() or 1):
            first, future = waiting.popleft()
            yield first, future.result()
    for first, future in waiting:
        yield first, future.result()


# -- members ---------------------------------------------------------------------------------------------------------


def _member_begins(raw: BinaryIO, pattern: re.Pattern[bytes], distance: int) -> Iterator[int]:
    """Yield where members may begin, at least `distance` bytes apart; the first is 0."""
    yield 0
    last = position = 0
    rest = b""
    while data := raw.read(_SCAN_BYTES):
        data = rest + data
        for found in pattern.finditer(data):
            begin = position + found.start()
            if begin >= last + distance:
                yield begin
                last = begin
        rest = data[-_LONGEST_BEGIN + 1 :]
        position += len(data) - len(rest)


def _index_members(
    opened: Callable[[], BinaryIO], compression: str, begins: list[int], points: _Points, pool: ThreadPoolExecutor
) -> SeekIndex:
    """Follow the members from one of `begins` to the next; those that stand inside of a member are never met."""
    at: int | None = 0

    def decompress(begin: int) -> _Stretch | None:
        return _decompress_members(opened, compression, begin, begins, points.limit)

    with closing(_in_order(pool, decompress, begins)) as stretches:
        for begin, stretch in stretches:
            if begin != at:
                continue
            points.keep(8 * begin)
            if stretch is None or not points.add(stretch):
                return SeekIndex(tuple(points.kept), None)
            at = stretch.end
            if at is None:
                break
    return points.index()


def _decompress_members(
    opened: Callable[[], BinaryIO], compression: str, begin: int, begins: list[int], limit: int
) -> _Stretch | None:
    """Decompress from a member on until one begins at the next of `begins`, or the file ends; None for damage."""
    codec, stretch = codec_of(compression), _Stretch()
    member, data, has_more, is_later = codec.new(), b"", False, False
    with opened() as raw:
        raw.seek(begin)
        position = begin
        while stretch.size <= limit:
            if not data and not has_more:
                data = raw.read(codec.input_bytes)
                position += len(data)
                if not data:
                    return stretch if member is None else None
            if member is None:
                data = data.lstrip(codec.padding) if is_later else data
                if not data:
                    continue
                here = position - len(data)
                if _holds(begins, here):
                    stretch.end = here
                    return stretch
                member = codec.new()
            try:
                out = member.decompress(data, *codec.output_bytes)
            except codec.errors:
                return None
            stretch.add(out)
            data = member.unused_data or getattr(member, "unconsumed_tail", b"")
            has_more = not member.eof and codec.output_bytes == (len(out),)
            if member.eof:
                member, is_later = None, True
    return None


def _holds(numbers: list[int], wanted: int) -> bool:
    """Tell whether a sorted list holds a number."""
    at = bisect_left(numbers, wanted)
    return at < len(numbers) and numbers[at] == wanted


# -- blocks ----------------------------------------------------------------------------------------------------------


def _index_blocks(opened: Callable[[], BinaryIO], points: _Points, pool: ThreadPoolExecutor) -> SeekIndex:
    """Follow the blocks of bzip2's streams; those of a stream that is damaged anywhere have no points."""
    num_good = 1
    with opened() as raw, closing(_in_order(pool, _decompress_block, iter_blocks(raw))) as stretches:
        try:
            for block, stretch in stretches:
                points.keep(block.bit)
                if stretch is None or not points.add(stretch):
                    return SeekIndex(tuple(points.kept[:num_good]), None)
                if block.stream is None:
                    num_good = len(points.kept)
        except DamagedStreamError:
            return SeekIndex(tuple(points.kept[:num_good]), None)
    return points.index()


def _decompress_block(block: Block) -> _Stretch | None:
    stretch = _Stretch()
    if block.stream is not None:
        try:
            stretch.add(bz2.decompress(block.stream))
        except (OSError, ValueError):
            return None
    return stretch
