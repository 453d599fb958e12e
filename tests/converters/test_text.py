from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import ContentBuilder, LabelBuilder, Role, entity, word
from lisdata.converters import words
from lisdata.converters.text import TEXT, TextStructureOptions
from lisdata.inputs import InputFile
from lisdata.invariants import check_structures
from lisdata.records import TextRecords
from lisdata.registry import load_converter
from lisdata.schema import ContentKind, StructureKind
from lisdata.structure import Structure
from lisdata.structure_batch import StructureBatch

FILE = InputFile(index=3, path="a", name="a", size=0, digest="d", scope="s", compression=None)
Mention = tuple[int, int, str]
Field = tuple[Role, str, int]


def records_of(units: list[tuple[bytes, list[Mention], list[Field]]]) -> TextRecords:
    """A table of units: bytes, mentions (begin, end, name), fields (role, text, number of the mention or -1)."""
    labels = LabelBuilder()
    contents = ContentBuilder(labels)
    documents = [document for document, _, _ in units]
    mentions = [m for _, found, _ in units for m in found]
    firsts = np.cumsum([0, *(len(found) for _, found, _ in units)])
    fields = [
        (labels.role(role), contents.add(ContentKind.JSON_STR, text.encode()), about if about < 0 else first + about)
        for (_, _, found), first in zip(units, firsts[:-1], strict=True)
        for role, text, about in found
    ]
    names = [contents.add_content(entity(name)) for _, _, name in mentions]
    ends = np.cumsum([len(document) + 10 for document in documents], dtype=np.uint64)
    return TextRecords(
        file=FILE,
        unit="record",
        documents=pa.array(documents, pa.large_binary()),
        begin=ends - np.array([len(document) + 10 for document in documents], np.uint64),
        end=ends,
        contents=contents.to_arrow(),
        labels=labels.to_arrow(),
        mention_offsets=firsts.astype(np.int64),
        mention_begin=np.array([m[0] for m in mentions], np.uint64),
        mention_end=np.array([m[1] for m in mentions], np.uint64),
        mention_content=np.array(names, np.uint32),
        field_offsets=np.cumsum([0, *(len(found) for _, _, found in units)], dtype=np.int64),
        field_role=np.array([f[0] for f in fields], np.uint32),
        field_content=np.array([f[1] for f in fields], np.uint32),
        field_mention=np.array([f[2] for f in fields], np.int64),
    )


def convert(*units: tuple[bytes, list[Mention], list[Field]]) -> list[Structure]:
    batch = TEXT.convert(records_of(list(units)), TextStructureOptions())
    check(batch)
    return [Structure.from_arrow(batch, row) for row in range(len(units))]


def check(batch: StructureBatch) -> None:
    tables = [pa.Table.from_batches([b]) for b in (batch.structures, batch.contents, batch.labels)]
    check_structures(tables[0], tables[1], tables[2], "text")


def tokens(structure: Structure) -> list[tuple[str, str]]:
    """How each token is written and what it shows, by position."""
    found = [i for i in structure.incidences if i.role.side == "token"]
    assert [i.position for i in found] == list(range(len(found)))
    assert {i.instance for i in found} <= {0}
    return [(structure.surface(i.occurrence), structure.occurrences[i.occurrence].content.text) for i in found]


def apart(structure: Structure) -> list[tuple[int, str, list[str]]]:
    """Ordinal, spelling and fields of each mention that has an instance of its own."""
    found = []
    for number, instance in enumerate(structure.instances):
        if instance.label == "mention":
            own = [i for i in structure.incidences if i.instance == number]
            assert own[0].role == Role("mention", "span")
            fields = [structure.occurrences[i.occurrence].content.text for i in own[1:]]
            found.append((instance.ordinal, structure.surface(own[0].occurrence), fields))
    return found


def test_it_is_registered() -> None:
    assert load_converter("text") is TEXT


def test_table_2_s_sentence_shows_its_entities_in_place_of_words() -> None:
    text = b"Aspirin inhibits COX-2 to reduce inflammation"
    mentions = [(0, 7, "Aspirin"), (17, 22, "COX-2"), (33, 45, "Inflammation")]

    (structure,) = convert((text, mentions, []))

    assert tokens(structure) == [
        ("Aspirin", "Aspirin"),
        ("inhibits", "inhibits"),
        ("COX-2", "COX-2"),
        ("to", "to"),
        ("reduce", "reduce"),
        ("inflammation", "Inflammation"),
    ]
    shown = [o.content for o in structure.occurrences]
    assert shown[:2] == [entity("Aspirin"), word("inhibits")]
    assert shown[5] == entity("Inflammation")
    assert [e.label for e in structure.instances] == ["record"]


def test_rows_name_their_source_and_units_keep_apart() -> None:
    first, empty, last = convert((b"a\n", [], []), (b"", [], []), (b"b c", [], []))

    assert [s.record_id for s in (first, empty, last)] == ["s#0", "s#12", "s#22"]
    assert [s.source for s in (first, empty, last)] == [(3, 0, 12), (3, 12, 22), (3, 22, 35)]
    assert {s.kind for s in (first, empty, last)} == {StructureKind.TEXT}
    assert [tokens(s) for s in (first, empty, last)] == [[("a", "a")], [], [("b", "b"), ("c", "c")]]
    assert [s.document for s in (first, empty, last)] == [b"a\n", b"", b"b c"]


def test_a_word_ends_where_its_unit_does() -> None:
    found = convert((b"one", [], []), (b"two-", [], []), (b"three", [], []), ("é".encode(), [], []))

    assert [[surface for surface, _ in tokens(s)] for s in found] == [["one"], ["two", "-"], ["three"], ["é"]]


def test_a_word_is_cut_where_a_mention_is() -> None:
    (structure,) = convert((b"pre-COX-2ase", [(4, 9, "COX-2")], []))

    assert tokens(structure) == [("pre", "pre"), ("-", "-"), ("COX-2", "COX-2"), ("ase", "ase")]


def test_of_mentions_that_overlap_the_longest_then_the_first_is_the_token() -> None:
    text = b"New York City Hall"
    mentions = [(0, 8, "NY"), (0, 13, "NYC"), (9, 18, "hall"), (14, 18, "h"), (0, 0, "none")]

    (structure,) = convert((text, mentions, []))

    assert tokens(structure) == [("New York City", "NYC"), ("Hall", "h")]
    assert apart(structure) == [(0, "New York", []), (2, "City Hall", []), (4, "", [])]


def test_a_mention_with_fields_is_a_token_and_has_an_instance() -> None:
    fields = [(Role("mention", "field:type"), "gene", 1), (Role("record", "field:year"), "1999", -1)]

    (structure,) = convert((b"a b", [(0, 1, "A"), (2, 3, "B")], fields))

    assert tokens(structure) == [("a", "A"), ("b", "B")]
    assert apart(structure) == [(1, "b", ["gene"])]
    (year,) = [i for i in structure.incidences if i.role == Role("record", "field:year")]
    assert (year.instance, structure.occurrences[year.occurrence].span) == (0, None)


def test_mentions_out_of_text_order_all_keep_their_number() -> None:
    (structure, other) = convert((b"a b", [(2, 3, "B"), (0, 1, "A")], []), (b"a b", [(0, 1, "A"), (2, 3, "B")], []))

    assert tokens(structure) == tokens(other) == [("a", "A"), ("b", "B")]
    assert apart(structure) == [(0, "b", []), (1, "a", [])]
    assert apart(other) == []


@st.composite
def units(draw: st.DrawFn) -> Any:
    document = draw(st.text(st.sampled_from("ab -é漢\n"), max_size=12))
    borders = [len(document[:i].encode()) for i in range(len(document) + 1)]
    spans = st.tuples(st.sampled_from(borders), st.sampled_from(borders), st.sampled_from("AB"))
    mentions = [(min(a, b), max(a, b), name) for a, b, name in draw(st.lists(spans, max_size=5))]
    about = st.integers(-1, len(mentions) - 1)
    fields = draw(st.lists(st.tuples(st.just(Role("x", "y")), st.sampled_from("pq"), about), max_size=3))
    return document.encode(), mentions, fields


@settings(deadline=None)
@given(batch=st.lists(units(), min_size=1, max_size=5))
def test_no_mention_field_or_character_is_lost(batch: Any) -> None:
    for (document, mentions, fields), structure in zip(batch, convert(*batch), strict=True):
        shown = [o for o in structure.occurrences if o.content.kind == ContentKind.ENTITY]
        assert sorted((*o.span, o.content.text) for o in shown if o.span) == sorted(mentions)
        assert sorted(o.content.text for o in structure.occurrences if o.span is None) == sorted(f[1] for f in fields)
        written = [structure.occurrences[i.occurrence].span for i in structure.incidences if i.role.side == "token"]
        ends = [0, *(end for _, end in written), len(document)]  # type: ignore[misc]
        begins = [*(begin for begin, _ in written), len(document)]  # type: ignore[misc]
        assert all(e <= b and not document[e:b].strip() for e, b in zip(ends, begins, strict=False))


@settings(deadline=None)
@given(batch=st.lists(units(), min_size=1, max_size=5), size=st.integers(1, 12))
def test_the_size_of_chunks_changes_nothing(batch: Any, size: int) -> None:
    expected = TEXT.convert(records_of(batch), TextStructureOptions())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "CHUNK_BYTES", size)
        found = TEXT.convert(records_of(batch), TextStructureOptions())

    assert found.structures.equals(expected.structures)
    assert found.contents.equals(expected.contents)
    assert found.labels.equals(expected.labels)


@pytest.mark.parametrize("text", ["Now is the winter of our discontent, ", "漢字、仮名、", "l'\u00e9t\u00e9 \u00e0 "])
def test_a_long_unit_takes_little_more_memory_than_its_structure(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "CHUNK_BYTES", 64 << 10)
    records = records_of([(text.encode() * 100_000, [], [])])
    convert((b"a", [], []))
    tracemalloc.start()

    batch = TEXT.convert(records, TextStructureOptions())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    own = batch.structures.nbytes - len(records.documents[0].as_py())
    assert own / 2 < peak < own + 3 * len(text.encode()) * 100_000


def test_a_batch_without_units_has_no_structures() -> None:
    batch = TEXT.convert(records_of([]), TextStructureOptions())

    assert (batch.structures.num_rows, batch.contents.num_rows) == (0, 0)
