from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import Content
from lisdata.converters.documents import DOCUMENTS, DocumentStructureOptions
from lisdata.inputs import InputFile
from lisdata.invariants import check_structures
from lisdata.records import DocumentRecords
from lisdata.registry import load_converter
from lisdata.schema import ContentKind, StructureKind
from lisdata.sources.document_units import DocumentUnits
from lisdata.structure import Structure

FILE = InputFile(index=1, path="d", name="d", size=0, digest="d", scope="s", compression=None)
WORDS = b"one two three four five six seven eight"
CUTS = [0, *(n + 1 for n, byte in enumerate(WORDS) if byte == ord(" ")), len(WORDS)]

# The label and the parent of each unit behind the document, and the unit that each of eight words belongs to, if any.
Shape = tuple[list[tuple[str, int]], list[int | None]]
SHAPES: st.SearchStrategy[Shape] = st.lists(
    st.tuples(st.sampled_from(["section", "p"]), st.integers(0, 9)), max_size=6
).flatmap(
    lambda units: st.tuples(
        st.just([(label, min(parent, number)) for number, (label, parent) in enumerate(units)]),
        st.lists(st.none() | st.integers(0, len(units)), min_size=8, max_size=8),
    )
)


def records_of(shapes: list[Shape]) -> DocumentRecords:
    units = DocumentUnits()
    for inner, owners in shapes:
        units.add("document", -1, 0, len(WORDS))
        for label, parent in inner:
            units.add(label, parent, 3, 9)
        for (begin, end), owner in zip(pairwise(CUTS), owners, strict=True):
            if owner is not None:
                units.add_text(owner, [(begin, end)])
        units.close_document()
    begin = np.arange(len(shapes), dtype=np.uint64) * np.uint64(len(WORDS))
    documents = pa.array([WORDS] * len(shapes), pa.large_binary())
    return units.to_records(FILE, documents, begin, begin + np.uint64(len(WORDS)))


def convert(records: DocumentRecords) -> list[Structure]:
    batch = DOCUMENTS.convert(records, DocumentStructureOptions())
    tables = (pa.Table.from_batches([b]) for b in (batch.structures, batch.contents, batch.labels))
    check_structures(*tables, "documents")
    return [Structure.from_arrow(batch, row) for row in range(batch.structures.num_rows)]


def test_it_is_registered() -> None:
    assert load_converter("documents") is DOCUMENTS


@settings(deadline=None)
@given(st.lists(SHAPES, min_size=1, max_size=4))
def test_any_documents_are_told_by_their_instances(shapes: list[Shape]) -> None:
    structures = convert(records_of(shapes))

    assert len(structures) == len(shapes)
    for structure, (inner, owners) in zip(structures, shapes, strict=True):
        labels = ["document", *(label for label, _ in inner)]
        assert [e.label for e in structure.instances] == labels
        assert [e.ordinal for e in structure.instances] == list(range(len(labels)))
        handles = [o.content for o in structure.occurrences if o.content.kind == ContentKind.INSTANCE]
        assert [None, *handles] == [e.handle for e in structure.instances]
        seen: Counter[tuple[int, str]] = Counter()
        expected = []
        words = [(owner, text) for owner, text in zip(owners, WORDS.decode().split(), strict=True) if owner is not None]
        for owner, side in [*((parent, "child") for _, parent in inner), *((owner, "token") for owner, _ in words)]:
            expected.append((owner, f"{labels[owner]}#{side}", seen[owner, side]))
            seen[owner, side] += 1
        assert [(i.instance, i.role.label, i.position) for i in structure.incidences] == expected
        assert [i.occurrence for i in structure.incidences] == list(range(len(expected)))
        spelled = [structure.surface(n) for n in range(len(handles), len(expected))]
        assert spelled == [text for _, text in words]


def test_handles_are_named_by_the_bytes_of_the_file_and_never_alike() -> None:
    structures = convert(records_of([([("p", 0), ("p", 0), ("section", 0)], [None] * 8)] * 2))

    assert [e.handle for s in structures for e in s.instances] == [
        handle
        for offset in (3, 3 + len(WORDS))
        for handle in (
            None,
            Content(ContentKind.INSTANCE, b"p %d" % offset, scope="s"),
            Content(ContentKind.INSTANCE, b"p %d.1" % offset, scope="s"),
            Content(ContentKind.INSTANCE, b"section %d" % offset, scope="s"),
        )
    ]


def test_an_empty_document_is_one_instance() -> None:
    (structure,) = convert(records_of([([], [None] * 8)]))

    assert structure.kind == StructureKind.TEXT
    assert [e.label for e in structure.instances] == ["document"]
    assert structure.occurrences == structure.incidences == ()
    assert structure.document == WORDS
    assert structure.source == (1, 0, len(WORDS))


def test_words_end_where_their_segment_ends() -> None:
    units = DocumentUnits()
    units.add("document", -1, 0, 6)
    units.add_text(0, [(0, 2), (2, 6)])
    units.close_document()
    begin = np.zeros(1, np.uint64)

    (structure,) = convert(units.to_records(FILE, pa.array([b"ab'cde"], pa.large_binary()), begin, begin))

    assert [structure.surface(n) for n in range(len(structure.occurrences))] == ["ab", "'", "cde"]
