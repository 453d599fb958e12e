"""HTML: the HTML5 tree of each document (selectolax, lexbor), and the document's own bytes."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.content_columns import ContentColumns
from lisdata.contents import LabelBuilder, Role
from lisdata.errors import BadRecordError, Place
from lisdata.inputs import InputFile, InputSlice
from lisdata.records import TreeRecords
from lisdata.registry import Reject
from lisdata.schema import ContentKind
from lisdata.sources.dom import Dom, NodeKind, parse_html

# What the HTML standard reads these names as.
_WINDOWS_1252 = ("ascii", "us-ascii", "latin1", "latin-1", "iso-8859-1", "windows-1252")
_DATATYPES = {NodeKind.COMMENT: "comment", NodeKind.DOCTYPE: "doctype", NodeKind.INSTRUCTION: "instruction"}
_MAX_BYTES = 2_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlOptions:
    """Options of source html."""

    encoding: str | None = field(
        default=None, metadata={"help": "Encoding of all documents; by default each one's own mark, <meta> or UTF-8."}
    )
    keep_document: bool = field(default=True, metadata={"help": "Keep the bytes of each document beside its tree."})

    def __post_init__(self) -> None:
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(f"unknown encoding {self.encoding!r}") from None


@dataclass(frozen=True, slots=True)
class HtmlSource:
    """Reads a file as one document; every byte sequence is HTML, so none is a bad record (but one above 2 GB)."""

    name: str = "html"
    summary: str = "HTML documents: the HTML5 tree with attributes, comments and template contents"
    suffixes: tuple[str, ...] = (".html", ".htm", ".xhtml")
    converter: str = "trees"
    exporter: str = "html"
    splits: bool = False
    options_type: type[HtmlOptions] = HtmlOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: HtmlOptions) -> int:
        """Raise ValueError: a document is never cut."""
        raise ValueError(f"a document is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: HtmlOptions, reject: Reject) -> Iterator[TreeRecords]:
        """Yield the tree of `piece`."""
        data = piece.read()
        if len(data) > _MAX_BYTES:
            place = Place(piece.file.name, offset=_MAX_BYTES)
            expected, found = f"a document of at most {_MAX_BYTES} bytes", f"{len(data)} bytes"
            reject(BadRecordError(place, expected=expected, found=found, begin=0, end=len(data)))
            return
        encoding = "cp1252" if (options.encoding or "").lower() in _WINDOWS_1252 else options.encoding
        document = data if options.keep_document else None
        yield dom_to_records(parse_html(data, encoding), piece.file, len(data), document)


def dom_to_records(dom: Dom, file: InputFile, size: int, document: bytes | None) -> TreeRecords:
    """Return the tree as records.

    An attribute is one row, role node#attr:<name>; where the name holds '#' it is two rows, node#attr.name and
    node#attr.value.
    """
    labels = LabelBuilder()
    contents = ContentColumns(labels)
    nodes = _add_nodes(contents, dom)
    offsets, roles, names, values = _flatten_attributes(dom, labels)
    is_name = np.array([name is not None for name in names], bool)
    name_column = contents.add(ContentKind.NAME, pa.array(names, pa.large_string()), datatype="attribute")
    value_column = contents.add(ContentKind.TEXT, pa.array(values, pa.large_string()))
    table, rows_of = contents.finish()
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
        attribute_offsets=offsets,
        attribute_role=np.array(roles, np.uint32),
        attribute_content=np.where(is_name, rows_of[name_column], rows_of[value_column]),
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


def _flatten_attributes(
    dom: Dom, labels: LabelBuilder
) -> tuple[npt.NDArray[np.int64], list[int], list[str | None], list[str | None]]:
    """Return (offsets of each node's rows, role of each row, its name or None, its value or None)."""
    counts = np.zeros(len(dom) + 1, np.int64)
    roles: list[int] = []
    names: list[str | None] = []
    values: list[str | None] = []
    codes: dict[str, int] = {}
    for number, attributes in dom.attributes.items():
        first = len(roles)
        for name, value in attributes:
            if "#" in name:
                roles += [labels.role(Role("node", "attr.name")), labels.role(Role("node", "attr.value"))]
                names += [name, None]
                values += [None, value]
                continue
            if name not in codes:
                codes[name] = labels.role(Role("node", f"attr:{name}"))
            roles.append(codes[name])
            names.append(None)
            values.append(value)
        counts[number + 1] = len(roles) - first
    return np.cumsum(counts), roles, names, values


HTML = HtmlSource()
