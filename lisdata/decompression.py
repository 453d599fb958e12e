"""Streams of decompressed bytes: gzip, bzip2 and zstd, every member or frame of them, found by content."""

from __future__ import annotations

import bz2
import io
import re
import zlib
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from lisdata.errors import BadRecordError, Place

# Small enough that a piece which expands a thousandfold still fits in memory.
_INPUT_BYTES = 64 << 10
_MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b\x08"),
    "bz2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),  # a stream's first block, or the end of an empty one
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),  # a frame, or one to skip
}


def find_compression(first: bytes) -> str | None:
    """Return "gzip", "bz2" or "zstd" where the first bytes of a file say so, else None."""
    return next((name for name, magic in _MAGIC.items() if magic.match(first)), None)


def decompressed(raw: BinaryIO, compression: str | None, name: str = "the stream") -> BinaryIO:
    """Return a stream of the decompressed bytes of `raw`; closing it closes `raw`.

    All bytes before a cut (before damage: but for the last piece) can be read; then reading raises BadRecordError,
    which calls the file `name`.
    """
    if compression is None:
        return raw
    return cast(BinaryIO, _DecompressedStream(raw, _codec(compression), name))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Codec:
    """What decompresses one member, and the errors by which it says that the bytes are wrong."""

    name: str
    new: Any
    errors: tuple[type[Exception], ...]
    padding: bytes = b""  # bytes that may stand between and after members


def _codec(compression: str) -> _Codec:
    if compression == "gzip":
        return _Codec(name="gzip", new=lambda: zlib.decompressobj(wbits=31), errors=(zlib.error,), padding=b"\0")
    if compression == "bz2":
        return _Codec(name="bz2", new=bz2.BZ2Decompressor, errors=(OSError, ValueError))
    if compression == "zstd":
        import zstandard

        new = zstandard.ZstdDecompressor().decompressobj
        return _Codec(name="zstd", new=new, errors=(zstandard.ZstdError,))
    raise ValueError(f"unknown compression {compression!r}: expected gzip, bz2 or zstd")


class _DecompressedStream(io.BufferedIOBase):
    """Reads forward only; a stream that ends inside a member is an error, never a short success."""

    def __init__(self, raw: BinaryIO, codec: _Codec, name: str) -> None:
        self._raw, self._codec, self._name = raw, codec, name
        self._member: Any = None
        self._compressed = b""
        self._ready = memoryview(b"")
        self._position = 0
        self._is_later = False
        self._failure: BadRecordError | None = None

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
            if not self._compressed:
                self._compressed = self._raw.read(_INPUT_BYTES)
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
            data: bytes = self._member.decompress(self._compressed)
            self._compressed = self._member.unused_data
            if self._member.eof:
                self._member, self._is_later = None, True
            if data:
                return data

    def _damaged(self, found: str) -> BadRecordError:
        at = self._position
        place = Place(self._name, offset=at)
        return BadRecordError(place, expected=f"a whole {self._codec.name} stream", found=found, begin=at, end=at)
