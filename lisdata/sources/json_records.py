"""Documents of JSON to trees: scanned into tokens, whose texts become contents a column at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.content_columns import ContentColumns
from lisdata.contents import LabelBuilder
from lisdata.errors import BadRecordError, Place
from lisdata.inputs import InputFile, InputSlice
from lisdata.kernels.arrays import binary_array
from lisdata.kernels.json_lexemes import JsonFault, JsonToken
from lisdata.kernels.json_scan import JsonTokens, scan_json, take_texts
from lisdata.records import ParsedDocument, TreeRecords
from lisdata.registry import Reject
from lisdata.schema import NO_ROW, ContentKind
from lisdata.sources.lines import LineBlocks, LineLimit, line_bounds, too_long
from lisdata.sources.whole_documents import read_document

UInt8 = npt.NDArray[np.uint8]
UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]

CONTAINERS = ("object", "array")
DATATYPE = "json"
_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"
_NEWLINE = 0x0A
_SHOWN_BYTES = 20
_EXPECTED = {
    JsonFault.VALUE: "a value",
    JsonFault.ITEM_OR_END: "a value or ]",
    JsonFault.KEY_OR_END: "the name of a member, in double quotes, or }",
    JsonFault.KEY: "the name of a member, in double quotes",
    JsonFault.COLON: ": after the name of a member",
    JsonFault.COMMA_OR_BRACKET: ", or ]",
    JsonFault.COMMA_OR_BRACE: ", or }",
    JsonFault.END: "nothing after the value",
    JsonFault.QUOTE: "a double quote that ends the string",
    JsonFault.NO_CONTROL: "a control character to be written as an escape",
    JsonFault.ESCAPE: 'one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u',
    JsonFault.HEX: "\\u with four hexadecimal digits",
    JsonFault.DIGIT: "a digit",
}
_KINDS = (
    (ContentKind.JSON_STR, (JsonToken.STRING, JsonToken.KEY)),
    (ContentKind.JSON_INT, (JsonToken.INTEGER,)),
    (ContentKind.NUMBER, (JsonToken.NUMBER,)),
    (ContentKind.BOOL, (JsonToken.TRUE, JsonToken.FALSE)),
    (ContentKind.NULL, (JsonToken.NULL,)),
)


class _DocumentError(ValueError):
    """Bytes [begin, end) of a block are no document; `at` is where."""

    def __init__(self, begin: int, end: int, at: int, expected: str, found: str) -> None:
        self.begin, self.end, self.at, self.expected, self.found = begin, end, at, expected, found
        super().__init__(expected)

    def to_error(self, offset: int, place: Callable[[int], Place], data: bytes | None) -> BadRecordError:
        return BadRecordError(
            place(offset + self.at),
            expected=self.expected,
            found=self.found,
            begin=offset + self.begin,
            end=offset + self.end,
            data=data,
        )


def read_checked(piece: InputSlice, reject: Reject, limit: int) -> bytes | None:
    """Return a slice that is one document, of at most `limit` bytes; None, and it is rejected, where it is none."""
    data = read_document(piece, limit, reject)
    if data is None:
        return None
    faults = _Block(data, np.array([0, len(data)], np.int64), piece.begin, has_lines=False).faults
    for fault in faults:
        reject(fault.to_error(piece.begin, piece.place, None))
    return None if faults else data


def documents_to_records(documents: list[ParsedDocument]) -> TreeRecords:
    """Return the trees of documents that `read_checked` gave, each a file of its own."""
    bounds = np.cumsum([0, *(document.size for document in documents)], dtype=np.int64)
    block = _Block(b"".join([document.parsed for document in documents]), bounds, 0, has_lines=False)
    files = tuple(document.file for document in documents)
    records = block.to_records(files[0], keep_document=documents[0].data is not None)
    return replace(records, files=files, begin=np.zeros(len(files), np.uint64), end=np.diff(bounds).astype(np.uint64))


def read_lines(piece: InputSlice, reject: Reject, limit: int, *, keep_document: bool) -> Iterator[TreeRecords]:
    """Yield the trees of a slice, each line of which is a document of at most `limit` bytes."""
    blocks = LineBlocks(piece, limit=LineLimit(unit="document", max_bytes=limit, reject=reject))
    for offset, data in blocks:
        bounds = line_bounds(data)
        for line in np.flatnonzero(np.diff(bounds) > limit).tolist():
            begin, end = bounds[line : line + 2].tolist()
            reject(too_long(blocks, offset + begin, end - begin, "document", limit))
        block = _Block(data, bounds, offset, has_lines=True, limit=limit)
        for fault in block.faults:
            reject(fault.to_error(offset, blocks.place, data[fault.begin : fault.end]))
        if block.num_good:
            yield block.to_records(piece.file, keep_document=keep_document)


class _Block:
    """The documents data[bounds[d] : bounds[d + 1]] of a file, scanned; byte 0 is byte `offset` of the file.

    Documents above `limit` are neither good nor among the faults.
    """

    def __init__(self, data: bytes, bounds: Int64, offset: int, *, has_lines: bool, limit: int | None = None) -> None:
        self._data, self._units, self._bounds, self._offset = data, np.frombuffer(data, np.uint8), bounds, offset
        self._end_name = "line" if has_lines else "file"
        first, last = bounds[:-1].copy(), bounds[1:].copy()
        is_long = np.zeros(len(first), bool) if limit is None else last - first > limit
        if has_lines and len(last):
            last -= self._units[last - 1] == _NEWLINE
        if not has_lines:
            first += [len(_BOM) * data.startswith(_BOM, begin) for begin in first.tolist()]
        elif offset == 0 and data.startswith(_BOM):
            first[0] = len(_BOM)
        damaged = self._find_damaged(first, last)
        for document in (*damaged, *np.flatnonzero(is_long).tolist()):
            last[document] = first[document]
        self.tokens = scan_json(self._units, first, last)
        self._is_good = self.tokens.fault == JsonFault.NONE
        self.faults: list[_DocumentError] = []
        for document in np.flatnonzero(~self._is_good & ~is_long).tolist():
            if document in damaged:
                self.faults.append(damaged[document])
            elif has_lines and not data[first[document] : last[document]].strip(_SPACE):
                self._is_good[document] = True  # a line without a document is an empty tree
            else:
                self.faults.append(self._fault(document, int(last[document])))

    @property
    def num_good(self) -> int:
        """Documents that are JSON."""
        return int(np.count_nonzero(self._is_good))

    def _find_damaged(self, first: Int64, last: Int64) -> dict[int, _DocumentError]:
        """Return what is wrong with the documents that are not in UTF-8."""
        found: dict[int, _DocumentError] = {}
        if _is_utf8(self._data):
            return found
        for document, (begin, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
            try:
                self._data[begin:end].decode()
            except UnicodeDecodeError as error:
                shown = f"byte 0x{self._data[begin + error.start]:02x} ({error.reason})"
                found[document] = self._fault_at(document, begin + error.start, "UTF-8", shown)
        return found

    def _fault(self, document: int, end: int) -> _DocumentError:
        at = int(self.tokens.fault_at[document])
        shown = self._data[at : min(at + _SHOWN_BYTES, end)].decode(errors="ignore")
        found = json.dumps(shown, ensure_ascii=False) if at < end else f"the end of the {self._end_name}"
        return self._fault_at(document, at, _EXPECTED[JsonFault(self.tokens.fault[document])], found)

    def _fault_at(self, document: int, at: int, expected: str, found: str) -> _DocumentError:
        begin, end = self._bounds[document : document + 2].tolist()
        return _DocumentError(begin, end, at, expected, found)

    def to_records(self, file: InputFile, *, keep_document: bool) -> TreeRecords:
        """Return the trees of the good documents, in order."""
        good, tokens = self._is_good, self.tokens
        labels = LabelBuilder()
        contents = ContentColumns(labels)
        table, content = _add_contents(contents, self._units, tokens)
        is_node = tokens.kind != JsonToken.KEY
        number = np.cumsum(is_node) - is_node
        offsets = np.append(number, np.count_nonzero(is_node))[tokens.offsets]  # no document ends in a key
        node = np.flatnonzero(is_node)
        parent = tokens.parent[node].astype(np.int64)
        first = np.repeat(offsets[:-1], np.diff(offsets))
        before = np.maximum(node - 1, 0)
        documents = binary_array(self._bounds, self._units, pa.large_binary()).filter(pa.array(good))
        num_good = self.num_good
        return TreeRecords(
            file=file,
            label="json",
            documents=documents if keep_document else pa.nulls(num_good, pa.large_binary()),
            begin=(self._bounds[:-1][good] + self._offset).astype(np.uint64),
            end=(self._bounds[1:][good] + self._offset).astype(np.uint64),
            contents=table,
            labels=labels.to_arrow(),
            node_offsets=np.append(offsets[:-1][good], offsets[-1]),
            node_parent=np.where(parent < 0, -1, number[parent] - first),
            node_content=content[node],
            node_span_begin=None,
            node_span_end=None,
            attribute_offsets=np.zeros(len(node) + 1, np.int64),
            attribute_role=np.empty(0, np.uint32),
            attribute_content=np.empty(0, np.uint32),
            node_key=np.where(is_node[before], np.uint32(NO_ROW), content[before]),
        )


def _add_contents(contents: ContentColumns, data: UInt8, tokens: JsonTokens) -> tuple[pa.RecordBatch, UInt32]:
    """Return the distinct contents, and the row of each token's."""
    columns: list[tuple[int, Int64]] = []
    for kind, names in _KINDS:
        rows = np.flatnonzero(np.isin(tokens.kind, names))
        if len(rows):
            texts = take_texts(data, tokens, rows, quoted=kind == ContentKind.JSON_STR)
            columns.append((contents.add(kind, texts), rows))
    rows = np.flatnonzero(tokens.kind <= JsonToken.ARRAY)
    if len(rows):
        texts = pa.array(CONTAINERS, pa.large_string()).take(pa.array(tokens.kind[rows]))
        columns.append((contents.add(ContentKind.NAME, texts, datatype=DATATYPE), rows))
    table, numbers = contents.finish()
    content = np.empty(len(tokens.kind), np.uint32)
    for column, rows in columns:
        content[rows] = numbers[column]
    return table, content


def _is_utf8(data: bytes) -> bool:
    """Tell whether bytes are UTF-8, without a copy where all are ASCII."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
