"""Sentences in a terminal: what can be read from the lines is the tree, and nothing is wider than asked."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from drawn_sentences import HOSTILE, LIFTED, PAPER_SENTENCES, sentences, trees, untagged
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.drawing import Sentence, draw_binary_head_tree, draw_sentence
from lisdata.drawing.display_width import display_width, to_printable

GOLDEN = Path(__file__).parents[1] / "golden" / "drawings"
WIDTHS = st.integers(24, 90)


@pytest.mark.parametrize("name", PAPER_SENTENCES)
def test_the_papers_sentences_are_drawn_as_the_golden_files_have_them(name: str) -> None:
    """LISDATA_WRITE_GOLDEN=1 writes the files anew: look at the drawings before they are kept."""
    sentence, path = PAPER_SENTENCES[name], GOLDEN / f"{name}.txt"

    drawn = [draw_sentence(sentence), draw_sentence(sentence, width=40), draw_binary_head_tree(sentence)]

    found = "\n\n".join(drawn) + "\n"
    if os.environ.get("LISDATA_WRITE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


def read_tree(drawing: str, words: list[str]) -> list[int]:
    """Follow the line of each arrow head back to its head, as an eye does."""
    lines = drawing.split("\n")
    bottom = next(row for row, line in enumerate(lines) if "▼" in line)
    rows = [line.ljust(max(map(len, lines))) for line in lines[:bottom]]
    middles, begin = [], 0
    for word in words:
        begin = lines[bottom + 1].index(word, begin)
        middles.append(begin + (len(word) - 1) / 2)
        begin += len(word)

    def word_at(column: int) -> int:
        return min(range(len(words)), key=lambda index: abs(middles[index] - column)) + 1

    heads = [-1] * len(words)
    for column in (c for c, character in enumerate(lines[bottom]) if character == "▼"):
        row, at = bottom - 1, column
        while rows[row][column] in "│┆┼":
            row -= 1
        corner = rows[row][column]
        if corner in "╭╮":
            step, ends = (1, "╮┤") if corner == "╭" else (-1, "╭├")
            at += step
            while rows[row][at] not in ends:
                at += step
        heads[word_at(column) - 1] = word_at(at) if corner in "╭╮" else 0
    return heads


@settings(max_examples=60, deadline=None)
@given(trees(), st.data())
def test_the_tree_can_be_read_back_from_the_lines_even_where_they_cross(heads: list[int], data: st.DataObject) -> None:
    words = [data.draw(st.text("abc", min_size=1, max_size=9)) for _ in heads]

    drawing = draw_sentence(untagged(words, list(heads), ["root" if head == 0 else "d" for head in heads]))

    assert read_tree(drawing, words) == heads


@settings(max_examples=60, deadline=None)
@given(trees(), st.none() | WIDTHS)
def test_each_label_is_in_the_drawing_whole(heads: list[int], width: int | None) -> None:
    sentence = untagged(["w"] * len(heads), list(heads))

    drawing = draw_sentence(sentence, width=width)

    assert [label for label in sentence.deprels if label not in drawing] == []


@settings(max_examples=60, deadline=None)
@given(trees(max_words=30), WIDTHS)
def test_each_word_stands_once_and_in_order_with_its_arrow(heads: list[int], width: int) -> None:
    words = [f"w{number}" for number in range(1, len(heads) + 1)]

    drawing = draw_sentence(untagged(words, list(heads)), width=width)

    lines = [line.split() for line in drawing.split("\n")]
    assert [part for line in lines if line and set(line) <= set(words) for part in line] == words
    assert drawing.count("▼") == len(words)


@settings(max_examples=100, deadline=None)
@given(sentences(), WIDTHS)
def test_no_line_is_wider_than_asked_or_holds_what_cannot_be_shown(sentence: Sentence, width: int) -> None:
    drawing = draw_sentence(sentence, width=width)

    assert all(display_width(line) <= width and line == line.rstrip() for line in drawing.split("\n"))
    assert set(drawing).isdisjoint(set("\x00\x07\t\x1b\x7f\x9f\ud800\udfff\u202e\u00ad\ufffe\uffff"))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(HOSTILE.replace(" ", ""), min_size=1, max_size=9), min_size=1, max_size=6))
def test_hostile_and_wide_words_are_kept_in_order(words: list[str]) -> None:
    heads: list[int | None] = [0, *([1] * (len(words) - 1))]

    line = draw_sentence(untagged(words, heads)).split("\n")[-1]

    assert line.split() == [to_printable(word) for word in words]


def test_the_arrow_stands_over_the_middle_of_a_wide_word() -> None:
    arrows, words = draw_sentence(untagged(["彼女", "は", "読む"], [3, 1, 0], ["nsubj", "case", "root"])).split("\n")[
        -2:
    ]

    places = [column for column, character in enumerate(arrows) if character == "▼"]
    begins = [display_width(words[: words.index(word)]) for word in ("彼女", "は", "読む")]
    assert all(begin <= place < begin + 4 for begin, place in zip(begins, places, strict=True))


def test_a_lifted_arc_is_dashed_at_its_own_head_and_noted() -> None:
    drawing = draw_sentence(LIFTED)

    assert "┄nmod┄" in drawing
    assert drawing.endswith("\n\nword 7: its head is 2; lifted to 4")


def test_tags_of_another_tree_are_not_called_lifted() -> None:
    drawing = draw_sentence(replace(PAPER_SENTENCES["this_is_a_test"], heads=(0, 1, 1, 1)))

    assert "word 2: its head is 1; by the tags it hangs from 4" in drawing
    assert "lifted" not in drawing


def test_without_heads_the_arcs_are_those_of_the_tags() -> None:
    sentence = PAPER_SENTENCES["she_reads_interesting_books"]

    drawing = draw_sentence(replace(sentence, heads=(None,) * 4, deprels=(None,) * 4))

    assert read_tree(drawing, list(sentence.words)) == [2, 0, 4, 2]
    assert drawing.endswith("the arcs are those of the tags")


def test_a_head_that_is_no_word_and_tags_of_no_tree_are_noted() -> None:
    drawing = draw_sentence(
        Sentence(words=("a", "b"), heads=(9, 2), deprels=("x", "y"), terminal=(1, 1), nonterminal=(0, 0))
    )

    assert "word 1: its head is 9, in a sentence of 2 words" in drawing
    assert "word 2: its head is 2" in drawing
    assert "the tags hold no tree: " in drawing
    assert "▼" not in drawing


def test_an_arc_between_panels_names_the_word_at_its_other_end() -> None:
    drawing = draw_sentence(PAPER_SENTENCES["she_reads_interesting_books"], width=36)

    first, second = drawing.split("\n\n")
    assert "obj→4" in first
    assert "2→obj" in second


def test_too_narrow_a_width_is_refused() -> None:
    with pytest.raises(ValueError, match="width=23 is too narrow"):
        draw_sentence(LIFTED, width=23)
    with pytest.raises(ValueError, match="width=23 is too narrow"):
        draw_binary_head_tree(LIFTED, width=23)
