"""Sentences from structures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from drawn_sentences import PAPER_SENTENCES

from lisdata.contents import Role, word
from lisdata.drawing import Sentence, iter_sentences
from lisdata.schema import StructureKind
from lisdata.structure import Incidence, Instance, Occurrence, Structure

SHE_READS = PAPER_SENTENCES["she_reads_interesting_books"]


def parsed(text: str, head: int) -> Occurrence:
    return Occurrence(content=word(text), head=head, deprel="d")


def sequence(*sentences: list[Occurrence]) -> Structure:
    """Return a document of sentences, an instance each."""
    places = [(number, place) for number, words in enumerate(sentences) for place in range(len(words))]
    return Structure(
        record_id="x#0",
        kind=StructureKind.TEXT,
        occurrences=tuple(occurrence for words in sentences for occurrence in words),
        instances=tuple(Instance(label="sentence", ordinal=number) for number in range(len(sentences))),
        incidences=tuple(
            Incidence(occurrence=index, instance=number, role=Role("sentence", "token"), position=place)
            for index, (number, place) in enumerate(places)
        ),
    )


def test_a_structure_of_the_schema_s_examples_is_the_papers_sentence(root: Path) -> None:
    path = root / "schemas" / "examples" / "v1" / "valid" / "sentence_with_hexatags.json"
    structure = Structure.from_dict(json.loads(path.read_text(encoding="utf-8"))["structures"][0])

    sentence = Sentence.from_structure(structure)

    assert sentence is not None
    for name in ("words", "heads", "deprels", "terminal"):
        assert getattr(sentence, name) == getattr(SHE_READS, name)


def test_a_structure_without_heads_and_tags_has_no_sentence(root: Path) -> None:
    path = root / "schemas" / "examples" / "v1" / "valid" / "two_sentence_document.json"
    structure = Structure.from_dict(json.loads(path.read_text(encoding="utf-8"))["structures"][0])

    assert Sentence.from_structure(structure) is None


def test_sentences_of_one_structure_are_kept_apart_since_their_heads_are() -> None:
    structure = sequence([parsed("Ice", 2), parsed("melts", 0)], [parsed("Water", 2), parsed("flows", 0)])

    assert [(s.words, s.heads) for s in iter_sentences(structure)] == [
        (("Ice", "melts"), (2, 0)),
        (("Water", "flows"), (2, 0)),
    ]


def test_words_come_in_the_order_of_their_positions_and_notes_do_not_count() -> None:
    structure = sequence([parsed("Ice", 2), parsed("melts", 0), Occurrence(content=word("a note"))])
    backwards = replace(structure, incidences=structure.incidences[::-1])

    sentence = Sentence.from_structure(backwards)

    assert sentence is not None
    assert sentence.words == ("Ice", "melts")


def test_depths_are_those_of_the_decoder_s_stack() -> None:
    assert SHE_READS.stack_depths() == [1, 1, 2, 1]
    assert PAPER_SENTENCES["this_is_a_test"].stack_depths() == [1, 2, 2, 1]


def test_columns_of_other_lengths_and_ids_that_are_no_tags_are_refused() -> None:
    with pytest.raises(ValueError, match="4 words have 3 heads"):
        replace(SHE_READS, heads=(0, 1, 1))
    with pytest.raises(ValueError, match="2 is no terminal tag"):
        replace(SHE_READS, terminal=(0, 1, 2, 1))
    with pytest.raises(ValueError, match="-100 is no nonterminal tag"):
        replace(SHE_READS, nonterminal=(0, 1, 2, -100))
