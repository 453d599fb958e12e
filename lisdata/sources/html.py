"""HTML: the HTML5 tree of each document (selectolax, lexbor), and the document's own bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.content_columns import ContentColumns
from lisdata.contents import LabelBuilder, Role
from lisdata.inputs import InputFile, InputSlice
from lisdata.records import TreeRecords
from lisdata.registry import Reject
from lisdata.schema import ContentKind
from lisdata.sources.dom import Dom, NodeKind, parse_html
from lisdata.sources.html_encoding import decode_html
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

    def __post_init__(self) -> None:
        if not 1 <= self.max_document_bytes <= _MAX_BYTES:
            raise ValueError(f"expected a limit of 1 to {_MAX_BYTES} bytes, got {self.max_document_bytes=}")
        if self.encoding is not None:
            decode_html(b"", self.encoding)


@dataclass(frozen=True, slots=True)
class HtmlSource:
    """Reads a file as one document; every byte sequence is HTML, so only one that is too long is a bad record."""

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
        data = read_document(piece, options.max_document_bytes, reject)
        if data is None:
            return
        document = data if options.keep_document else None
        yield dom_to_records(parse_html(data, options.encoding), piece.file, len(data), document)


def dom_to_records(dom: Dom, file: InputFile, size: int, document: bytes | None) -> TreeRecords:
    """Return the tree as records.

    An attribute is one row, role node#attr:<name>; where the name holds '#' it is two rows, node#attr.name and
    node#attr.value.
    """
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
        file=file,
        label="html",
        documents=pa.array([document], pa.large_binary()),
        begin=np.zeros(1, np.uint64),
        end=np.full(1, size, np.uint64),
        contents=table,
        labels=labels.to_arrow(),
        node_offsets=np.array([0, len(dom)], np.int64),
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
