"""Trees to structures: an instance a parent and child, an instance a node with attributes, all in document order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import Role
from lisdata.converters.flat_structures import FlatStructures
from lisdata.converters.structure_rows import labels_from, struct_array
from lisdata.kernels.groups import rank_in_group
from lisdata.records import TreeRecords
from lisdata.schema import NO_ROW, SPAN_TYPE, LabelKind, StructureKind
from lisdata.structure_batch import StructureBatch

UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

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
    "node" (node#node, and the attributes' roles with their positions).
    """

    name: str = "trees"
    options_type: type[TreeOptions] = TreeOptions

    def convert(self, records: TreeRecords, options: TreeOptions) -> StructureBatch:
        """Return one structure a tree."""
        labels = labels_from(records.labels)
        numbers = _Numbers.of(records)
        roles = [Role(ROOT, "node"), Role(CHILD, "PARENT"), Role(CHILD, "CHILD"), Role(NODE, "node")]
        if len(numbers.keyed):
            roles.append(KEY)
        sigma = np.array([labels.role(role) for role in roles], np.uint32)
        label = np.array([labels.code(LabelKind.INSTANCE, name) for name in (ROOT, CHILD, NODE)], np.uint32)
        value = labels.role(ATTRIBUTE_VALUE)
        structures = FlatStructures(
            begin=records.begin,
            end=records.end,
            num_occurrences=numbers.num_occurrences,
            num_instances=numbers.num_instances,
            num_incidences=numbers.num_incidences,
            tau=numbers.by_occurrence(records.node_content, records.attribute_content, numbers.key_content),
            **_instances(numbers, label),
            **_incidences(numbers, records, sigma, value),
        )
        rows = structures.to_arrow(
            StructureKind.TREE,
            records.file if records.files is None else records.files,
            document=records.documents,
            span=_spans(numbers, records),
        )
        return StructureBatch(structures=rows, contents=records.contents, labels=labels.to_arrow())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbers:
    """Where nodes and attributes stand in the flat columns of all trees, and where each tree begins there.

    Of node n: its tree, its parent (itself at a root), its occurrence, the instance that places it, its first
    incidence; of attribute row a: its node and its value's occurrence. Nodes `keyed` have keys, `key_content`.
    """

    tree: Int64
    is_root: Bools
    parent: Int64
    sibling: Int64
    occurrence: Int64
    instance: Int64
    incidence: Int64
    has_attributes: Bools
    node: Int64
    value: Int64
    keyed: Int64
    key_content: UInt32
    first_node: Int64
    first_occurrence: Int64
    first_instance: Int64
    num_occurrences: Int64
    num_instances: Int64
    num_incidences: Int64

    @staticmethod
    def of(records: TreeRecords) -> _Numbers:
        offsets, in_attributes = records.node_offsets, records.attribute_offsets
        nodes = np.arange(len(records.node_parent))
        tree = np.repeat(np.arange(records.num_records), np.diff(offsets))
        is_root = records.node_parent < 0
        parent = np.where(is_root, nodes, records.node_parent + offsets[tree])
        num_attributes = np.diff(in_attributes)
        has_attributes = num_attributes > 0
        node = np.repeat(nodes, num_attributes)
        in_instances = _ends(1 + has_attributes)
        keys = np.full(len(nodes), NO_ROW, np.uint32) if records.node_key is None else records.node_key
        has_key = keys != NO_ROW
        in_incidences = _ends(np.where(is_root, 1, 2) + has_key + np.where(has_attributes, 1 + num_attributes, 0))
        in_keys = _ends(has_key)
        first_occurrence, first_instance = (offsets + in_attributes[offsets] + in_keys[offsets]), in_instances[offsets]
        return _Numbers(
            tree=tree,
            is_root=is_root,
            parent=parent,
            sibling=rank_in_group(np.where(is_root, len(nodes) + tree, parent)),
            occurrence=nodes + in_attributes[:-1] + in_keys[1:],
            instance=in_instances[:-1],
            incidence=in_incidences[:-1],
            has_attributes=has_attributes,
            node=node,
            value=node + 1 + np.arange(len(node)) + in_keys[1:][node],
            keyed=np.flatnonzero(has_key),
            key_content=keys[has_key],
            first_node=offsets[:-1],
            first_occurrence=first_occurrence[:-1],
            first_instance=first_instance[:-1],
            num_occurrences=np.diff(first_occurrence),
            num_instances=np.diff(first_instance),
            num_incidences=np.diff(in_incidences[offsets]),
        )

    def by_occurrence(
        self, of_node: npt.NDArray[Any], of_value: npt.NDArray[Any], of_key: npt.NDArray[Any]
    ) -> npt.NDArray[Any]:
        """Return what nodes, attributes' values and keys have, in the order of their occurrences."""
        merged = np.empty(len(of_node) + len(of_value) + len(of_key), of_node.dtype)
        merged[self.occurrence], merged[self.value], merged[self.occurrence[self.keyed] - 1] = of_node, of_value, of_key
        return merged


def _instances(numbers: _Numbers, label: UInt32) -> dict[str, npt.NDArray[Any]]:
    """Return labels and ordinals: the ordinal of an instance is the number of its node in the tree."""
    root, child, node = label
    described = numbers.instance[numbers.has_attributes] + 1
    labels = _interleave(
        numbers.instance, np.where(numbers.is_root, root, child), described, np.full(len(described), node)
    )
    in_tree = np.arange(len(numbers.tree)) - numbers.first_node[numbers.tree]
    ordinals = _interleave(numbers.instance, in_tree, described, in_tree[numbers.has_attributes])
    return {"label": labels.astype(np.uint32), "ordinal": ordinals.astype(np.uint64)}


def _incidences(numbers: _Numbers, records: TreeRecords, sigma: UInt32, value: int) -> dict[str, npt.NDArray[Any]]:
    """Return occurrences, instances, roles and positions of all incidences, node by node."""
    root, parent, child, node = sigma[:4]
    n, size = numbers, int(numbers.num_incidences.sum())
    occurrence = n.occurrence - n.first_occurrence[n.tree]
    instance = n.instance - n.first_instance[n.tree]
    columns: dict[str, npt.NDArray[Any]] = {
        "occurrence": np.empty(size, np.uint32),
        "instance": np.empty(size, np.uint32),
        "sigma": np.empty(size, np.uint32),
        "position": np.empty(size, np.int64),
    }

    def put(where: Int64, *values: Any) -> None:
        for column, found in zip(columns.values(), values, strict=True):
            column[where] = found

    inner = ~n.is_root
    own = n.incidence + inner
    own[n.keyed] += 1
    put(n.incidence[inner], occurrence[n.parent[inner]], instance[inner], parent, 0)
    if len(n.keyed):
        put(own[n.keyed] - 1, occurrence[n.keyed] - 1, instance[n.keyed], sigma[4], 0)
    placed = np.where(inner, child, root)
    if records.node_role is not None:
        placed = np.where(records.node_role == NO_ROW, placed, records.node_role)
    put(own, occurrence, instance, placed, n.sibling)
    has = n.has_attributes
    put(own[has] + 1, occurrence[has], instance[has] + 1, node, 0)
    rank = np.arange(len(n.node)) - records.attribute_offsets[n.node]
    is_first = records.attribute_role != value  # an attribute of two rows counts once
    position = np.cumsum(is_first) - 1
    first_of_node = position[records.attribute_offsets[n.node]]
    values = n.value - n.first_occurrence[n.tree[n.node]]
    put(own[n.node] + 2 + rank, values, instance[n.node] + 1, records.attribute_role, position - first_of_node)
    return columns


def _spans(numbers: _Numbers, records: TreeRecords) -> pa.Array | None:
    """Return a span for each occurrence, null for keys and attributes' values, or None where nodes have no spans."""
    if records.node_span_begin is None or records.node_span_end is None:
        return None
    values, keys = (np.zeros(len(rows), np.uint64) for rows in (numbers.node, numbers.keyed))
    columns = (records.node_span_begin, records.node_span_end)
    bounds = [numbers.by_occurrence(column, values, keys) for column in columns]
    absent = np.ones(len(bounds[0]), bool)
    absent[numbers.occurrence] = False
    return struct_array(SPAN_TYPE, bounds, pa.array(absent))


def _interleave(
    first: Int64, first_values: npt.NDArray[Any], second: Int64, second_values: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Return the values put where they belong; the places together are 0 .. their number."""
    merged = np.empty(len(first) + len(second), first_values.dtype)
    merged[first], merged[second] = first_values, second_values
    return merged


def _ends(counts: npt.NDArray[Any]) -> Int64:
    """Return 0 and the running sums."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


TREES = TreesConverter()
