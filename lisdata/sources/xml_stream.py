"""Long XML documents, read piece by piece: a tree for each record element, the markup around them kept as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice
from lisdata.records import TreeRecords
from lisdata.registry import Reject
from lisdata.sources.xml_records import XmlPiece, pieces_to_records
from lisdata.sources.xml_text import XmlError, encoding_of
from lisdata.sources.xml_tree import XmlKind, XmlReader, XmlTree

_CHUNK_BYTES = 1 << 20
_BATCH_BYTES = 4 << 20
_MARK = b"\xef\xbb\xbf"


class _RecordReader(XmlReader):
    """Takes each outermost element called `tag` out of the tree, with what stands between it and the one before.

    Each tag in that, with what stands before it, is a piece of its own: whichever records are taken, a document has to
    have all of them.
    """

    def __init__(self, tag: str, mark: bytes, *, keep_document: bool) -> None:
        super().__init__()
        self.pieces: list[XmlPiece] = []
        self.last_end = 0  # of the records taken so far
        self.has_records = False
        self.tag, self.mark, self._keeps = tag, mark, keep_document
        self._begin = self._depth = -1
        self._tag_ends: list[int] = []  # of those behind the last piece

    def file_offset(self, at: int) -> int:
        """Return the byte of the file that byte `at` of the document is."""
        return len(self.mark) + at

    def opened(self, number: int, name: str) -> None:
        """Begin a record, as the root of a tree of its own."""
        if self._begin >= 0:
            return
        if name != self.tag:
            self._tag_ends.append(self.tag_end())
            return
        self._begin, self._depth = self.at, len(self._open)
        outer, tree = self.tree, XmlTree([XmlKind.ELEMENT], [self.tree.names[number]], [-1])
        for of_record, of_outer in ((tree.spaces, outer.spaces), (tree.prefixes, outer.prefixes)):
            if number in of_outer:
                of_record[0] = of_outer[number]
        if number in outer.attributes:
            tree.attributes[0] = outer.attributes[number]
        self.tree, self._open[-1] = tree, 0

    def closed(self, number: int) -> None:
        """Take the record that is complete."""
        if self._begin < 0:
            if self._bytes(self.at - 2, self.at) != b"/>":  # else `at` is behind a tag that was noted when opened
                self._tag_ends.append(self._end_tag_end())
            return
        if len(self._open) >= self._depth:
            return
        at = self.at
        if len(self.tree) > 1 or not self._bytes(self._begin, at).endswith(b"/>"):  # else `at` is behind the tag
            at = self._end_tag_end()
        self._take(self.tree, self._begin, at)
        self.tree, self._begin = XmlTree(), -1
        self.has_records = True

    def _end_tag_end(self) -> int:
        return self.buffer.index(b">", self.at - self.buffer_at) + self.buffer_at + 1

    def _take(self, tree: XmlTree, begin: int, end: int) -> None:
        self._take_markup()
        before = self._bytes(self.last_end, begin)
        self.pieces.append(
            XmlPiece(
                tree=tree,
                begin=self.file_offset(begin),
                end=self.file_offset(end),
                document=self._bytes(begin, end) if self._keeps else None,
                before=before if self.last_end else self.mark + before,
            )
        )
        self.last_end = end

    def _take_markup(self) -> None:
        """Take the tags behind the last record, each with what stands before it, as trees of one node."""
        for end in self._tag_ends:
            data = self._bytes(self.last_end, end)
            data = data if self.last_end else self.mark + data
            self.pieces.append(
                XmlPiece(
                    tree=XmlTree([XmlKind.MARKUP], [data.decode()], [-1]),
                    begin=self.file_offset(end) - len(data),
                    end=self.file_offset(end),
                    document=data if self._keeps else None,
                )
            )
            self.last_end = end
        self._tag_ends = []

    def take_rest(self) -> None:
        """Take what stands behind the last record; the last tag with all behind it."""
        end = self.buffer_at + len(self.buffer)
        if end > self.last_end:
            self._tag_ends[-1:] = [end]
            self._take_markup()

    def trim(self) -> None:
        """Forget the bytes of the records that were taken."""
        self.buffer = self.buffer[self.last_end - self.buffer_at :]
        self.buffer_at = self.last_end


def read_stream(
    piece: InputSlice, tag: str, reject: Reject, limit: int, *, keep_document: bool
) -> Iterator[TreeRecords]:
    """Yield the records of a document in UTF-8, and the markup around them.

    What is behind the last whole record is rejected where the document stops being well-formed, where it has no record,
    and where a record with the markup before it has more than `limit` bytes.
    """
    with piece.file.open() as stream:
        head = stream.read(_CHUNK_BYTES)
        reader = _RecordReader(tag, _MARK if head.startswith(_MARK) else b"", keep_document=keep_document)
        error = None
        try:
            _refuse_other_encodings(head)
            yield from _read_all(reader, stream, head, piece, limit)
        except XmlError as found:
            error = found
        if reader.pieces:
            yield pieces_to_records(reader.pieces, piece.file)
        if error is None:
            return
        while stream.read(_CHUNK_BYTES):
            pass
        end = stream.tell()
    begin = reader.file_offset(reader.last_end) if reader.last_end else 0
    place = piece.place(reader.file_offset(error.at))
    reject(BadRecordError(place, expected=error.expected, found=error.found, begin=begin, end=end))


def _read_all(
    reader: _RecordReader, stream: BinaryIO, head: bytes, piece: InputSlice, limit: int
) -> Iterator[TreeRecords]:
    """Yield the records of whole batches and leave the last ones in the reader; XmlError for a wrong document."""
    data = head[len(reader.mark) :]
    while data:
        reader.feed(data, final=False)
        if sum(p.end - p.begin for p in reader.pieces) >= _BATCH_BYTES:
            yield pieces_to_records(reader.pieces, piece.file)
            reader.pieces = []
        reader.trim()
        size = len(reader.buffer)
        if size > limit:
            expected = f"a <{reader.tag}>, and what stands before it, of at most {limit} bytes (max_document_bytes)"
            raise XmlError(reader.last_end, expected, f"{size} bytes")
        # A long record is not copied for each short chunk, and no more is held than allowed.
        data = stream.read(max(1, min(max(_CHUNK_BYTES, size), limit - size)))
    reader.feed(b"", final=True)
    if not reader.has_records:
        raise XmlError(0, f"an element <{reader.tag}>", "none")
    reader.take_rest()


def _refuse_other_encodings(head: bytes) -> None:
    """Raise XmlError for a document that begins with `head` and is not in UTF-8."""
    _, encoding = encoding_of(head[:1024])
    if encoding != "utf-8":
        raise XmlError(0, "a document in UTF-8, to be read piece by piece", encoding.upper())
