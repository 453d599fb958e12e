"""The running text of structures: their documents, or where they have none the words they show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lisdata.encoding.characters import code_points
from lisdata.encoding.pieces import Int64, Pieces, offsets_of, row_numbers
from lisdata.encoding.structure_rows import StructureRows
from lisdata.kernels.arrays import UInt8


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningText:
    """The texts of N structures, and their bytes one after the other, cut at `offsets`.

    `begin` and `end` say, in all those bytes, where each occurrence is spelled, -1 where it is not. A document that is
    not UTF-8 (with lone surrogates as three bytes) has U+DC80 .. U+DCFF for each byte that does not fit, as Python's
    "surrogateescape" writes it; `is_escaped` marks such documents.
    """

    texts: list[str]
    data: UInt8
    offsets: Int64
    begin: Int64
    end: Int64
    is_escaped: list[bool]

    @classmethod
    def of_rows(cls, rows: StructureRows, contents: pa.Table) -> RunningText:
        """Return the documents; a structure without one has the lexical forms of its occurrences, joined by a space."""
        documents = rows.documents.to_pylist()
        begin, end = rows.spans
        if None in documents:
            begin, end = begin.copy(), end.copy()
            for row, document in enumerate(documents):
                if document is None:
                    documents[row] = _joined(rows, row, contents, begin, end)
        offsets = offsets_of(np.fromiter(map(len, documents), np.int64, len(documents)))
        first = offsets[row_numbers(rows.occurrence_offsets)]
        is_spelled = begin >= 0
        decoded = [decode_document(document) for document in documents]
        return cls(
            texts=[text for text, _ in decoded],
            data=np.frombuffer(b"".join(documents), np.uint8),
            offsets=offsets,
            begin=np.where(is_spelled, begin + first, -1),
            end=np.where(is_spelled, end + first, -1),
            is_escaped=[is_escaped for _, is_escaped in decoded],
        )

    def byte_places(self, pieces: Pieces) -> tuple[Int64, Int64]:
        """Return begin and end of each piece in `data`, from its offsets in characters."""
        lengths = np.fromiter(map(len, self.texts), np.int64, len(self.texts))
        first = np.repeat(offsets_of(lengths)[:-1], np.diff(pieces.offsets))
        if int(lengths.sum()) == len(self.data):  # every character is one byte
            return pieces.begin + first, pieces.end + first
        if any(self.is_escaped):
            starts = offsets_of(np.concatenate(list(map(_byte_widths, self.texts, self.is_escaped))))
        else:
            starts = np.append(np.flatnonzero((self.data & 0xC0) != 0x80), len(self.data))
        return starts[pieces.begin + first], starts[pieces.end + first]


def decode_document(document: bytes) -> tuple[str, bool]:
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


def _joined(rows: StructureRows, row: int, contents: pa.Table, begin: Int64, end: Int64) -> bytes:
    """Return the words of a row joined by a space, and note in `begin` and `end` where each stands."""
    first, last = rows.occurrence_offsets[row : row + 2]
    words = contents.column("lexical").take(pa.array(rows.tau[first:last])).to_pylist()
    places = offsets_of(np.fromiter((len(word) + 1 for word in words), np.int64, len(words)))
    begin[first:last] = places[:-1]
    end[first:last] = places[1:] - 1
    return b" ".join(words)
