"""How a delimited file is written: separators, quotes, encoding, spellings of NULL; and what its columns are."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.kernels.arrays import binary_array, binary_buffers
from lisdata.records import ForeignKey
from lisdata.sources.character_encodings import encoding_name
from lisdata.sources.table_schema import DeclaredField

Int64 = npt.NDArray[np.int64]

AS_UTF8 = "rows are found byte by byte, so make the file UTF-8 first (iconv -f UTF-16 -t UTF-8)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Layout and columns of one file; `fields` is None where the header alone names the columns."""

    delimiter: str
    quote: str | None
    encoding: str
    header: bool
    null_tokens: tuple[str, ...]
    table: str
    fields: tuple[DeclaredField, ...] | None
    primary_key: tuple[str, ...]
    foreign_keys: tuple[ForeignKey, ...]
    namespace: str | None = None

    def __post_init__(self) -> None:
        check_layout_bytes(self.delimiter, self.quote, self.encoding)

    @property
    def delimiter_byte(self) -> int:
        """The byte between cells."""
        return ord("\t" if self.delimiter == "\\t" else self.delimiter)

    @property
    def quote_byte(self) -> int:
        """The byte around cells, -1 where there is none."""
        return ord(self.quote) if self.quote else -1


def check_layout_bytes(delimiter: str, quote: str | None, encoding: str) -> None:
    """Raise ValueError unless the marks are different ASCII characters and the encoding keeps ASCII bytes apart."""
    delimiter = "\t" if delimiter == "\\t" else delimiter
    for what, mark in (("delimiter", delimiter), ("quote", quote)):
        if mark and (len(mark) != 1 or not mark.isascii() or mark in "\r\n"):
            raise ValueError(f"expected the {what} to be one ASCII character and no line ending, got {mark!r}")
    if not delimiter or delimiter == quote:
        raise ValueError(f"expected a delimiter that is not the quote, got {delimiter!r} and {quote!r}")
    if not is_utf8(encoding):
        _one_byte_table(encoding)


def is_utf8(encoding: str) -> bool:
    """Say whether the encoding is UTF-8, with or without a byte order mark."""
    return encoding_name(encoding) in ("utf-8", "utf-8-sig")


def undecodable(data: bytes, encoding: str) -> Int64:
    """Return the offsets of the bytes that do not belong to text in the encoding."""
    if not is_utf8(encoding):
        defined = np.array([character is not None for character in _one_byte_table(encoding)])
        return np.flatnonzero(~defined[np.frombuffer(data, np.uint8)])
    with suppress(pa.ArrowInvalid):  # a quick look at all before the one that finds out where
        binary_array(np.array([0, len(data)], np.int64), np.frombuffer(data, np.uint8), pa.large_string()).validate(
            full=True
        )
        return np.empty(0, np.int64)
    offsets: list[int] = []
    view, begin = memoryview(data), 0
    while begin < len(data):
        try:
            str(view[begin:], "utf-8")
            break
        except UnicodeDecodeError as error:
            offsets.append(begin + error.start)
            begin += error.end
    return np.array(offsets, np.int64)


def decode_texts(texts: pa.Array, encoding: str) -> pa.Array:
    """Return a large_binary array of text in the encoding as large_string; it holds no byte that is `undecodable`."""
    if is_utf8(encoding):
        return pa.Array.from_buffers(pa.large_string(), len(texts), texts.buffers(), offset=texts.offset)
    offsets, data = binary_buffers(texts)
    sizes = np.array([len(character.encode()) if character else 0 for character in _one_byte_table(encoding)], np.int64)
    ends = np.concatenate(([0], np.cumsum(sizes[data])))
    recoded = np.frombuffer(data.tobytes().decode(encoding).encode(), np.uint8)
    return binary_array(ends[offsets], recoded, pa.large_string())


@cache
def _one_byte_table(encoding: str) -> tuple[str | None, ...]:
    """Return the character of each byte, None where undefined; ValueError unless the encoding extends ASCII so."""
    if encoding_name(encoding).startswith(("utf-16", "utf-32", "utf-7")):
        raise ValueError(f"expected utf-8 or a one-byte encoding that extends ASCII, got {encoding!r}: {AS_UTF8}")
    table: list[str | None] = []
    for byte in range(256):
        try:
            text = bytes((byte,)).decode(encoding)
        except UnicodeDecodeError:
            table.append(None)
            continue
        table.append(text)
    # Bytes that are nothing alone must be nothing before another one either, as the lead bytes of Shift-JIS are not.
    pairs = [bytes((byte, after)) for byte, text in enumerate(table) if text is None for after in (0x40, 0x41, 0xA1)]
    is_wide = any(len(text or "x") != 1 for text in table) or any(len(p.decode(encoding, "replace")) < 2 for p in pairs)
    if is_wide or table[:128] != [chr(byte) for byte in range(128)]:
        raise ValueError(f"expected utf-8 or a one-byte encoding that extends ASCII, got {encoding!r}")
    return tuple(table)
