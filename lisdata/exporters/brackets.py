"""Constituency trees back to bracketed text: their own bytes where these were kept, else one tree a line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lisdata.contents import Role
from lisdata.converters.trees import CHILD, NODE, ROOT
from lisdata.errors import ExportError
from lisdata.exporters.record_files import export_records
from lisdata.registry import ExportReport
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.brackets_labels import CONSTITUENT, ESCAPES, Parts, join_label
from lisdata.structure import Structure

_ESCAPED = {shown: written for written, shown in ESCAPES.items()}
_ROOT, _PARENT, _CHILD, _OWNER = Role(ROOT, "node"), Role(CHILD, "PARENT"), Role(CHILD, "CHILD"), Role(NODE, "node")
_ATTRIBUTE = "attr:"


@dataclass(frozen=True, slots=True)
class BracketsExporter:
    """Writes trees one after another: the file's bytes where they were kept, else trees that are equal, a line each."""

    name: str = "brackets"
    summary: str = "Constituency trees in brackets"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the trees that came from `files`."""
        return export_records(dataset, target, files, partial(_iter_trees, dataset))


def _iter_trees(dataset: IncidenceDataset, info: InputInfo) -> Iterator[bytes]:
    for structure in dataset.iter_structures(info.index):
        yield write_tree(structure) + b"\n" if structure.document is None else structure.document


def write_tree(structure: Structure) -> bytes:
    """Return the tree of a structure on one line; ExportError when it is no tree of constituents and words."""
    parents, labels = _read_tree(structure)
    parts: list[bytes] = []
    open_nodes: list[int] = []
    for number, parent in parents.items():
        while open_nodes and open_nodes[-1] != parent:
            parts.append(b")")
            open_nodes.pop()
        content = structure.occurrences[number].content
        is_constituent = content.kind == ContentKind.NAME and content.datatype == CONSTITUENT
        parts.append(b" " if parts else b"")
        if is_constituent:
            parts.append(b"(" + join_label(content.text, labels[number]).encode())
            open_nodes.append(number)
        elif content.kind in (ContentKind.NAME, ContentKind.WORD) and open_nodes:
            parts.append(_ESCAPED.get(content.lexical, content.lexical))
        else:
            raise ExportError(f"{structure.record_id}: expected constituents and words, found {content}")
    return b"".join(parts) + b")" * len(open_nodes)


def _read_tree(structure: Structure) -> tuple[dict[int, int], dict[int, Parts]]:
    """Return each node's parent (-1 at the root), in document order, and what its label says beside its category."""
    parent_of: dict[int, int] = {}
    place_of: dict[int, int] = {}
    owner_of: dict[int, int] = {}
    labels: dict[int, Parts] = defaultdict(list)
    for incidence in structure.incidences:
        if incidence.role == _PARENT:
            parent_of[incidence.instance] = incidence.occurrence
        elif incidence.role in (_CHILD, _ROOT):
            place_of[incidence.occurrence] = incidence.instance
        elif incidence.role == _OWNER:
            owner_of[incidence.instance] = incidence.occurrence
        elif incidence.role.relation == NODE and incidence.role.side.startswith(_ATTRIBUTE):
            sort = incidence.role.side.removeprefix(_ATTRIBUTE)
            value = structure.occurrences[incidence.occurrence].content.text
            labels[owner_of[incidence.instance]].append((sort, value))
        else:
            raise ExportError(f"{structure.record_id}: expected a tree, found the role {incidence.role.label}")
    return {number: parent_of.get(place_of[number], -1) for number in sorted(place_of)}, labels


BRACKETS = BracketsExporter()
