"""Input files: found, opened through fsspec, decompressed by content, cut into slices, and named in messages."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

import fsspec
import xxhash

from lisdata.errors import BadRecordError, Place, PlanError

MEBIBYTE = 1 << 20
BLOCK_BYTES = 16 * MEBIBYTE
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One input of a run, as the plan froze it.

    `index` is its number in the plan, `name` its path below the folder the user named, `size` its bytes as stored,
    `digest` the quick digest (size, first and last MiB) and `scope` what keeps its blank nodes and record ids apart.
    """

    index: int
    path: str
    name: str
    size: int
    digest: str
    scope: str
    compression: str | None

    def open(self) -> BinaryIO:
        """Open the decompressed bytes; all gzip members, bzip2 streams and zstd frames are read."""
        raw = cast(BinaryIO, fsspec.open(self.path, "rb").open())
        return decompressed(raw, self.compression)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSlice:
    """Bytes [begin, end) of an input, counted after decompression; `end` None means to the end of the file."""

    file: InputFile
    begin: int = 0
    end: int | None = None

    def blocks(self, size: int = BLOCK_BYTES) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, bytes) in blocks of about `size` bytes that end after a newline (or at the slice's end).

        A line longer than `size` makes a longer block. A cut or damaged compressed stream raises BadRecordError.
        """
        with self.file.open() as stream:
            if self.begin:
                stream.seek(self.begin)
            offset, rest = self.begin, b""
            while True:
                want = size if self.end is None else min(size, self.end - offset - len(rest))
                data = self._read(stream, want, offset + len(rest)) if want > 0 else b""
                if not data:
                    break
                cut = data.rfind(b"\n") + 1
                if not cut:
                    rest += data
                    continue
                yield offset, rest + data[:cut]
                offset += len(rest) + cut
                rest = data[cut:]
            if rest:
                yield offset, rest

    def read(self) -> bytes:
        """Return the whole slice."""
        return b"".join(data for _, data in self.blocks())

    def place(self, offset: int) -> Place:
        """Return line and column of a byte `offset`; the file is read again up to there, so only for messages."""
        line, column = 1, 1
        with self.file.open() as stream:
            left = offset
            while left > 0 and (data := stream.read(min(left, BLOCK_BYTES))):
                left -= len(data)
                newline = data.rfind(b"\n")
                line += data.count(b"\n")
                column = len(data) - newline if newline >= 0 else column + len(data)
        return Place(self.file.name, offset=offset, line=line, column=column)

    def _read(self, stream: BinaryIO, size: int, offset: int) -> bytes:
        try:
            return stream.read(size)
        except (EOFError, OSError, ValueError) as error:
            if self.file.compression is None:
                raise
            raise BadRecordError(
                Place(self.file.name, offset=offset),
                expected=f"a whole {self.file.compression} stream",
                found=f"a cut or damaged one ({error})",
                begin=offset,
                end=offset,
            ) from error


def decompressed(raw: BinaryIO, compression: str | None) -> BinaryIO:
    """Return a stream of the decompressed bytes of `raw`; closing it closes `raw`."""
    if compression is None:
        return raw
    if compression == "gzip":
        import gzip

        return _ClosingBoth(cast(BinaryIO, gzip.GzipFile(fileobj=raw)), raw)
    if compression == "bz2":
        import bz2

        return _ClosingBoth(cast(BinaryIO, bz2.BZ2File(raw)), raw)
    if compression == "zstd":
        import zstandard

        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        return _ClosingBoth(cast(BinaryIO, reader), raw)
    raise ValueError(f"unknown compression {compression!r}: expected gzip, bz2 or zstd")


class _ClosingBoth(io.BufferedIOBase, BinaryIO):
    """A decompressing stream that also closes what it reads from, and can skip forward."""

    def __init__(self, stream: BinaryIO, raw: BinaryIO) -> None:
        self._stream, self._raw = stream, raw

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(BLOCK_BYTES), b""))
        parts: list[bytes] = []
        while size > 0 and (data := self._stream.read(size)):
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        if whence != 0:
            raise io.UnsupportedOperation("a compressed stream is only read forward")
        left = offset
        while left > 0 and (data := self.read(min(left, BLOCK_BYTES))):
            left -= len(data)
        return offset - left

    def close(self) -> None:
        self._stream.close()
        self._raw.close()
        super().close()


def find_inputs(paths: list[str], *, suffixes: tuple[str, ...], exclude: str | None = None) -> list[InputFile]:
    """Return the files at `paths` (files, folders, fsspec URLs and globs), in a stable order.

    A folder gives its files whose names end in one of `suffixes`, a compression suffix taken off. `exclude` is
    the output folder: a run never reads what it writes.
    """
    found: list[tuple[str, str]] = []
    for path in paths:
        found.extend(_expand(path, suffixes, exclude))
    if not found:
        raise PlanError(f"no input found at {', '.join(paths)} (looked for files that end in {', '.join(suffixes)})")
    files: list[InputFile] = []
    seen: dict[str, int] = {}
    for index, (name, full) in enumerate(found):
        size, digest, compression = _quick_digest(full)
        copies = seen[digest] = seen.get(digest, -1) + 1
        scope = f"{digest}~{copies}" if copies else digest
        files.append(
            InputFile(index=index, path=full, name=name, size=size, digest=digest, scope=scope, compression=compression)
        )
    return files


def _expand(path: str, suffixes: tuple[str, ...], exclude: str | None) -> list[tuple[str, str]]:
    fs, root = fsspec.core.url_to_fs(path)
    out = None if exclude is None else fsspec.core.url_to_fs(exclude)[1].rstrip("/") + "/"
    if any(c in path for c in "*?["):
        matches = sorted(m for m in fs.glob(root) if fs.isfile(m))
        found = [(m.rsplit("/", 1)[-1], m) for m in matches]
    elif fs.isdir(root):
        below = sorted(p for p in fs.find(root) if _stem(p).endswith(suffixes))
        found = [(p[len(root) :].lstrip("/"), p) for p in below]
    elif fs.exists(root):
        found = [(root.rsplit("/", 1)[-1], root)]
    else:
        raise PlanError(f"{path}: no such file or folder")
    return [(name, fs.unstrip_protocol(p)) for name, p in found if out is None or not p.startswith(out)]


def _stem(path: str) -> str:
    for suffix in (".gz", ".bz2", ".zst"):
        path = path.removesuffix(suffix)
    return path.lower()


def _quick_digest(path: str) -> tuple[int, str, str | None]:
    """Return (size, digest of size with the first and last MiB, compression found by magic number)."""
    with fsspec.open(path, "rb").open() as stream:
        first = stream.read(MEBIBYTE)
        size = stream.seek(0, io.SEEK_END)
        stream.seek(max(0, size - MEBIBYTE))
        last = stream.read(MEBIBYTE)
    digest = xxhash.xxh3_64(size.to_bytes(8, "little") + first + last).hexdigest()
    compression = next((name for magic, name in _MAGIC.items() if first.startswith(magic)), None)
    return size, digest, compression
