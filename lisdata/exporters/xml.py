"""Trees back to XML documents: the kept bytes, else text in the same encoding whose tree is equal."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from lisdata.contents import Role
from lisdata.converters.trees import NODE
from lisdata.errors import ExportError
from lisdata.exporters.conversion_losses import REJECTED, is_left_out
from lisdata.exporters.targets import replacing, target_paths
from lisdata.exporters.tree_columns import ShownContent, StoredTree, TreeColumns, plain_attributes
from lisdata.exporters.xml_text import tree_to_text
from lisdata.registry import ExportReport
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset, InputInfo, Part
from lisdata.sources.character_encodings import encoding_name
from lisdata.sources.xml_records import BEFORE, DATATYPES, PREFIX
from lisdata.sources.xml_text import XmlError, decode_xml
from lisdata.sources.xml_tree import XmlKind, XmlTree, parse_xml

_PREFIX, _BEFORE = (Role(NODE, side).label for side in (PREFIX, BEFORE))
_KINDS = {datatype: kind for kind, datatype in DATATYPES.items()}
_ENCODING = re.compile(r"""\bencoding\s*=\s*["']([^"']*)["']""")


@dataclass(frozen=True, slots=True)
class XmlExporter:
    """Writes a document's own bytes where they were kept, and so the records of one that was read piece by piece.

    Else its tree in the encoding that it declares: equal in canonical form (C14N), with CDATA, doctype, declaration and
    the order of attributes as they were; quotes, empty tags and white space inside tags are written in one way. It is
    parsed again, and counted as a loss should the tree differ; so are records that the conversion rejected.
    """

    name: str = "xml"
    summary: str = "XML documents"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the documents that came from `files`."""
        losses: Counter[str] = Counter()
        written: list[Path] = []
        num_records = 0
        for info, path in zip(files, target_paths(target, files, dataset.inputs), strict=True):
            losses[REJECTED] += info.records.get("rejected", 0)
            if is_left_out(dataset, info):
                continue
            in_pieces = info.options.get("record_tag") is not None
            with replacing(path) as stream:
                for number, (part, row) in enumerate(dataset.iter_rows(info.index)):
                    if number and not in_pieces:
                        raise ExportError(f"{info.name}: expected one document for a file, found more")
                    data, is_equal = _piece(part, row) if in_pieces else _document(part, row)
                    losses["documents whose tree differs"] += not is_equal
                    stream.write(data)
                    num_records += 1
            written.append(path)
        return ExportReport(files=tuple(written), num_records=num_records, losses=dict(+losses))


def _document(part: Part, row: int) -> tuple[bytes, bool]:
    columns = part.derived(TreeColumns)
    data = columns.document(row)
    return (data, True) if data is not None else xml_to_bytes(xml_of(columns.tree(row)))


def _piece(part: Part, row: int) -> tuple[bytes, bool]:
    columns = part.derived(TreeColumns)
    data, before = columns.document(row), columns.first_in(row, _BEFORE)
    if data is None:
        data = tree_to_text(xml_of(columns.tree(row))).encode()
    return data if before is None else before.lexical + data, True


def xml_to_bytes(tree: XmlTree) -> tuple[bytes, bool]:
    """Return a document in the encoding that it declares, and whether its tree is equal to `tree`."""
    encoding = "utf-8"
    if tree.kinds and tree.kinds[0] == XmlKind.DECLARATION:
        declared = _ENCODING.search(tree.names[0])
        encoding = encoding if declared is None else encoding_name(declared[1])
    for width in ("utf-16", "utf-32"):
        encoding = width if encoding.startswith(width) else encoding  # with a mark
    # What an encoding lacks stood in texts and attributes alone, as references.
    data = (tree_to_text(tree) + "\n").encode(encoding, errors="xmlcharrefreplace")
    try:
        return data, parse_xml(decode_xml(data).data) == tree
    except XmlError:
        return data, False


def xml_of(stored: StoredTree) -> XmlTree:
    """Return a stored tree as XML; ExportError for a tree of another kind."""
    tree = XmlTree(parents=stored.parents)
    for number, node in enumerate(stored.nodes):
        kind = _kind_of(node)
        tree.kinds.append(kind)
        tree.names.append(node.text)
        if kind == XmlKind.ELEMENT and node.datatype is not None:
            tree.spaces[number] = node.datatype
    for number, rows in stored.attributes.items():
        pairs = plain_attributes(rows)
        if pairs:
            tree.attributes[number] = [text for pair in pairs for text in pair]
        if len(pairs) < len(rows):
            prefix = next((shown.text for role, shown in rows if role == _PREFIX), None)
            if prefix is not None:
                tree.prefixes[number] = prefix
    return tree


def _kind_of(node: ShownContent) -> int:
    if node.kind == ContentKind.NAME:
        return int(XmlKind.ELEMENT)
    kind = _KINDS.get(node.datatype) if node.kind == ContentKind.TEXT else None
    if kind is None:
        raise ExportError(f"expected a node of an XML document, found {ContentKind(node.kind).name} {node.datatype}")
    return int(kind)


XML = XmlExporter()
