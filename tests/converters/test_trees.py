from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import Content, ContentBuilder, LabelBuilder, Role
from lisdata.converters.trees import TREES, TreeOptions
from lisdata.inputs import InputFile, InputSlice, find_inputs
from lisdata.invariants import check_structures
from lisdata.records import ParsedDocument, TreeRecords
from lisdata.registry import load_converter
from lisdata.schema import NO_ROW, ContentKind, StructureKind
from lisdata.sources.html import HTML, HtmlOptions, doms_to_records
from lisdata.sources.lexbor import parse_columns
from lisdata.structure import Structure

FILE = InputFile(index=2, path="t", name="t", size=0, digest="d", scope="s", compression=None)
Tree = list[tuple[int, list[str]]]  # of each node its parent, and the names of its attributes

TREE_SHAPES: st.SearchStrategy[Tree] = st.lists(
    st.tuples(st.integers(-1, 5), st.lists(st.sampled_from(["a", "b", "x#y"]), max_size=3)), max_size=7
).map(lambda nodes: [(min(parent, n - 1), names) for n, (parent, names) in enumerate(nodes)])


def records_of(trees: list[Tree], *, has_spans: bool = False) -> TreeRecords:
    """Node n of a tree shows the text n, attribute k of it the text n.k."""
    labels = LabelBuilder()
    contents = ContentBuilder(labels)
    parents, nodes, roles, values, offsets = [], [], [], [], [0]
    for tree in trees:
        for number, (parent, names) in enumerate(tree):
            parents.append(parent)
            nodes.append(contents.add(ContentKind.NAME, str(number).encode()))
            for k, name in enumerate(names):
                if "#" in name:
                    roles.append(labels.role(Role("node", "attr.name")))
                    values.append(contents.add(ContentKind.NAME, name.encode()))
                roles.append(labels.role(Role("node", "attr.value" if "#" in name else f"attr:{name}")))
                values.append(contents.add(ContentKind.TEXT, f"{number}.{k}".encode()))
            offsets.append(len(roles))
    begin = np.arange(len(trees), dtype=np.uint64)
    spans = np.arange(len(nodes), dtype=np.uint64) if has_spans else None
    return TreeRecords(
        file=FILE,
        label="t",
        documents=pa.array([b"x" * 50] * len(trees), pa.large_binary()),
        begin=begin,
        end=begin + np.uint64(1),
        contents=contents.to_arrow(),
        labels=labels.to_arrow(),
        node_offsets=np.cumsum([0, *(len(tree) for tree in trees)]),
        node_parent=np.array(parents, np.int64),
        node_content=np.array(nodes, np.uint32),
        node_span_begin=spans,
        node_span_end=spans,
        attribute_offsets=np.array(offsets, np.int64),
        attribute_role=np.array(roles, np.uint32),
        attribute_content=np.array(values, np.uint32),
    )


def convert(records: TreeRecords) -> list[Structure]:
    batch = TREES.convert(records, TreeOptions())
    tables = (pa.Table.from_batches([b]) for b in (batch.structures, batch.contents, batch.labels))
    check_structures(*tables, "trees")
    return [Structure.from_arrow(batch, row) for row in range(batch.structures.num_rows)]


def facts(structure: Structure) -> list[tuple[str, int, list[tuple[str, str, int]]]]:
    """Label, ordinal and (role, text, position) of each instance."""
    found: list[tuple[str, int, list[tuple[str, str, int]]]] = [(e.label, e.ordinal, []) for e in structure.instances]
    for i in structure.incidences:
        text = structure.occurrences[i.occurrence].content.text
        found[i.instance][2].append((i.role.label, text, i.position))
    return found


def expected(tree: Tree) -> list[tuple[str, int, list[tuple[str, str, int]]]]:
    found: list[tuple[str, int, list[tuple[str, str, int]]]] = []
    siblings: dict[int, int] = {}
    for number, (parent, names) in enumerate(tree):
        position = siblings[parent] = siblings.get(parent, -1) + 1
        place = [("root#node", str(number), position)]
        if parent >= 0:
            place = [("child#PARENT", str(parent), 0), ("child#CHILD", str(number), position)]
        found.append(("child" if parent >= 0 else "root", number, place))
        rows = [("node#node", str(number), 0)]
        for k, name in enumerate(names):
            if "#" in name:
                rows += [("node#attr.name", name, k), ("node#attr.value", f"{number}.{k}", k)]
            else:
                rows.append((f"node#attr:{name}", f"{number}.{k}", k))
        if names:
            found.append(("node", number, rows))
    return found


def test_it_is_registered() -> None:
    assert load_converter("trees") is TREES


@given(st.lists(TREE_SHAPES, min_size=1, max_size=4))
@settings(deadline=None)
def test_any_trees_are_told_by_their_instances(trees: list[Tree]) -> None:
    structures = convert(records_of(trees))

    assert [facts(s) for s in structures] == [expected(tree) for tree in trees]
    assert [s.record_id for s in structures] == [f"s#{n}" for n in range(len(trees))]
    assert {s.kind for s in structures} <= {StructureKind.TREE}


def test_a_small_document_is_as_drawn() -> None:
    data = b"<!DOCTYPE html><p id=a b>x"

    (structure,) = convert(
        doms_to_records([ParsedDocument(file=FILE, size=len(data), data=data, parsed=parse_columns(data))])
    )

    assert [o.content.text for o in structure.occurrences] == ["html", "html", "head", "body", "p", "a", "", "x"]
    assert structure.occurrences[0].content == Content(ContentKind.TEXT, b"html", "doctype")
    assert facts(structure)[-3:] == [
        ("child", 4, [("child#PARENT", "body", 0), ("child#CHILD", "p", 0)]),
        ("node", 4, [("node#node", "p", 0), ("node#attr:id", "a", 0), ("node#attr:b", "", 1)]),
        ("child", 5, [("child#PARENT", "p", 0), ("child#CHILD", "x", 0)]),
    ]
    assert structure.document == data
    assert structure.source == (2, 0, len(data))


def test_occurrences_are_in_document_order_with_attributes_after_their_node() -> None:
    (structure,) = convert(records_of([[(-1, ["a"]), (0, []), (0, ["a", "b"])]]))

    assert [o.content.text for o in structure.occurrences] == ["0", "0.0", "1", "2", "2.0", "2.1"]


def test_a_key_stands_before_its_node_and_in_the_instance_that_places_it() -> None:
    records = records_of([[(-1, []), (0, ["a"]), (0, [])], [(-1, []), (0, [])]], has_spans=True)
    keys = np.array([NO_ROW, records.node_content[2], NO_ROW, NO_ROW, records.node_content[0]], np.uint32)

    first, second = convert(replace(records, node_key=keys))

    assert [o.content.text for o in first.occurrences] == ["0", "2", "1", "1.0", "2"]
    assert [o.span for o in first.occurrences] == [(0, 0), None, (1, 1), None, (2, 2)]
    assert facts(first) == [
        ("root", 0, [("root#node", "0", 0)]),
        ("child", 1, [("child#PARENT", "0", 0), ("child#KEY", "2", 0), ("child#CHILD", "1", 0)]),
        ("node", 1, [("node#node", "1", 0), ("node#attr:a", "1.0", 0)]),
        ("child", 2, [("child#PARENT", "0", 0), ("child#CHILD", "2", 1)]),
    ]
    assert facts(second)[1] == ("child", 1, [("child#PARENT", "0", 0), ("child#KEY", "0", 0), ("child#CHILD", "1", 0)])


def test_spans_belong_to_nodes_and_not_to_attributes() -> None:
    (structure,) = convert(records_of([[(-1, ["a"]), (0, [])]], has_spans=True))

    assert [o.span for o in structure.occurrences] == [(0, 0), None, (1, 1)]


def test_an_empty_tree_is_an_empty_structure() -> None:
    (structure,) = convert(records_of([[]]))

    assert structure.occurrences == structure.instances == structure.incidences == ()


@pytest.mark.parametrize("folder", ["sample_data/html", "data/kg/html"])
def test_every_document_gives_a_valid_structure(request: Any, folder: str) -> None:
    path: Path = request.getfixturevalue("root" if folder.startswith("sample") else "shared") / folder
    files = find_inputs([str(path)], suffixes=HTML.suffixes)

    assert files
    for file in files:
        (records,) = HTML.read(InputSlice(file=file), HtmlOptions(), lambda e: pytest.fail(str(e)))
        batch = TREES.convert(records, TreeOptions())
        tables = (pa.Table.from_batches([b]) for b in (batch.structures, batch.contents, batch.labels))
        check_structures(*tables, file.name)
        assert len(batch.structures["tau"][0]) == len(records.node_parent) + len(records.attribute_role)
