"""HTML: the HTML5 tree of each document (selectolax, lexbor), and the document's own bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.content_columns import ContentColumns
from lisdata.contents import LabelBuilder, Role
from lisdata.errors import BadRecordError, Place
from lisdata.inputs import InputFile, InputSlice
from lisdata.records import ParsedDocument, TreeRecords
from lisdata.registry import Reject
from lisdata.schema import ContentKind
from lisdata.sources.dom import NodeKind
from lisdata.sources.dom_columns import DomColumns
from lisdata.sources.html_depth import find_too_deep, find_too_many_reopened
from lisdata.sources.html_encoding import decode_html, html_to_utf8
from lisdata.sources.html_formatting import is_light, is_small, max_reopened, weighs_too_much
from lisdata.sources.html_lists import MAX_ITEMS, find_long_list, may_have_long_list
from lisdata.sources.lexbor import parse_columns
from lisdata.sources.whole_documents import read_document

_DATATYPES = {NodeKind.COMMENT: "comment", NodeKind.DOCTYPE: "doctype", NodeKind.INSTRUCTION: "instruction"}
_MAX_BYTES = 2_000_000_000  # that the parser can take


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlOptions:
    """Options of source html."""

    encoding: str | None = field(
        default=None, metadata={"help": "Encoding of all documents; by default each one's own mark, <meta> or UTF-8."}
    )
    keep_document: bool = field(default=True, metadata={"help": "Keep the bytes of each document beside its tree."})
    max_document_bytes: int = field(
        default=256 << 20, metadata={"help": "Refuse a longer document: its tree takes many times its bytes."}
    )

    max_depth: int = field(
        default=20_000,
        metadata={"help": "Refuse a document with more elements open at once: it takes time by the square of that."},
    )

    def __post_init__(self) -> None:
        if self.max_depth < 1:
            raise ValueError(f"expected a depth of at least 1, got {self.max_depth=}")
        if not 1 <= self.max_document_bytes <= _MAX_BYTES:
            raise ValueError(f"expected a limit of 1 to {_MAX_BYTES} bytes, got {self.max_document_bytes=}")
        if self.encoding is not None:
            decode_html(b"", self.encoding)


@dataclass(frozen=True, slots=True)
class HtmlSource:
    """Reads a file as one document; every byte sequence is HTML: only one that is too long or deep is a bad record."""

    name: str = "html"
    summary: str = "HTML documents: the HTML5 tree with attributes, comments and template contents"
    suffixes: tuple[str, ...] = (".html", ".htm")
    converter: str = "trees"
    exporter: str = "html"
    splits: bool = False
    options_type: type[HtmlOptions] = HtmlOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: HtmlOptions) -> int:
        """Raise ValueError: a document is never cut."""
        raise ValueError(f"a document is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: HtmlOptions, reject: Reject) -> Iterator[TreeRecords]:
        """Yield the tree of `piece`."""
        document = self.read_document(piece, options, reject)
        if document is not None:
            yield from self.to_records([document])

    def is_document(self, file: InputFile, options: HtmlOptions) -> bool:
        """Return True: a file is one document."""
        return True

    def read_document(self, piece: InputSlice, options: HtmlOptions, reject: Reject) -> ParsedDocument | None:
        """Return the document with its tree; None, and it is rejected, when it is too long or its tree too large."""
        data = read_document(piece, options.max_document_bytes, reject)
        if data is None:
            return None
        utf8 = html_to_utf8(data, options.encoding)
        if _reject_costly(piece, data, utf8, options, reject):
            return None
        kept = data if options.keep_document else None
        return ParsedDocument(file=piece.file, size=len(data), data=kept, parsed=parse_columns(utf8))

    def to_records(self, documents: list[ParsedDocument]) -> Iterator[TreeRecords]:
        """Yield the trees of documents together."""
        yield doms_to_records(documents)


def _reject_costly(piece: InputSlice, data: bytes, utf8: bytes, options: HtmlOptions, reject: Reject) -> bool:
    """Reject a document whose tree would be too deep or too large for its tags, and tell whether it is one."""
    from lisdata.kernels.html_tags import weigh_tags  # compiled on import

    num_tags = int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("<")))
    if len(data) <= MAX_ITEMS and num_tags <= options.max_depth and is_small(num_tags, len(data)):
        return False
    weights = weigh_tags(utf8)
    if num_tags <= options.max_depth and not may_have_long_list(weights) and is_light(weights, num_tags):
        return False
    text = utf8.decode()
    expected, found = f"at most {options.max_depth} elements open at once (--max-depth)", "one more"
    at = find_too_deep(text, options.max_depth) if num_tags > options.max_depth else None
    long_list = find_long_list(text) if at is None and may_have_long_list(weights) else None
    if long_list is not None:
        at, items = long_list
        expected = f"at most {MAX_ITEMS} {items}"
    if at is None and weighs_too_much(weights, num_tags, text):
        at = find_too_many_reopened(text)
        expected = "an end tag for each <b>, <font> and the like"
        found = f"so many left open that the blocks behind may get {max_reopened(text)} more"
    if at is None:
        return False
    place = Place(piece.file.name, line=text.count("\n", 0, at) + 1, column=at - text.rfind("\n", 0, at))
    reject(BadRecordError(place, expected=expected, found=found, begin=piece.begin, end=piece.begin + len(data)))
    return True


def doms_to_records(documents: list[ParsedDocument]) -> TreeRecords:
    """Return the trees of documents as records.

    An attribute is one row, role node#attr:<name>; where the name holds '#' it is two rows, node#attr.name and
    node#attr.value.
    """
    doms: list[DomColumns] = [document.parsed for document in documents]
    dom = DomColumns.joined(doms)
    labels = LabelBuilder()
    contents = ContentColumns(labels)
    nodes = _add_nodes(contents, dom)
    rows = _flatten_attributes(dom, labels)
    values = contents.add(ContentKind.TEXT, dom.attribute_values)
    names = contents.add(ContentKind.NAME, rows.names, datatype="attribute")
    table, rows_of = contents.finish()
    attribute_content = np.empty(len(rows.roles), np.uint32)
    attribute_content[rows.of_values], attribute_content[rows.of_names] = rows_of[values], rows_of[names]
    node_content = np.empty(len(dom), np.uint32)
    for column, where in nodes:
        node_content[where] = rows_of[column]
    return TreeRecords(
        file=documents[0].file,
        files=tuple(document.file for document in documents),
        label="html",
        documents=pa.array([document.data for document in documents], pa.large_binary()),
        begin=np.zeros(len(documents), np.uint64),
        end=np.array([document.size for document in documents], np.uint64),
        contents=table,
        labels=labels.to_arrow(),
        node_offsets=np.cumsum([0, *map(len, doms)], dtype=np.int64),
        node_parent=dom.parents,
        node_content=node_content,
        node_span_begin=None,
        node_span_end=None,
        attribute_offsets=rows.offsets,
        attribute_role=rows.roles,
        attribute_content=attribute_content,
    )


def _add_nodes(contents: ContentColumns, dom: DomColumns) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """Add the contents of nodes; return (column, numbers of its nodes) for each kind of node and namespace."""
    kinds = dom.kinds
    is_foreign = np.zeros(len(dom), bool)
    is_foreign[list(dom.foreign)] = True
    groups: list[tuple[ContentKind, str | None, npt.NDArray[np.int64]]] = []
    for space in sorted(set(dom.foreign.values())):
        where = np.array([number for number, found in dom.foreign.items() if found == space], np.int64)
        groups.append((ContentKind.NAME, space, where))
    groups.append((ContentKind.NAME, None, np.flatnonzero((kinds == NodeKind.ELEMENT) & ~is_foreign)))
    for kind in (NodeKind.TEXT, *_DATATYPES):
        groups.append((ContentKind.TEXT, _DATATYPES.get(kind), np.flatnonzero(kinds == kind)))
    return [
        (contents.add(kind, dom.names.take(pa.array(where)), datatype=datatype), where)
        for kind, datatype, where in groups
        if len(where)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _AttributeRows:
    """Attributes one after another: `offsets` of each node's rows, and the role of each row.

    Rows `of_values` hold the attributes' values, rows `of_names` the `names` of those whose values are the next rows.
    """

    offsets: npt.NDArray[np.int64]
    roles: npt.NDArray[np.uint32]
    of_values: npt.NDArray[np.int64]
    of_names: npt.NDArray[np.int64]
    names: pa.LargeBinaryArray


def _flatten_attributes(dom: DomColumns, labels: LabelBuilder) -> _AttributeRows:
    from lisdata.kernels.text_table import number_texts  # compiled on import

    distinct, (numbers,) = number_texts([dom.attribute_names])
    codes = np.zeros((len(distinct), 2), np.uint32)  # roles of name and value; of values alone where names hold no '#'
    is_named = np.zeros(len(distinct), np.bool_)
    for number, name in enumerate(distinct.cast(pa.large_string()).to_pylist()):
        sides = ("attr.name", "attr.value") if "#" in name else (f"attr:{name}",)
        is_named[number] = len(sides) > 1
        codes[number, -len(sides) :] = [labels.role(Role("node", side)) for side in sides]
    named = np.flatnonzero(is_named[numbers])
    of_values = np.arange(len(numbers)) + np.cumsum(is_named[numbers])
    roles = np.empty(len(numbers) + len(named), np.uint32)
    roles[of_values], roles[of_values[named] - 1] = codes[numbers, 1], codes[numbers[named], 0]
    return _AttributeRows(
        offsets=dom.attribute_offsets + np.concatenate(([0], np.cumsum(is_named[numbers])))[dom.attribute_offsets],
        roles=roles,
        of_values=of_values,
        of_names=of_values[named] - 1,
        names=dom.attribute_names.take(pa.array(named)),
    )


HTML = HtmlSource()
