"""Lays trees out as structures: where nodes, keys and attributes stand among occurrences, instances and incidences."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import INT64S, OUT_INT64S, OUT_UINT32S, OUT_UINT64S, UINT32S, inner, kernel
from lisdata.schema import NO_ROW

UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]

_Tuple: Any = types.Tuple
_NODES = _Tuple((INT64S, INT64S, UINT32S, UINT32S, UINT32S))
_ATTRIBUTES = _Tuple((INT64S, UINT32S, UINT32S))
_ROWS = _Tuple((OUT_UINT32S, OUT_UINT32S, OUT_UINT64S, OUT_INT64S, OUT_INT64S))
_INCIDENCES = _Tuple((OUT_UINT32S, OUT_UINT32S, OUT_UINT32S, OUT_INT64S))
_COUNTS = types.Array(types.int64, 2, "C")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeCodes:
    """Labels of instances (`root`, `child`, `node`), and roles; NO_ROW for one that no tree of the batch needs."""

    root: int
    child: int
    node: int
    root_node: int
    child_parent: int
    child_key: int
    child_child: int
    node_node: int
    attribute_value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLayout:
    """The columns that `FlatStructures` has of trees; `node_occurrence` is each node's occurrence in the flat `tau`."""

    tau: UInt32
    label: UInt32
    ordinal: UInt64
    node_occurrence: Int64
    occurrence: UInt32
    instance: UInt32
    sigma: UInt32
    position: Int64
    num_occurrences: Int64
    num_instances: Int64
    num_incidences: Int64


@inner
def _number_occurrences(nodes: Any, attributes: Any, node_occurrence: Any) -> Any:
    """Write the occurrence of each node; return whether all parents are in their trees and no attributes go back."""
    offsets, parents, _, keys, _ = nodes
    attribute_offsets = attributes[0]
    occurrence = 0
    for tree in range(len(offsets) - 1):
        size = offsets[tree + 1] - offsets[tree]
        for node in range(offsets[tree], offsets[tree + 1]):
            num_attributes = attribute_offsets[node + 1] - attribute_offsets[node]
            if parents[node] >= size or num_attributes < 0:
                return False
            occurrence += len(keys) > 0 and keys[node] != NO_ROW
            node_occurrence[node] = occurrence
            occurrence += 1 + num_attributes
    return True


@inner
def _put(incidences: Any, at: Any, occurrence: Any, instance: Any, role: Any, position: Any) -> Any:
    incidences[0][at], incidences[1][at] = occurrence, instance
    incidences[2][at], incidences[3][at] = role, position
    return at + 1


@inner
def _put_attributes(
    attributes: Any, node: Any, value_role: Any, tau: Any, flat: Any, occurrence: Any, instance: Any,
    incidences: Any, at: Any,
) -> Any:  # fmt: skip
    """Write the attributes of the node at `flat` in `tau`, `occurrence` in its structure; return where they end."""
    offsets, contents, roles = attributes
    first, position = offsets[node], 0
    for row in range(first, offsets[node + 1]):
        rank = 1 + row - first
        tau[flat + rank] = contents[row]
        if row > first and roles[row] != value_role:  # an attribute of two rows counts once
            position += 1
        at = _put(incidences, at, occurrence + rank, instance, roles[row], position)
    return at


@kernel(types.boolean(_NODES, _ATTRIBUTES, UINT32S, _ROWS, _INCIDENCES, _COUNTS))
def _lay_out(nodes: Any, attributes: Any, codes: Any, rows: Any, incidences: Any, counts: Any) -> Any:
    """Write everything and the counts (3, T) of each tree; return False where the numbers of the trees are none."""
    offsets, parents, contents, keys, roles = nodes
    tau, label, ordinal, node_occurrence, num_children = rows
    if not _number_occurrences(nodes, attributes, node_occurrence):
        return False
    occurrences = instances = at = 0
    for tree in range(len(offsets) - 1):
        begin, first_occurrence, first_instance, first = offsets[tree], occurrences, instances, at
        num_roots = 0
        for node in range(begin, offsets[tree + 1]):
            flat = node_occurrence[node]
            here, instance, parent = flat - first_occurrence, instances - first_instance, parents[node]
            if parent < 0:
                label[instances], role, rank = codes[0], codes[3], num_roots
                num_roots += 1
            else:
                label[instances], role, rank = codes[1], codes[6], num_children[begin + parent]
                num_children[begin + parent] += 1
                above = node_occurrence[begin + parent] - first_occurrence
                at = _put(incidences, at, above, instance, codes[4], 0)
            if len(keys) and keys[node] != NO_ROW:
                tau[flat - 1] = keys[node]
                at = _put(incidences, at, here - 1, instance, codes[5], 0)
            if len(roles) and roles[node] != NO_ROW:
                role = roles[node]
            tau[flat] = contents[node]
            at = _put(incidences, at, here, instance, role, rank)
            ordinal[instances] = node - begin
            instances += 1
            occurrences = flat + 1
            num_attributes = attributes[0][node + 1] - attributes[0][node]
            if num_attributes:
                label[instances], ordinal[instances] = codes[2], node - begin
                at = _put(incidences, at, here, instance + 1, codes[7], 0)
                at = _put_attributes(attributes, node, codes[8], tau, flat, here, instance + 1, incidences, at)
                instances += 1
                occurrences += num_attributes
        counts[0, tree], counts[1, tree] = occurrences - first_occurrence, instances - first_instance
        counts[2, tree] = at - first
    return True


def lay_out_trees(
    offsets: Int64,
    parents: Int64,
    contents: UInt32,
    keys: UInt32 | None,
    roles: UInt32 | None,
    attributes: tuple[Int64, UInt32, UInt32],
    codes: TreeCodes,
) -> TreeLayout:
    """Return the structures of T trees, given as `TreeRecords` has them; attributes are offsets, contents and roles.

    Occurrences are the nodes in order, each behind its key, if it has one, and followed by its attributes' values.
    Incidences stand in the order of their nodes: parent, key, the node itself, and then, in a second instance, the node
    and its attributes. ValueError where the numbers do not fit together.
    """
    size, num_rows = len(parents), len(attributes[1])
    columns = (contents, *(column for column in (keys, roles) if column is not None))
    is_fit = all(len(column) == size for column in columns) and len(attributes[2]) == num_rows
    for bounds, length, total in ((offsets, len(offsets), size), (attributes[0], size + 1, num_rows)):
        is_fit = is_fit and len(bounds) == length > 0 and bounds[0] == 0 and bounds[-1] == total
    if not is_fit or (np.diff(offsets) < 0).any():
        raise ValueError("expected trees, got columns of nodes and attributes that do not fit together")
    nothing = np.empty(0, np.uint32)
    num_described, num_roots = np.count_nonzero(np.diff(attributes[0])), np.count_nonzero(parents < 0)
    num_keys = 0 if keys is None else np.count_nonzero(keys != NO_ROW)
    num_instances, num_incidences = size + num_described, 2 * size - num_roots + num_keys + num_described + num_rows
    rows = (
        np.empty(size + num_keys + num_rows, np.uint32), np.empty(num_instances, np.uint32),
        np.empty(num_instances, np.uint64), np.empty(size, np.int64), np.zeros(size, np.int64),
    )  # fmt: skip
    occurrence, instance, sigma = (np.empty(num_incidences, np.uint32) for _ in range(3))
    position = np.empty(num_incidences, np.int64)
    incidences = (occurrence, instance, sigma, position)
    counts = np.empty((3, len(offsets) - 1), np.int64)
    nodes = (offsets, parents, contents, nothing if keys is None else keys, nothing if roles is None else roles)
    if not _lay_out(nodes, attributes, np.array(astuple(codes), np.uint32), rows, incidences, counts):
        raise ValueError("expected trees, got a parent outside of its tree or attributes that end before they begin")
    tau, label, ordinal, node_occurrence, _ = rows
    return TreeLayout(
        tau=tau, label=label, ordinal=ordinal, node_occurrence=node_occurrence, occurrence=occurrence,
        instance=instance, sigma=sigma, position=position, num_occurrences=counts[0], num_instances=counts[1],
        num_incidences=counts[2],
    )  # fmt: skip
