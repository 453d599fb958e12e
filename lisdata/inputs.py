"""Input files: found, opened through fsspec, decompressed by content, cut into slices, and named in messages."""

from __future__ import annotations

import io
import os
import stat
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import BinaryIO, cast

import xxhash

from lisdata.decompression import MAX_EXPANSION, SMALL_EXPANSION_BYTES, decompressed, find_compression
from lisdata.errors import BadRecordError, Place, PlanError
from lisdata.input_paths import expand_path, file_system
from lisdata.seek_points import BEGIN, SeekIndex, SeekPoint, find_seek_points

MEBIBYTE = 1 << 20
BLOCK_BYTES = 16 * MEBIBYTE
MAX_LINE_BYTES = 256 * MEBIBYTE
WHOLE_DIGEST_BYTES = 64 * MEBIBYTE
_LOOKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One input of a run, as the plan froze it.

    `index` is its number in the plan, `name` its path below the folder the user named, `size` its bytes as stored,
    `digest` that of its size and content (of a file above 64 MiB, of pieces spread over it) and `scope` what keeps its
    blank nodes and record ids apart. `max_expansion` is how many bytes one of the file, be it compressed or an archive,
    may expand to, once it expands to more than 256 MiB. `changed` is when it last changed, as far as that is known, at
    the time of its digest.
    """

    index: int
    path: str
    name: str
    size: int
    digest: str
    scope: str
    compression: str | None
    max_expansion: int = MAX_EXPANSION
    changed: str | None = field(default=None, compare=False)

    def open(self, point: SeekPoint = BEGIN) -> BinaryIO:
        """Open the decompressed bytes; all gzip members, bzip2 and xz streams and zstd frames are read.

        A compressed file may be read from a `point` of it on. Reading raises BadRecordError where a compressed stream
        is cut or damaged, or expands too far.
        """
        begin = (point.bit, point.offset)
        return decompressed(_open(self.path), self.compression, self.name, limit=self.most_expanded, begin=begin)

    def find_seek_points(self, spacing: int, on_bytes: Callable[[int], None] | None = None) -> SeekIndex | None:
        """Return where decompression may begin in the midst, about every `spacing` bytes; None if only at the begin.

        A URL has no points: to find them all of it is read. `on_bytes` is told, now and then, how many bytes of the
        stored file that was done for.
        """
        if self.compression is None or not self.is_local:
            return None
        opened = partial(_open, self.path)
        return find_seek_points(opened, self.compression, spacing=spacing, limit=self.most_expanded, on_bytes=on_bytes)

    @property
    def most_expanded(self) -> int:
        """The most bytes that the file may expand to."""
        return max(SMALL_EXPANSION_BYTES, self.max_expansion * self.size)

    @property
    def is_digest_of_all(self) -> bool:
        """Whether the digest covers every byte, so that files of one digest hold the same."""
        return self.size <= WHOLE_DIGEST_BYTES

    @property
    def is_local(self) -> bool:
        """Whether the file is read from this machine's file system."""
        return "://" not in self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSlice:
    """Bytes [begin, end) of an input, counted after decompression; `end` None means to the end of the file.

    Of a compressed file that is read in slices, `points` are known seek points in order, the file's begin if no other,
    and `stored` are the first byte and the end of what of the file as stored holds the slice.
    """

    file: InputFile
    begin: int = 0
    end: int | None = None
    points: tuple[SeekPoint, ...] = (BEGIN,)
    stored: tuple[int, int] | None = None

    @property
    def is_last(self) -> bool:
        """Whether the slice ends where its file does."""
        return self.end is None or (self.file.compression is None and self.end == self.file.size)

    def point_before(self, offset: int) -> SeekPoint:
        """Return the last known seek point that is not behind a byte."""
        at = bisect_right(self.points, offset, key=lambda point: point.offset)
        return self.points[at - 1] if at else BEGIN

    def point_from(self, offset: int) -> SeekPoint | None:
        """Return the first known seek point that is not before a byte, if there is one."""
        at = bisect_left(self.points, offset, key=lambda point: point.offset)
        return self.points[at] if at < len(self.points) else None

    def chunks(self, size: int = MEBIBYTE) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, bytes) of at most `size` bytes each, wherever lines end; memory is bounded by `size`."""
        position, point = self.begin, self.point_before(self.begin)
        with self.file.open(point) as stream:
            if self.begin > point.offset:
                stream.seek(self.begin)
            while data := stream.read(size if self.end is None else max(0, min(size, self.end - position))):
                position += len(data)
                yield position - len(data), data

    def blocks(
        self,
        size: int = BLOCK_BYTES,
        *,
        longest_line: int = MAX_LINE_BYTES,
        on_long_line: Callable[[int, int], None] | None = None,
    ) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, bytes) in blocks of about `size` bytes that end after a newline (or at the slice's end).

        A line longer than `size` makes a longer block. One above `longest_line` is not held in memory: `on_long_line`
        gets its begin and end, and the block that follows begins behind it; without that, BadRecordError is raised and
        the bytes that follow are not read. BadRecordError is also raised where a compressed stream is cut or damaged.
        """
        offset = position = self.begin
        parts: list[bytes] = []
        is_long = False  # the line in hand, of which nothing is kept
        chunks = self.chunks(size)
        while True:
            try:
                at, data = next(chunks, (position, b""))
            except BadRecordError as error:  # the record that it cuts begins where no whole line was left
                raise BadRecordError(
                    error.place, expected=error.expected, found=error.found, begin=offset, end=position
                ) from error
            position = at + len(data)
            if is_long and on_long_line is not None and (b"\n" in data or not data):
                end = data.find(b"\n") + 1
                on_long_line(offset, at + end)
                offset, data, is_long = at + end, data[end:], not data
            if position == at:
                break
            cut = data.rfind(b"\n") + 1
            if cut:
                parts.append(data[:cut])
                begin, offset, block = offset, position - len(data) + cut, b"".join(parts)
                parts = [data[cut:]]  # nothing else holds the block while it is converted
                yield begin, block
            elif not is_long:
                parts.append(data)
            if not is_long and position - offset > longest_line:
                if on_long_line is None:
                    raise self._endless_line(offset, position, longest_line)
                is_long = True
                parts.clear()
        if offset < position and not is_long:
            block = b"".join(parts)
            parts.clear()
            yield offset, block

    def _endless_line(self, begin: int, end: int, limit: int) -> BadRecordError:
        return BadRecordError(
            Place(self.file.name, offset=begin),
            expected=f"a line of at most {limit} bytes",
            found=f"{end - begin} bytes without an end of line",
            begin=begin,
            end=end,
        )

    def read(self) -> bytes:
        """Return the whole slice."""
        return b"".join(data for _, data in self.chunks(BLOCK_BYTES))

    def digest(self) -> str:
        """Return the digest of every byte of the slice as stored: of a compressed file, all of it or what holds it."""
        digest = xxhash.xxh3_128()
        is_all = self.file.compression is not None or self.end is None
        begin, end = self.stored or ((0, self.file.size) if is_all else (self.begin, self.end or 0))
        with _open(self.file.path) as stream:
            stream.seek(begin)
            while begin < end and (data := stream.read(min(BLOCK_BYTES, end - begin))):
                digest.update(data)
                begin += len(data)
        return digest.hexdigest()

    def place(self, offset: int) -> Place:
        """Return line and column of a byte `offset`; what is before is read again up to there, so only for messages."""
        point = self.point_before(offset)
        line, column = 1 + point.newlines, 1 + point.offset - point.line_begin
        with self.file.open(point) as stream:
            left = offset - point.offset
            while left > 0 and (data := stream.read(min(left, BLOCK_BYTES))):
                left -= len(data)
                newline = data.rfind(b"\n")
                line += data.count(b"\n")
                column = len(data) - newline if newline >= 0 else column + len(data)
        return Place(self.file.name, offset=offset, line=line, column=column)


def find_inputs(
    paths: list[str],
    *,
    suffixes: tuple[str, ...],
    exclude: str | None = None,
    max_expansion: int = MAX_EXPANSION,
    after: Sequence[InputFile] = (),
    leave_out: Callable[[InputFile], bool] | None = None,
) -> list[InputFile]:
    """Return the files at `paths` (files, folders, fsspec URLs and globs), in a stable order.

    A folder gives its files whose names end in one of `suffixes`, a compression suffix taken off, but no hidden ones
    (below .git, .cache) unless named themselves; what else it has is told in a log. `exclude` is the output folder: a
    run never reads what it writes, nor datasets that lie below a folder. The second of two files called x.txt is named
    2/x.txt. The files are numbered and named behind those of `after`; one that `leave_out` is true of is left out.
    """
    found: list[tuple[str, str]] = []
    for path in paths:
        found.extend(expand_path(path, suffixes, exclude))
    if not found:
        outside = "" if exclude is None else f", outside of {exclude}"
        wanted = f"looked for files that end in {', '.join(suffixes)}{outside}"
        raise PlanError(f"no input found at {', '.join(paths)} ({wanted})")
    files: list[InputFile] = []
    names, seen = {file.name for file in after}, Counter(file.digest for file in after)
    for wanted, full in found:
        if not _is_utf8(wanted):
            raise PlanError(f"{wanted!r}: expected a file name in UTF-8")
        (size, digest, compression), changed = _digest_at_rest(full)
        name = next(n for copy in count(1) if (n := wanted if copy == 1 else f"{copy}/{wanted}") not in names)
        file = InputFile(
            index=len(after) + len(files),
            path=full,
            name=name,
            size=size,
            digest=digest,
            scope=f"{digest}~{seen[digest]}" if seen[digest] else digest,
            compression=compression,
            max_expansion=max_expansion,
            changed=changed,
        )
        if leave_out is not None and leave_out(file):
            continue
        names.add(name)
        seen[digest] += 1
        files.append(file)
    return files


def _digest_at_rest(path: str) -> tuple[tuple[int, str, str | None], str | None]:
    """Return what `_quick_digest` gives, and the time of the change that it was made after and no other followed."""
    for _ in range(_LOOKS):
        before, found = time_of_change(path), _quick_digest(path)
        if time_of_change(path) == before:
            return found, before
    raise PlanError(f"{path}: changes while it is read; convert it when all of it is written")


def is_unchanged(file: InputFile) -> bool:
    """Tell whether a file is where it was found, and its digest is what it was."""
    try:
        return _quick_digest(file.path)[:2] == (file.size, file.digest)
    except (OSError, PlanError):
        return False


def time_of_change(path: str) -> str | None:
    """Return what the file system says of when an input last changed, if it says anything."""
    fs, name = file_system(path)
    info = fs.info(name)
    found = info.get("mtime") or info.get("ETag") or info.get("etag") or info.get("LastModified")
    return None if found is None else str(found)


def _open(path: str) -> BinaryIO:
    """Open a local file by its path, which may hold what means something in a URL, or whatever a URL names.

    Raises PlanError for a pipe or device, which can't be read twice.
    """
    if "://" in path:
        import fsspec

        return cast(BinaryIO, fsspec.open(path, "rb").open())
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise PlanError(f"{path}: expected a regular file, not a pipe or device; write it to a file first")
    return open(path, "rb")


def _is_utf8(name: str) -> bool:
    """Tell whether a name can be written; bytes that are not UTF-8 stand in it as lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _quick_digest(path: str) -> tuple[int, str, str | None]:
    """Return (size, digest, compression found by magic number).

    The digest covers the size and all bytes, of a file above 64 MiB the first and last MiB and 62 pieces between them:
    it tells files apart without reading a dump of 100 GB twice.
    """
    with _open(path) as stream:
        first = stream.read(MEBIBYTE)
        size = stream.seek(0, io.SEEK_END)
        digest = xxhash.xxh3_64(size.to_bytes(8, "little"))
        for begin, length in _digested(size):
            stream.seek(begin)
            digest.update(stream.read(length))
    return size, digest.hexdigest(), find_compression(first)


def _digested(size: int) -> Iterator[tuple[int, int]]:
    """Yield (begin, length) of the pieces of a file that its digest covers."""
    if size <= WHOLE_DIGEST_BYTES:
        yield from ((begin, min(MEBIBYTE, size - begin)) for begin in range(0, size, MEBIBYTE))
        return
    yield 0, MEBIBYTE
    yield from ((size * piece // 63, MEBIBYTE // 16) for piece in range(1, 63))
    yield size - MEBIBYTE, MEBIBYTE
