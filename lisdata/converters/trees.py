"""Trees to structures: an instance a parent and child, an instance a node with attributes, all in document order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import LabelBuilder, Role
from lisdata.converters.flat_structures import FlatStructures
from lisdata.converters.structure_rows import labels_from, struct_array
from lisdata.records import TreeRecords
from lisdata.schema import NO_ROW, SPAN_TYPE, LabelKind, StructureKind
from lisdata.structure_batch import StructureBatch

if TYPE_CHECKING:
    from lisdata.kernels.tree_layout import TreeCodes, TreeLayout

ROOT, CHILD, NODE = "root", "child", "node"
ATTRIBUTE_VALUE = Role(NODE, "attr.value")
KEY = Role(CHILD, "KEY")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeOptions:
    """Trees have no options."""


@dataclass(frozen=True, slots=True)
class TreesConverter:
    """Makes a structure of each tree.

    Occurrences are the nodes, each behind its key, if it has one, and followed by its attributes' values. Each node is
    in one instance that places it: "root" (role root#node, position among the roots) or "child" (child#PARENT, maybe
    child#KEY, and child#CHILD with its position among the parent's children). One with attributes is in a second,
    "node" (node#node, and the attributes' roles with their positions). The ordinal of an instance is the number of its
    node in the tree.
    """

    name: str = "trees"
    options_type: type[TreeOptions] = TreeOptions

    def convert(self, records: TreeRecords, options: TreeOptions) -> StructureBatch:
        """Return one structure a tree."""
        from lisdata.kernels.tree_layout import lay_out_trees

        labels = labels_from(records.labels)
        layout = lay_out_trees(
            records.node_offsets,
            records.node_parent,
            records.node_content,
            records.node_key,
            records.node_role,
            (records.attribute_offsets, records.attribute_content, records.attribute_role),
            _codes(records, labels),
        )
        structures = FlatStructures(
            begin=records.begin,
            end=records.end,
            num_occurrences=layout.num_occurrences,
            num_instances=layout.num_instances,
            num_incidences=layout.num_incidences,
            tau=layout.tau,
            label=layout.label,
            ordinal=layout.ordinal,
            occurrence=layout.occurrence,
            instance=layout.instance,
            sigma=layout.sigma,
            position=layout.position,
        )
        rows = structures.to_arrow(
            StructureKind.TREE,
            records.file if records.files is None else records.files,
            document=records.documents,
            span=_spans(layout, records),
        )
        return StructureBatch(structures=rows, contents=records.contents, labels=labels.to_arrow())


def _codes(records: TreeRecords, labels: LabelBuilder) -> TreeCodes:
    """Return the codes of labels and roles; new ones are numbered in this order."""
    from lisdata.kernels.tree_layout import TreeCodes

    has_keys = records.node_key is not None and bool((records.node_key != NO_ROW).any())
    root_node, parent, child, node = (
        labels.role(role)
        for role in (Role(ROOT, "node"), Role(CHILD, "PARENT"), Role(CHILD, "CHILD"), Role(NODE, "node"))
    )
    key = labels.role(KEY) if has_keys else NO_ROW
    of_root, of_child, of_node = (labels.code(LabelKind.INSTANCE, name) for name in (ROOT, CHILD, NODE))
    return TreeCodes(
        root=of_root,
        child=of_child,
        node=of_node,
        root_node=root_node,
        child_parent=parent,
        child_key=key,
        child_child=child,
        node_node=node,
        attribute_value=labels.role(ATTRIBUTE_VALUE),
    )


def _spans(layout: TreeLayout, records: TreeRecords) -> pa.Array | None:
    """Return a span for each occurrence, null for keys and attributes' values, or None where nodes have no spans."""
    if records.node_span_begin is None or records.node_span_end is None:
        return None
    bounds: list[npt.NDArray[Any]] = [records.node_span_begin, records.node_span_end]
    if len(layout.tau) == len(layout.node_occurrence):
        return struct_array(SPAN_TYPE, bounds)
    is_absent = np.ones(len(layout.tau), bool)
    is_absent[layout.node_occurrence] = False
    spread: list[npt.NDArray[Any]] = [np.zeros(len(layout.tau), np.uint64) for _ in bounds]
    for column, found in zip(spread, bounds, strict=True):
        column[layout.node_occurrence] = found
    return struct_array(SPAN_TYPE, spread, pa.array(is_absent))


TREES = TreesConverter()
