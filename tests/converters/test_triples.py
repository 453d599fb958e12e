"""Triples and quads to structures."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.content_invariants import check_contents
from lisdata.contents import Content, ContentBuilder, LabelBuilder, Role, entity
from lisdata.converters.triples import TRIPLES, TriplesOptions
from lisdata.inputs import InputFile
from lisdata.invariants import check_structures
from lisdata.records import TripleRecords
from lisdata.registry import load_converter
from lisdata.schema import NO_ROW, ContentKind, StructureKind
from lisdata.sources.rdf_grouping import Grouping
from lisdata.structure import Structure
from lisdata.structure_batch import StructureBatch, StructureBuilder

Quad = tuple[Content, Content, Content, Content | None]
FILE = InputFile(index=3, path="a.nt", name="a.nt", size=0, digest="d", scope="d", compression=None)
WIDTH = 10  # bytes of a line

NODES = st.sampled_from([entity("a:a"), entity("a:b"), Content(ContentKind.BNODE, b"b", scope="d")])
LITERALS = st.sampled_from(
    [Content(ContentKind.LITERAL, b"x", language="en"), Content(ContentKind.LITERAL, b"x", "a:t")]
)
PREDICATES = st.sampled_from([entity("a:p#q"), entity("a:é"), entity("a:a")])
QUADS = st.lists(st.tuples(NODES, PREDICATES, NODES | LITERALS, st.none() | NODES), max_size=12)
GROUPS = st.sampled_from(["subject", "graph", "none", "3"])


def records_of(
    quads: list[Quad], group_by: str = "subject", *, with_graphs: bool = True, numbered: bool = False
) -> TripleRecords:
    contents = ContentBuilder(LabelBuilder())
    rows = np.array([[NO_ROW if c is None else contents.add_content(c) for c in q] for q in quads], np.uint32)
    subject, predicate, object_, graph = rows.reshape(-1, 4).T
    begin = np.arange(len(quads), dtype=np.uint64) * WIDTH
    return TripleRecords(
        file=FILE,
        contents=contents.to_arrow(),
        labels=contents.labels.to_arrow(),
        subject_content=subject,
        predicate_content=predicate,
        object_content=object_,
        graph_content=graph if with_graphs else None,
        structure_offsets=Grouping(group_by).offsets(subject, graph if with_graphs else None),
        begin=np.zeros_like(begin) if numbered else begin,
        end=begin + WIDTH,
        ordinal=np.arange(len(quads), dtype=np.uint64) if numbered else None,
    )


def convert(quads: list[Quad], group_by: str) -> StructureBatch:
    return TRIPLES.convert(records_of(quads, group_by), TriplesOptions())


def structures_of(batch: StructureBatch) -> list[Structure]:
    return [Structure.from_arrow(batch, row) for row in range(batch.structures.num_rows)]


def expected(quads: list[Quad], group_by: str) -> list[Structure]:
    """The structures built one by one."""
    builder = StructureBuilder()
    numbered = list(enumerate(quads))
    keys = {"subject": lambda pair: pair[1][0], "graph": lambda pair: pair[1][3], "none": lambda pair: pair[0]}
    for _, run in groupby(numbered, key=keys.get(group_by, lambda pair: pair[0] // 3)):
        facts = list(run)
        begin, end = facts[0][0] * WIDTH, (facts[-1][0] + 1) * WIDTH
        builder.begin(StructureKind.TRIPLES, f"d#{begin}", file=3, begin=begin, end=end)
        shown: list[Content | None] = [None, None]
        at = [0, 0]
        for number, (subject, predicate, object_, graph) in facts:
            instance = builder.instance(predicate.text, ordinal=number * WIDTH)
            for which, content, side in ((0, subject, "subject"), (None, object_, "object"), (1, graph, "graph")):
                if content is None:
                    shown[1] = None
                    continue
                if which is None or shown[which] != content:
                    occurrence = builder.occurrence(builder.contents.add_content(content))
                if which is not None:
                    if shown[which] == content:
                        occurrence = at[which]
                    shown[which], at[which] = content, occurrence
                builder.incidence(occurrence, instance, Role(predicate.text, side))
        builder.end()
    return structures_of(builder.finish())


def test_it_is_registered() -> None:
    assert load_converter("triples") is TRIPLES


@settings(deadline=None)
@given(quads=QUADS, group_by=GROUPS)
def test_structures_equal_those_built_one_by_one(quads: list[Quad], group_by: str) -> None:
    batch = convert(quads, group_by)

    assert structures_of(batch) == expected(quads, group_by)
    tables = [pa.Table.from_batches([b]) for b in (batch.structures, batch.contents, batch.labels)]
    check_structures(*tables, "structures")
    check_contents(tables[1], tables[2], "contents")


@settings(deadline=None)
@given(quads=QUADS.map(lambda quads: [(s, p, o, None) for s, p, o, _ in quads]))
def test_triples_without_graphs_are_quads_of_the_default_graph(quads: list[Quad]) -> None:
    options = TriplesOptions()

    batch = TRIPLES.convert(records_of(quads, with_graphs=False), options)

    assert structures_of(batch) == structures_of(TRIPLES.convert(records_of(quads), options))
    assert "graph" not in batch.labels["side"].to_pylist()


def test_a_run_of_one_subject_is_a_structure_and_a_second_run_another() -> None:
    a, b, p = entity("a:a"), entity("a:b"), entity("a:p")

    batch = convert([(a, p, b, None), (a, p, b, None), (b, p, a, None), (a, p, b, None)], "subject")

    assert [len(s.instances) for s in structures_of(batch)] == [2, 1, 1]


def test_a_numbered_triple_has_its_number_as_ordinal_and_record_id() -> None:
    a, b, p = entity("a:a"), entity("a:b"), entity("a:p")

    batch = TRIPLES.convert(
        records_of([(a, p, b, None), (a, p, b, None), (b, p, a, None)], numbered=True), TriplesOptions()
    )

    structures = structures_of(batch)
    assert [s.record_id for s in structures] == ["d#0", "d#2"]
    assert [[i.ordinal for i in s.instances] for s in structures] == [[0, 1], [2]]


def test_a_predicate_is_a_label_and_no_content_unless_it_is_also_a_term() -> None:
    a, b, p = entity("a:a"), entity("a:b"), entity("a:p")

    assert convert([(a, p, b, None)], "none").contents["lexical"].to_pylist() == [b"a:a", b"a:b"]
    assert convert([(a, p, p, None)], "none").contents["lexical"].to_pylist() == [b"a:a", b"a:p"]


@pytest.mark.parametrize("group_by", ["subject", "graph", "none", "2"])
def test_no_triples_give_no_structures(group_by: str) -> None:
    batch = convert([], group_by)

    assert (batch.structures.num_rows, batch.contents.num_rows, batch.labels.num_rows) == (0, 0, 0)
