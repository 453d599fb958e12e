"""Trees laid out by a kernel, and node by node in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.kernels.tree_layout import TreeCodes, TreeLayout, lay_out_trees
from lisdata.schema import NO_ROW

ROOT, CHILD, NODE, ROOT_NODE, PARENT, KEY, CHILD_CHILD, NODE_NODE, VALUE = range(100, 109)
CODES = TreeCodes(
    root=ROOT, child=CHILD, node=NODE, root_node=ROOT_NODE, child_parent=PARENT, child_key=KEY, child_child=CHILD_CHILD,
    node_node=NODE_NODE, attribute_value=VALUE,
)  # fmt: skip


@dataclass(frozen=True)
class Node:
    """A node whose parent is `parent` nodes before it, or none; attributes are (content, role)."""

    parent: int
    key: int
    role: int
    attributes: list[tuple[int, int]] = field(default_factory=list)


NODES = st.builds(
    Node,
    parent=st.integers(0, 4),
    key=st.sampled_from([NO_ROW, NO_ROW, 7]),
    role=st.sampled_from([NO_ROW, 50, 51]),
    attributes=st.lists(st.tuples(st.integers(20, 29), st.sampled_from([VALUE, 60, 61])), max_size=3),
)
TREES = st.lists(st.lists(NODES, max_size=6), max_size=4)
Incidence = tuple[int, int, int, int]


def parent_of(nodes: list[Node], number: int) -> int:
    back = nodes[number].parent
    return number - back if 0 < back <= number else -1


def laid_out(nodes: list[Node]) -> tuple[list[int], list[tuple[int, int]], list[Incidence]]:
    """Contents of occurrences; labels and ordinals of instances; incidences."""
    tau: list[int] = []
    instances: list[tuple[int, int]] = []
    incidences: list[Incidence] = []
    places: list[int] = []
    num_children: dict[int, int] = {}
    for number, node in enumerate(nodes):
        parent = parent_of(nodes, number)
        position = num_children[parent] = num_children.get(parent, -1) + 1
        tau += [node.key] * (node.key != NO_ROW)
        places.append(len(tau))
        tau.append(number)
        if parent >= 0:
            incidences.append((places[parent], len(instances), PARENT, 0))
        if node.key != NO_ROW:
            incidences.append((places[-1] - 1, len(instances), KEY, 0))
        usual = CHILD_CHILD if parent >= 0 else ROOT_NODE
        incidences.append((places[-1], len(instances), usual if node.role == NO_ROW else node.role, position))
        instances.append((CHILD if parent >= 0 else ROOT, number))
        if not node.attributes:
            continue
        incidences.append((places[-1], len(instances), NODE_NODE, 0))
        position = -1
        for row, (content, role) in enumerate(node.attributes):
            position += row == 0 or role != VALUE
            incidences.append((len(tau), len(instances), role, position))
            tau.append(content)
        instances.append((NODE, number))
    return tau, instances, incidences


def arrays_of(
    trees: list[list[Node]],
) -> tuple[list[npt.NDArray[np.int64]], list[npt.NDArray[np.uint32]], list[npt.NDArray[np.uint32]]]:
    nodes = [node for tree in trees for node in tree]
    attributes = [a for node in nodes for a in node.attributes]
    numbers = [
        np.cumsum([0, *map(len, trees)], dtype=np.int64),
        np.array([parent_of(tree, n) for tree in trees for n in range(len(tree))], np.int64),
        np.cumsum([0, *(len(node.attributes) for node in nodes)], dtype=np.int64),
    ]
    of_nodes = [[n for tree in trees for n in range(len(tree))], [n.key for n in nodes], [n.role for n in nodes]]
    of_attributes = [[content for content, _ in attributes], [role for _, role in attributes]]
    return numbers, [np.array(c, np.uint32) for c in of_nodes], [np.array(c, np.uint32) for c in of_attributes]


def lay_out(trees: list[list[Node]], *, is_plain: bool = False) -> TreeLayout:
    (offsets, parents, bounds), (contents, keys, roles), (values, value_roles) = arrays_of(trees)
    attributes = (bounds, values, value_roles)
    if is_plain:
        return lay_out_trees(offsets, parents, contents, None, None, attributes, CODES)
    return lay_out_trees(offsets, parents, contents, keys, roles, attributes, CODES)


@given(TREES)
@settings(deadline=None, max_examples=300)
def test_trees_are_laid_out_node_by_node(trees: list[list[Node]]) -> None:
    found = lay_out(trees)

    expected = [laid_out(tree) for tree in trees]
    assert found.tau.tolist() == [content for tau, _, _ in expected for content in tau]
    assert list(zip(found.label.tolist(), found.ordinal.tolist(), strict=True)) == [
        instance for _, instances, _ in expected for instance in instances
    ]
    columns = (found.occurrence, found.instance, found.sigma, found.position)
    assert list(zip(*(c.tolist() for c in columns), strict=True)) == [i for _, _, found in expected for i in found]
    counts = (found.num_occurrences, found.num_instances, found.num_incidences)
    assert list(zip(*(c.tolist() for c in counts), strict=True)) == [
        (len(tau), len(instances), len(incidences)) for tau, instances, incidences in expected
    ]
    assert found.tau[found.node_occurrence].tolist() == [n for tree in trees for n in range(len(tree))]


@given(TREES)
@settings(deadline=None)
def test_keys_and_roles_need_not_be_given(trees: list[list[Node]]) -> None:
    bare = [[Node(node.parent, NO_ROW, NO_ROW, node.attributes) for node in tree] for tree in trees]

    found, expected = lay_out(trees, is_plain=True), lay_out(bare)

    assert found.sigma.tolist() == expected.sigma.tolist()
    assert found.tau.tolist() == expected.tau.tolist()


@pytest.mark.parametrize(
    "change",
    [
        {"offsets": [0, 1]}, {"offsets": [1, 3]}, {"offsets": []}, {"offsets": [0, 4, 3]}, {"parents": [-1, 0, 3]},
        {"contents": [0, 0]}, {"keys": [0]}, {"roles": [0, 0]}, {"bounds": [0, 1, 1]}, {"bounds": [0, 2, 0, 1]},
        {"values": []}, {"value_roles": [0, 0]},
    ],
)  # fmt: skip
def test_columns_that_do_not_fit_together_are_refused(change: dict[str, list[int]]) -> None:
    given = {
        "offsets": [0, 3], "parents": [-1, 0, 1], "contents": [0, 1, 2], "keys": [NO_ROW] * 3, "roles": [NO_ROW] * 3,
        "bounds": [0, 1, 1, 1], "values": [5], "value_roles": [60],
    } | change  # fmt: skip
    offsets, parents, bounds = (np.array(given[name], np.int64) for name in ("offsets", "parents", "bounds"))
    contents, keys, roles, values, value_roles = (
        np.array(given[name], np.uint32) for name in ("contents", "keys", "roles", "values", "value_roles")
    )

    with pytest.raises(ValueError, match="expected trees, got "):
        lay_out_trees(offsets, parents, contents, keys, roles, (bounds, values, value_roles), CODES)
