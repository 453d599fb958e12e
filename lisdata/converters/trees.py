"""Trees to structures: an instance a parent and child, an instance a node with attributes, all in document order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.contents import Role
from lisdata.converters.flat_structures import FlatStructures, count_from_zero
from lisdata.converters.structure_rows import labels_from, struct_array
from lisdata.records import TreeRecords
from lisdata.schema import SPAN_TYPE, LabelKind, StructureKind
from lisdata.structure_batch import StructureBatch

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

ROOT, CHILD, NODE = "root", "child", "node"
ATTRIBUTE_VALUE = Role(NODE, "attr.value")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeOptions:
    """Trees have no options."""


@dataclass(frozen=True, slots=True)
class TreesConverter:
    """Makes a structure of each tree.

    Occurrences are the nodes, each followed by its attributes' values. Each node is in one instance that places it: "root"
    (role root#node, position among the roots) or "child" (child#PARENT, and child#CHILD with its position among the
    parent's children). One with attributes is in a second, "node" (node#node, and the attributes' roles with their
    positions).
    """

    name: str = "trees"
    options_type: type[TreeOptions] = TreeOptions

    def convert(self, records: TreeRecords, options: TreeOptions) -> StructureBatch:
        """Return one structure a tree."""
        labels = labels_from(records.labels)
        instances = [labels.code(LabelKind.INSTANCE, label) for label in (ROOT, CHILD, NODE)]
        roles = [labels.role(r) for r in (Role(ROOT, "node"), Role(CHILD, "PARENT"), Role(CHILD, "CHILD"), Role(NODE, "node"))]
        layout = _Layout.of(records)
        structures = layout.to_structures(records, instances, roles, labels.role(ATTRIBUTE_VALUE))
        rows = structures.to_arrow(
            StructureKind.TREE, records.file, document=records.documents, span=layout.spans(records)
        )
        return StructureBatch(structures=rows, contents=records.contents, labels=labels.to_arrow())
