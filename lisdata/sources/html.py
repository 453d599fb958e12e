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
from lisdata.sources.dom import Dom, NodeKind, parse_text
from lisdata.sources.html_depth import find_too_deep, find_too_many_reopened
from lisdata.sources.html_encoding import decode_html
from lisdata.sources.html_formatting import is_small, max_reopened, weighs_too_much
from lisdata.sources.html_lists import MAX_ITEMS, find_long_list, may_have_long_list
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
        text = decode_html(data, options.encoding)
        if _reject_costly(piece, data, text, options, reject):
            return None
        dom = parse_text(text)
        return ParsedDocument(file=piece.file, size=len(data), data=data if options.keep_document else None, parsed=dom)

    def to_records(self, documents: list[ParsedDocument]) -> Iterator[TreeRecords]:
        """Yield the trees of documents together."""
        yield doms_to_records(documents)


def _reject_costly(piece: InputSlice, data: bytes, text: str, options: HtmlOptions, reject: Reject) -> bool:
    """Reject a document whose tree would be too deep or too large for its tags, and tell whether it is one."""
    from lisdata.kernels.html_tags import weigh_tags  # compiled on import

    num_tags = data.count(b"<")
    if len(data) <= MAX_ITEMS and num_tags <= options.max_depth and is_small(num_tags, len(data)):
        return False
    weights = weigh_tags(text.encode("utf-8", "surrogatepass"))
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
    doms: list[Dom] = [document.parsed for document in documents]
    dom = doms[0] if len(doms) == 1 else Dom.joined(doms)
    labels = LabelBuilder()
    contents = ContentColumns(labels)
    nodes = _add_nodes(contents, dom)
    rows = _flatten_attributes(dom, labels)
    values = contents.add(ContentKind.TEXT, pa.array(rows.values, pa.large_string()))
    names = contents.add(ContentKind.NAME, pa.array(list(rows.names.values()), pa.large_string()), datatype="attribute")
    table, rows_of = contents.finish()
    attribute_content = rows_of[values]
    attribute_content[list(rows.names)] = rows_of[names]
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
        node_parent=np.array(dom.parents, np.int64),
        node_content=node_content,
        node_span_begin=None,
        node_span_end=None,
        attribute_offsets=rows.offsets,
        attribute_role=np.array(rows.roles, np.uint32),
        attribute_content=attribute_content,
    )


def _add_nodes(contents: ContentColumns, dom: Dom) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """Add the contents of nodes; return (column, numbers of its nodes) for each kind of node and namespace."""
    kinds = np.array(dom.kinds, np.int64)
    names = pa.array(dom.names, pa.large_string())
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
        (contents.add(kind, names.take(pa.array(where)), datatype=datatype), where)
        for kind, datatype, where in groups
        if len(where)
    ]


@dataclass(slots=True)
class _AttributeRows:
    """Attributes one after another: `offsets` of each node's rows, and of each row its role and its value.

    The rows in `names` hold a name instead of a value: that of the attribute whose value is the next row.
    """

    offsets: npt.NDArray[np.int64]
    roles: list[int] = field(default_factory=list)
    values: list[str | None] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)


def _flatten_attributes(dom: Dom, labels: LabelBuilder) -> _AttributeRows:
    rows = _AttributeRows(np.zeros(len(dom) + 1, np.int64))
    roles, values, offsets = rows.roles, rows.values, rows.offsets
    codes: dict[str, int] = {}
    for number, attributes in dom.attributes.items():
        first = len(roles)
        for name, value in attributes:
            code = codes.get(name)
            if code is None and "#" in name:
                rows.names[len(roles)] = name
                roles.append(labels.role(Role("node", "attr.name")))
                values.append(None)
                code = labels.role(Role("node", "attr.value"))
            elif code is None:
                code = codes[name] = labels.role(Role("node", f"attr:{name}"))
            roles.append(code)
            values.append(value)
        offsets[number + 1] = len(roles) - first
    np.cumsum(offsets, out=offsets)
    return rows


HTML = HtmlSource()
