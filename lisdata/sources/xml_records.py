"""XML trees as records: names, texts and attributes' values become contents a column at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.content_columns import ContentColumns
from lisdata.contents import LabelBuilder, Role
from lisdata.inputs import InputFile
from lisdata.records import TreeRecords
from lisdata.schema import ContentKind
from lisdata.sources.xml_tree import XmlKind, XmlTree

UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]

PREFIX, BEFORE, MARKUP = "prefix", "before", "markup"
DATATYPES = {
    XmlKind.TEXT: None,
    XmlKind.CDATA: "cdata",
    XmlKind.COMMENT: "comment",
    XmlKind.INSTRUCTION: "instruction",
    XmlKind.DOCTYPE: "doctype",
    XmlKind.DECLARATION: "declaration",
    XmlKind.MARKUP: MARKUP,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class XmlPiece:
    """A tree, the bytes [begin, end) of the file that it comes from, those bytes where they are kept.

    `before` is the markup of the file between the piece before this one and this one, where a file has several.
    """

    tree: XmlTree
    begin: int
    end: int
    document: bytes | None
    before: bytes = b""


@dataclass(slots=True)
class _AttributeRows:
    """Rows of roles and values, one after another; `kind` says which column of contents a row's value is in."""

    counts: list[int] = field(default_factory=list)
    roles: list[int] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    values: list[str] = field(default_factory=list)


_VALUE, _PREFIX, _BEFORE = range(3)
_ROW_KINDS = ((ContentKind.TEXT, None), (ContentKind.NAME, PREFIX), (ContentKind.BYTES, MARKUP))


def pieces_to_records(pieces: list[XmlPiece], file: InputFile) -> TreeRecords:
    """Return a tree a piece.

    An element is its local name, with its namespace as the datatype, and has attributes' values in roles
    node#attr:NAME, the name as written; before them node#prefix where it is written with one, and on the first node of
    a piece node#before, the markup in front of it.
    """
    labels = LabelBuilder()
    contents = ContentColumns(labels)
    offsets = np.cumsum([0, *(len(piece.tree) for piece in pieces)])
    nodes = _add_nodes(contents, pieces, offsets)
    rows = _flatten_attributes(pieces, labels)
    kinds = np.array(rows.kinds, np.int64)
    values = pa.array(rows.values, pa.large_string())
    columns = list(nodes)
    for code, (kind, datatype) in enumerate(_ROW_KINDS):
        where = np.flatnonzero(kinds == code)
        if len(where):
            column = contents.add(kind, values.take(pa.array(where)), datatype=datatype)
            columns.append((column, where + offsets[-1]))
    table, numbers = contents.finish()
    content = np.empty(offsets[-1] + len(kinds), np.uint32)
    for column, where in columns:
        content[where] = numbers[column]
    return TreeRecords(
        file=file,
        label="xml",
        documents=pa.array([piece.document for piece in pieces], pa.large_binary()),
        begin=np.array([piece.begin for piece in pieces], np.uint64),
        end=np.array([piece.end for piece in pieces], np.uint64),
        contents=table,
        labels=labels.to_arrow(),
        node_offsets=offsets,
        node_parent=np.concatenate([np.array(piece.tree.parents, np.int64) for piece in pieces]),
        node_content=content[: offsets[-1]],
        node_span_begin=None,
        node_span_end=None,
        attribute_offsets=np.cumsum([0, *rows.counts]),
        attribute_role=np.array(rows.roles, np.uint32),
        attribute_content=content[offsets[-1] :],
    )


def _add_nodes(contents: ContentColumns, pieces: list[XmlPiece], offsets: Int64) -> list[tuple[int, Int64]]:
    """Add the contents of nodes; return (column, numbers of its nodes) for each kind of node and namespace."""
    kinds = np.concatenate([np.array(piece.tree.kinds, np.int64) for piece in pieces])
    names = pa.array([name for piece in pieces for name in piece.tree.names], pa.large_string())
    codes: dict[str, int] = {}
    space = np.full(len(kinds), -1, np.int64)
    for first, piece in zip(offsets.tolist(), pieces, strict=False):
        for number, found in piece.tree.spaces.items():
            space[first + number] = codes.setdefault(found, len(codes))
    is_element = kinds == XmlKind.ELEMENT
    groups: list[tuple[ContentKind, str | None, npt.NDArray[np.bool_]]] = [
        (ContentKind.NAME, None, is_element & (space < 0))
    ]
    groups += [(ContentKind.NAME, found, space == code) for found, code in codes.items()]
    groups += [(ContentKind.TEXT, datatype, kinds == kind) for kind, datatype in DATATYPES.items()]
    columns: list[tuple[int, Int64]] = []
    for content_kind, datatype, mask in groups:
        where = np.flatnonzero(mask)
        if len(where):
            columns.append((contents.add(content_kind, names.take(pa.array(where)), datatype=datatype), where))
    return columns


def _flatten_attributes(pieces: list[XmlPiece], labels: LabelBuilder) -> _AttributeRows:
    rows = _AttributeRows()
    codes = _RoleCodes(labels)
    for piece in pieces:
        tree = piece.tree
        first = len(rows.counts)
        rows.counts += [0] * len(tree)
        extra: dict[int, list[tuple[str, int, str]]] = {n: [(PREFIX, _PREFIX, p)] for n, p in tree.prefixes.items()}
        if piece.before:
            extra.setdefault(0, []).insert(0, (BEFORE, _BEFORE, piece.before.decode()))
        described = sorted({*tree.attributes, *extra}) if extra else tree.attributes
        for number in described:
            attributes = tree.attributes.get(number, ())
            found = extra.get(number, ())
            for side, kind, value in found:
                rows.roles.append(codes[side])
                rows.kinds.append(kind)
                rows.values.append(value)
            names = attributes[::2]
            rows.roles += [codes[f"attr:{name}"] for name in names]
            rows.kinds += [_VALUE] * len(names)
            rows.values += attributes[1::2]
            rows.counts[first + number] = len(found) + len(names)
    return rows


class _RoleCodes(dict[str, int]):
    """Codes of roles of nodes by their sides, made when first asked for."""

    def __init__(self, labels: LabelBuilder) -> None:
        super().__init__()
        self._labels = labels

    def __missing__(self, side: str) -> int:
        code = self[side] = self._labels.role(Role("node", side))
        return code
