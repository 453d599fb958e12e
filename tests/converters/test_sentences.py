from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_trees import Heads, trees

from lisdata.contents import ContentBuilder, LabelBuilder, Role
from lisdata.converters.sentences import SENTENCES, SentenceStructureOptions
from lisdata.hexatag import decode, tag_trees
from lisdata.inputs import InputFile
from lisdata.invariants import check_structures
from lisdata.records import SentenceRecords
from lisdata.registry import load_converter
from lisdata.schema import NO_ROW, ContentKind, LabelKind, StructureKind
from lisdata.structure import Structure
from lisdata.testing import read_examples

FILE = InputFile(index=3, path="a", name="a", size=0, digest="d", scope="s", compression=None)
Notes = list[tuple[str, int, str]]  # side, position, text


def records_of(sentences: list[tuple[Heads, Notes]]) -> SentenceRecords:
    """Sentences of words w1 w2 ..., whose label is "rel" where there is a head."""
    labels = LabelBuilder()
    contents = ContentBuilder(labels)
    heads = np.array([head for heads, _ in sentences for head in heads], np.int32)
    sizes, num_notes = ([len(pair[i]) for pair in sentences] for i in (0, 1))
    offsets = np.cumsum([0, *sizes], dtype=np.int64)
    names = [f"w{number}".encode() for size in sizes for number in range(1, size + 1)]
    surfaces = [b" ".join(names[a:b]) for a, b in pairwise(offsets)]
    ends = [end for size in sizes for end in np.cumsum([len(f"w{n}") for n in range(1, size + 1)]) + range(size)]
    notes = [note for _, own in sentences for note in own]
    tagged = tag_trees(heads, offsets, lift=True)
    rel = labels.code(LabelKind.DEPREL, "rel")
    return SentenceRecords(
        file=FILE,
        documents=pa.array(surfaces, pa.large_binary()),
        begin=np.arange(len(sentences), dtype=np.uint64) * 10,
        end=np.arange(len(sentences), dtype=np.uint64) * 10 + 10,
        word_offsets=offsets,
        word_content=np.array([contents.add(ContentKind.WORD, name) for name in names], np.uint32),
        word_begin=np.array([e - len(n) for e, n in zip(ends, names, strict=True)], np.uint64),
        word_end=np.array(ends, np.uint64),
        head=heads,
        deprel_label=np.where(heads < 0, NO_ROW, rel).astype(np.uint32),
        terminal=tagged.terminal,
        nonterminal=tagged.nonterminal,
        note_offsets=np.cumsum([0, *num_notes], dtype=np.int64),
        note_role=np.array([labels.role(Role("sentence", side)) for side, _, _ in notes], np.uint32),
        note_position=np.array([position for _, position, _ in notes], np.int64),
        note_content=np.array([contents.add(ContentKind.TEXT, t.encode()) for _, _, t in notes], np.uint32),
        contents=contents.to_arrow(),
        labels=labels.to_arrow(),
        counts={},
    )


def convert(*sentences: tuple[Heads, Notes], arcs: bool = True) -> list[Structure]:
    batch = SENTENCES.convert(records_of(list(sentences)), SentenceStructureOptions(arcs=arcs))
    tables = [pa.Table.from_batches([b]) for b in (batch.structures, batch.contents, batch.labels)]
    check_structures(*tables, "sentences")
    return [Structure.from_arrow(batch, row) for row in range(batch.structures.num_rows)]


def incidences(structure: Structure, instance: int) -> list[tuple[str, int, int]]:
    return [(i.role.label, i.position, i.occurrence) for i in structure.incidences if i.instance == instance]


def test_it_is_registered() -> None:
    assert load_converter("sentences") is SENTENCES


def test_a_sentence_has_the_form_of_the_published_example(root: Path) -> None:
    expected = read_examples(root / "schemas/examples/v1/valid/sentence_with_hexatags.json")[0][0]

    (found,) = convert(([2, 0, 4, 2], []))

    assert found.instances == expected.instances
    assert found.incidences == expected.incidences
    for ours, theirs in zip(found.occurrences, expected.occurrences, strict=True):
        assert (ours.head, ours.terminal, ours.nonterminal) == (theirs.head, theirs.terminal, theirs.nonterminal)


def test_words_come_first_and_notes_follow_in_the_sentence_s_instance() -> None:
    first, second = convert(([0, 1], [("comment", 0, "# c"), ("lemma", 1, "l")]), ([0], [("lemma", 0, "l")]))

    assert [(o.content.kind, o.content.text, o.span) for o in first.occurrences] == [
        (ContentKind.WORD, "w1", (0, 2)),
        (ContentKind.WORD, "w2", (3, 5)),
        (ContentKind.TEXT, "# c", None),
        (ContentKind.TEXT, "l", None),
    ]
    assert incidences(first, 0) == [
        ("sentence#token", 0, 0),
        ("sentence#token", 1, 1),
        ("sentence#comment", 0, 2),
        ("sentence#lemma", 1, 3),
    ]
    assert [(o.head, o.deprel) for o in first.occurrences] == [(0, "rel"), (1, "rel"), (None, None), (None, None)]
    assert {(o.terminal, o.nonterminal) for o in first.occurrences[2:]} == {(None, None)}
    assert incidences(first, 1) == [("dependency#parent", 0, 0), ("dependency#child", 0, 1)]
    assert incidences(second, 0) == [("sentence#token", 0, 0), ("sentence#lemma", 0, 1)]


@settings(deadline=None)
@given(drawn=st.lists(st.tuples(trees(max_words=6), st.integers(0, 3), st.booleans()), max_size=5), arcs=st.booleans())
def test_any_sentences_become_structures_that_may_stand_in_a_shard(drawn: list[Any], arcs: bool) -> None:
    notes = [("lemma", 0, "a"), ("comment", 0, "b"), ("upos", 1, "c")]
    sentences = [(heads if has_tree else [-1] * len(heads), notes[:count]) for heads, count, has_tree in drawn]

    found = convert(*sentences, arcs=arcs)

    for structure, (heads, own) in zip(found, sentences, strict=True):
        words = structure.occurrences[: len(heads)]
        assert [structure.surface(number) for number in range(len(heads))] == [o.content.text for o in words]
        assert [-1 if o.head is None else o.head for o in words] == heads
        assert len(structure.occurrences) == len(heads) + len(own)
        pairs = [(head - 1, child) for child, head in enumerate(heads) if head > 0] if arcs else []
        assert [i.label for i in structure.instances] == ["sentence", *["dependency"] * len(pairs)]
        assert [i.ordinal for i in structure.instances] == list(range(len(pairs) + 1))
        for number, (parent, child) in enumerate(pairs, 1):
            assert incidences(structure, number) == [("dependency#parent", 0, parent), ("dependency#child", 0, child)]


def test_tags_are_those_of_the_records() -> None:
    (structure,) = convert(([2, 4, 4, 0, 7, 7, 4, 4, 4], [("comment", 0, "# c")]))

    words = structure.occurrences[:9]
    heads = decode([o.terminal for o in words], [o.nonterminal for o in words])
    assert heads.tolist() == [2, 4, 4, 0, 7, 7, 4, 4, 4]


def test_rows_name_their_source() -> None:
    first, second = convert(([0], []), ([0], []))

    assert [s.record_id for s in (first, second)] == ["s#0", "s#10"]
    assert [s.source for s in (first, second)] == [(3, 0, 10), (3, 10, 20)]
    assert {s.kind for s in (first, second)} == {StructureKind.TEXT}


def test_labels_that_nothing_uses_are_not_made() -> None:
    batch = SENTENCES.convert(records_of([([2, 0], [])]), SentenceStructureOptions(arcs=False))

    assert batch.labels.column("label").to_pylist() == ["rel", "sentence", "sentence#token"]


@pytest.mark.parametrize("arcs", [True, False])
def test_a_batch_without_sentences_has_no_structures(arcs: bool) -> None:
    assert convert(arcs=arcs) == []


def test_a_sentence_without_words_is_an_instance_alone() -> None:
    (structure,) = convert(([], []))

    assert ([i.label for i in structure.instances], structure.incidences) == (["sentence"], ())
