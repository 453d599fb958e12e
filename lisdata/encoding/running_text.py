"""The running text of structures: their documents, or where they have none the words they show."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from lisdata.encoding.characters import code_points
from lisdata.encoding.pieces import Int64, Pieces, offsets_of, row_numbers
from lisdata.encoding.structure_rows import StructureRows
from lisdata.kernels.arrays import UInt8, binary_buffers


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningText:
    """The texts of N structures one after the other: as characters, cut at `char_offsets`, and as bytes.

    `begin` and `end` say, in all these bytes, where each occurrence is spelled, -1 where it is not. A document that is
    not UTF-8 (with lone surrogates as three bytes) has U+DC80 .. U+DCFF for each byte that does not fit, as Python's
    "surrogateescape" writes it; `num_escaped` counts such documents.
    """

    text: str
    char_offsets: Int64
    char_begins: Int64 | None  # the byte where each character begins, and the end; None where each is one byte
    num_escaped: int
    data: UInt8
    begin: Int64
    end: Int64

    @classmethod
    def of_rows(cls, rows: StructureRows, contents: pa.Table) -> RunningText:
        """Return the documents; a structure without one has the lexical forms of its occurrences, joined by a space."""
        offsets, data = _documents(rows, contents)
        characters = _Characters.of_documents(data, offsets)
        first = offsets[row_numbers(rows.occurrence_offsets)]
        begin, end = rows.spans
        if rows.documents.null_count:
            begin, end = _place_joined(rows, contents, begin, end)
        is_spelled = begin >= 0
        return cls(
            text=characters.text,
            char_offsets=characters.offsets,
            char_begins=characters.begins,
            num_escaped=characters.num_escaped,
            data=data,
            begin=np.where(is_spelled, begin + first, -1),
            end=np.where(is_spelled, end + first, -1),
        )

    @property
    def texts(self) -> list[str]:
        """The text of each structure."""
        return [self.text[begin:end] for begin, end in pairwise(self.char_offsets.tolist())]

    def byte_places(self, pieces: Pieces) -> tuple[Int64, Int64]:
        """Return begin and end of each piece in `data`, from its offsets in characters."""
        first = np.repeat(self.char_offsets[:-1], np.diff(pieces.offsets))
        begin, end = pieces.begin + first, pieces.end + first
        return (begin, end) if self.char_begins is None else (self.char_begins[begin], self.char_begins[end])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Characters:
    """The characters of all documents; see RunningText."""

    text: str
    offsets: Int64
    begins: Int64 | None
    num_escaped: int = 0

    @classmethod
    def of_documents(cls, data: UInt8, offsets: Int64) -> _Characters:
        """Decode all documents at once where each is UTF-8, else one by one."""
        heads = data[offsets[:-1][offsets[:-1] < len(data)]]
        if np.any((heads & 0xC0) == 0x80):  # a document begins inside a character
            return cls._one_by_one(data, offsets)
        try:
            text = data.tobytes().decode("utf-8", errors="surrogatepass")
        except UnicodeDecodeError:
            return cls._one_by_one(data, offsets)
        if len(text) == len(data):
            return cls(text=text, offsets=offsets, begins=None)
        begins = np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))
        return cls(text=text, offsets=np.searchsorted(begins, offsets), begins=begins)

    @classmethod
    def _one_by_one(cls, data: UInt8, offsets: Int64) -> _Characters:
        documents = [data[begin:end].tobytes() for begin, end in pairwise(offsets.tolist())]
        decoded = [_decode(document) for document in documents]
        widths = [_byte_widths(text, is_escaped) for text, is_escaped in decoded]
        return cls(
            text="".join(text for text, _ in decoded),
            offsets=offsets_of(np.array([len(text) for text, _ in decoded], np.int64)),
            begins=offsets_of(np.concatenate(widths)),
            num_escaped=sum(is_escaped for _, is_escaped in decoded),
        )


def _decode(document: bytes) -> tuple[str, bool]:
    """Return the text of a document, and whether bytes that are not UTF-8 are escaped in it."""
    try:
        return document.decode("utf-8", errors="surrogatepass"), False
    except UnicodeDecodeError:
        return document.decode("utf-8", errors="surrogateescape"), True


def _byte_widths(text: str, is_escaped: bool) -> Int64:
    """Return how many bytes of its document each character stands for."""
    codes = code_points(text).astype(np.int64)
    widths = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    return np.where((codes >= 0xDC80) & (codes <= 0xDCFF), 1, widths) if is_escaped else widths


def read_text(rows: StructureRows, contents: pa.Table) -> str:
    """Return all running text of the rows as `RunningText` has it."""
    offsets, data = _documents(rows, contents)
    return _Characters.of_documents(data, offsets).text


def _documents(rows: StructureRows, contents: pa.Table) -> tuple[Int64, UInt8]:
    """Return the bytes of all documents, and where each begins."""
    documents = rows.documents
    if documents.null_count:
        found = documents.to_pylist()
        joined = [b" ".join(_words(rows, row, contents)) if d is None else d for row, d in enumerate(found)]
        documents = pa.array(joined, pa.large_binary())
    offsets, data = binary_buffers(documents)
    return offsets - offsets[0], data[offsets[0] : offsets[-1]]


def _words(rows: StructureRows, row: int, contents: pa.Table) -> list[bytes]:
    first, last = rows.occurrence_offsets[row : row + 2]
    words: list[bytes] = contents.column("lexical").take(pa.array(rows.tau[first:last])).to_pylist()
    return words


def _place_joined(rows: StructureRows, contents: pa.Table, begin: Int64, end: Int64) -> tuple[Int64, Int64]:
    """Return the spans, with those of joined words where a row has no document."""
    begin, end = begin.copy(), end.copy()
    for row in np.flatnonzero(np.asarray(rows.documents.is_null())).tolist():
        words = _words(rows, row, contents)
        places = offsets_of(np.fromiter((len(word) + 1 for word in words), np.int64, len(words)))
        inside = slice(*rows.occurrence_offsets[row : row + 2])
        begin[inside], end[inside] = places[:-1], places[1:] - 1
    return begin, end
