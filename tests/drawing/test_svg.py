"""SVG: well formed whatever the words are, an arc a word, labels that do not hide one another."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import pytest
from drawn_sentences import LIFTED, PAPER_SENTENCES, sentences, trees, untagged
from hypothesis import given, settings

from lisdata.drawing import Sentence, svg_sentence
from lisdata.drawing.display_width import to_printable

SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {SVG + name for name in ("svg", "title", "desc", "g", "rect", "path", "text")}


def parse(sentence: Sentence) -> ElementTree.Element:
    return ElementTree.fromstring(svg_sentence(sentence).encode("utf-8"))


def of_class(document: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [found for found in document.iter() if name in found.get("class", "").split()]


@settings(max_examples=100, deadline=None)
@given(sentences())
def test_whatever_the_words_are_the_document_is_well_formed_and_runs_nothing(sentence: Sentence) -> None:
    document = parse(sentence)

    assert {found.tag for found in document.iter()} <= ALLOWED
    words = [found.text or "" for found in of_class(document, "word")]
    assert words[: len(sentence.words)] == [to_printable(word) for word in sentence.words]


@settings(max_examples=40, deadline=None)
@given(trees())
def test_each_word_has_an_arc_or_is_the_root(heads: list[int]) -> None:
    document = parse(untagged(["w"] * len(heads), list(heads)))

    assert len(of_class(document, "arc")) == len(heads) - 1
    assert len(of_class(document, "root")) == 1
    assert len(of_class(document, "arrow")) == len(heads)
    labels = [found.text for found in of_class(document, "label")]
    expected = [f"d{n:02}" if head else f"root d{n:02}" for n, head in enumerate(heads, 1)]
    assert sorted(map(str, labels)) == sorted(expected)


@settings(max_examples=40, deadline=None)
@given(trees())
def test_labels_do_not_hide_one_another_and_are_inside_the_picture(heads: list[int]) -> None:
    document = parse(untagged(["w"] * len(heads), list(heads)))
    boxes = []
    for label in of_class(document, "label"):
        x, y, half = int(label.get("x", "")), int(label.get("y", "")), 4 * len(label.text or "")
        boxes.append((x - half, y - 10, x + half, y + 2))

    width, height = map(int, document.get("viewBox", "").split()[2:])
    assert all(left >= 0 and top >= 0 and right <= width and bottom <= height for left, top, right, bottom in boxes)
    apart = [a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1] for a, b in combinations(boxes, 2)]
    assert all(apart)


def test_the_tree_below_has_a_node_a_gap_and_two_edges_a_node() -> None:
    document = parse(LIFTED)

    assert len(of_class(document, "node")) == 8
    assert len(of_class(document, "edge")) == 16
    assert [found.text for found in of_class(document, "word")] == [*LIFTED.words, *LIFTED.words]
    assert document.findtext(f"{SVG}desc", "").startswith("(L (L (L (R (R A hearing)")


def test_a_lifted_arc_is_marked_and_noted() -> None:
    document = parse(LIFTED)

    assert len(of_class(document, "lifted")) == 1
    assert "word 7: its head is 2; lifted to 4" in [found.text for found in document.iter(f"{SVG}text")]


def test_tags_of_no_tree_leave_the_tree_out_and_say_so() -> None:
    document = parse(replace(LIFTED, terminal=(1,) * 9))

    assert of_class(document, "node") == []
    assert any((found.text or "").startswith("the tags hold no tree") for found in document.iter(f"{SVG}text"))


@pytest.mark.parametrize("name", PAPER_SENTENCES)
def test_colours_do_not_depend_on_the_page_around(name: str) -> None:
    document = parse(PAPER_SENTENCES[name])

    ground = document.find(f"{SVG}rect")
    assert ground is not None
    assert ground.get("fill") == "#ffffff"
    assert (ground.get("width"), ground.get("height")) == (document.get("width"), document.get("height"))
    assert all(found.get("fill") for found in document.iter(f"{SVG}text"))
