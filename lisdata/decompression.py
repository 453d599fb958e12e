"""Streams of decompressed bytes: gzip, bzip2, xz and zstd, every member or frame of them, found by content."""

from __future__ import annotations

import bz2
import io
import lzma
import re
import zlib
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, cast

from lisdata.errors import BadRecordError, Place

# Dumps of RDF and JSON expand 10 to 30 times; gzip at most 1032 times, bzip2 and zstd a few KB to 1 GB.
MAX_EXPANSION = 200
SMALL_EXPANSION_BYTES = 256 << 20  # allowed whatever the file's size
COMPRESSION_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
_INPUT_BYTES = 64 << 10
_ZSTD_INPUT_BYTES = 4 << 10  # zstd gives all that a piece expands to at once: at most 32,768 times as much
_OUTPUT_BYTES = 4 << 20  # the others give no more than they are asked for
_XZ_MEMORY_BYTES = 256 << 20  # xz -9 needs 65 MiB; a header may ask for 4 GiB
_MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b\x08"),
    "bz2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),  # a stream's first block, or the end of an empty one
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),  # a frame, or one to skip
}


def without_compression(name: str) -> str:
    """Return the name of what is in a compressed file, its case kept: the name without the suffix of a compression."""
    ending = next((suffix for suffix in COMPRESSION_SUFFIXES if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(ending)]


def find_compression(first: bytes) -> str | None:
    """Return "gzip", "bz2", "xz" or "zstd" where the first bytes of a file say so, else None."""
    return next((name for name, magic in _MAGIC.items() if magic.match(first)), None)


def decompressed(
    raw: BinaryIO,
    compression: str | None,
    name: str = "the stream",
    *,
    limit: int | None = None,
    begin: tuple[int, int] = (0, 0),
) -> BinaryIO:
    """Return a stream of the decompressed bytes of `raw`; closing it closes `raw`.

    All bytes before a cut (before damage, or above `limit` bytes: but for the last piece) can be read; then reading
    raises BadRecordError, which calls the file `name`. So `read(n)` gives n bytes, fewer only where the stream ends or
    where it is cut: whoever takes fewer for the end reads once more, which gives none or raises. Memory is bounded
    however far a piece expands.

    It may begin in the midst: `begin` is the bit of `raw` where a member or frame, or a block of bzip2, begins, and
    which byte of all that is decompressed that is.
    """
    if compression is None:
        return raw
    bit, offset = begin
    if bit:
        raw.seek(bit // 8)
    stream = _DecompressedStream(raw, codec_of(compression), name, limit, offset)
    if bit and compression == "bz2":
        from lisdata.bzip2_blocks import BlockDecompressor

        stream.begin_member(BlockDecompressor(bit % 8))
    return cast(BinaryIO, stream)


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """What decompresses one member, and the errors by which it says that the bytes are wrong."""

    name: str
    new: Any
    errors: tuple[type[Exception], ...]
    padding: bytes = b""  # bytes that may stand between and after members
    input_bytes: int = _INPUT_BYTES
    output_bytes: tuple[int, ...] = (_OUTPUT_BYTES,)  # the most to give at once, where it can be told


def codec_of(compression: str) -> Codec:
    """Return what decompresses "gzip", "bz2", "xz" or "zstd"."""
    if compression == "gzip":
        return Codec(name="gzip", new=lambda: zlib.decompressobj(wbits=31), errors=(zlib.error,), padding=b"\0")
    if compression == "bz2":
        return Codec(name="bz2", new=bz2.BZ2Decompressor, errors=(OSError, ValueError))
    if compression == "xz":
        new_xz = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES)
        return Codec(name="xz", new=new_xz, errors=(lzma.LZMAError,), padding=b"\0")
    if compression == "zstd":
        import zstandard

        new = zstandard.ZstdDecompressor().decompressobj
        errors = (zstandard.ZstdError,)
        return Codec(name="zstd", new=new, errors=errors, input_bytes=_ZSTD_INPUT_BYTES, output_bytes=())
    raise ValueError(f"unknown compression {compression!r}: expected gzip, bz2, xz or zstd")


class _TooMuchError(Exception):
    """A stream expands beyond its limit."""


class _DecompressedStream(io.BufferedIOBase):
    """Reads forward only; a stream that ends inside a member is an error, never a short success."""

    def __init__(self, raw: BinaryIO, codec: Codec, name: str, limit: int | None, begin: int) -> None:
        self._raw, self._codec, self._name, self._limit = raw, codec, name, limit
        self._expanded = begin
        self._member: Any = None
        self._has_more = False  # of what the member was given
        self._compressed = b""
        self._ready = memoryview(b"")
        self._position = begin
        self._is_later = False
        self._failure: BadRecordError | None = None

    def begin_member(self, member: Any) -> None:
        """Let `member` decompress what comes first."""
        self._member = member

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        parts: list[bytes] = []
        left = -1 if size is None else size
        while left and (part := self._take(left, may_fail=not parts)):
            parts.append(part)
            left -= len(part) if left > 0 else 0
        return b"".join(parts)

    def read1(self, size: int = -1, /) -> bytes:
        return self._take(size, may_fail=True) if size else b""

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if whence != io.SEEK_SET or offset < self._position:
            raise io.UnsupportedOperation("a compressed stream is only read forward")
        while self._position < offset and self._take(offset - self._position, may_fail=True):
            pass
        return self._position

    def close(self) -> None:
        self._raw.close()
        super().close()

    def _take(self, size: int, *, may_fail: bool) -> bytes:
        """Return up to `size` bytes (all at hand when negative), none at the end, or, unless it may fail, at damage."""
        if not self._ready and self._failure is None:
            try:
                self._ready = memoryview(self._decompress())
            except EOFError:
                self._failure = self._damaged("one that is cut")
            except _TooMuchError:
                self._failure = self._too_large()
            except self._codec.errors as error:
                self._failure = self._damaged(f"a damaged one ({error})")
        if not self._ready and self._failure is not None and may_fail:
            raise self._failure
        if 0 <= size < len(self._ready):
            taken, self._ready = bytes(self._ready[:size]), self._ready[size:]
        else:
            taken, self._ready = bytes(self._ready), memoryview(b"")
        self._position += len(taken)
        return taken

    def _decompress(self) -> bytes:
        """Return the next bytes, or none after the last member."""
        while True:
            if not self._compressed and not self._has_more:
                self._compressed = self._raw.read(self._codec.input_bytes)
                if not self._compressed:
                    if self._member is not None:
                        raise EOFError
                    return b""
            if self._member is None:
                if self._is_later:
                    self._compressed = self._compressed.lstrip(self._codec.padding)
                if not self._compressed:
                    continue
                self._member = self._codec.new()
            data: bytes = self._member.decompress(self._compressed, *self._codec.output_bytes)
            self._compressed = self._member.unused_data or getattr(self._member, "unconsumed_tail", b"")
            self._has_more = not self._member.eof and self._codec.output_bytes == (len(data),)
            if self._member.eof:
                self._member, self._is_later = None, True
            self._expanded += len(data)
            if self._limit is not None and self._expanded > self._limit:
                raise _TooMuchError
            if data:
                return data

    def _damaged(self, found: str) -> BadRecordError:
        at = self._position
        place = Place(self._name, offset=at)
        return BadRecordError(place, expected=f"a whole {self._codec.name} stream", found=found, begin=at, end=at)

    def _too_large(self) -> BadRecordError:
        at = self._position
        expected = f"at most {self._limit} bytes when decompressed (--max-expansion)"
        return BadRecordError(Place(self._name, offset=at), expected=expected, found="more", begin=at, end=at)
