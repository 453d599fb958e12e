"""Binary head trees: the brackets are the reference's, the drawing has each word and tag, nothing recurses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from drawn_sentences import LIFTED, PAPER_SENTENCES, make_sentence
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.drawing import Sentence, draw_binary_head_tree, to_bracket_string
from lisdata.drawing.display_width import display_width
from lisdata.errors import TagError
from lisdata.hexatag import binary_head_tree

SHE_READS = PAPER_SENTENCES["she_reads_interesting_books"]


def test_brackets_equal_those_of_the_reference(shared: Path) -> None:
    lines = (shared / "data" / "hexatag" / "golden_open.jsonl").read_text(encoding="utf-8").splitlines()

    for golden in map(json.loads, lines):
        sentence = Sentence(
            words=tuple(str(number) for number in range(1, golden["n"] + 1)),
            heads=tuple(golden["heads"]),
            deprels=tuple(golden["deprel"]),
            terminal=tuple(golden["terminal_id"]),
            nonterminal=tuple(golden["nonterminal_id"]),
        )

        assert to_bracket_string(sentence) == golden["bht_positions"], golden["id"]
        assert max(sentence.stack_depths()) == golden["max_stack_depth"]


@pytest.mark.parametrize("name", ["she_reads_interesting_books", "this_is_a_test"])
def test_brackets_are_those_of_the_tree_that_the_tags_were_read_off(name: str) -> None:
    sentence = PAPER_SENTENCES[name]

    assert to_bracket_string(sentence) == str(binary_head_tree(sentence.heads, sentence.words))


def test_the_tree_is_that_of_the_tags_even_where_another_is_canonical() -> None:
    sentence = make_sentence("Dogs chase cats", "2 0 2", "nsubj root obj", "↗⇗R ↗⇖L ↖EOS")

    assert to_bracket_string(sentence) == "(R Dogs (L chase cats))"


def test_parentheses_and_spaces_in_words_do_not_make_brackets() -> None:
    sentence = replace(SHE_READS, words=("(", "f(x)", "2 001", "\t"))

    assert to_bracket_string(sentence) == "(L (R -LRB- f-LRB-x-RRB-) (R 2_001 ␉))"


def test_the_drawing_has_the_root_above_and_the_words_below() -> None:
    lines = draw_binary_head_tree(SHE_READS).split("\n")

    assert [line.split() for line in lines[-4:-2]] == [["↗", "↖", "↗", "↖"], list(SHE_READS.words)]
    assert lines[-1] == "(L (R She reads) (R interesting books))"
    assert [lines[0].strip("╭─╮ "), lines[1].split("╮")[0].strip("╭─╮ ")] == ["⇗L", "⇗R"]


@settings(max_examples=30, deadline=None)
@given(st.integers(24, 90))
def test_strips_hold_each_word_and_node_once(width: int) -> None:
    drawing, brackets = draw_binary_head_tree(LIFTED, width=width).rsplit("\n\n", 1)

    assert all(display_width(line) <= width for line in [*drawing.split("\n"), *brackets.split("\n")])
    assert sum(drawing.count(tag) for tag in ("⇗L", "⇗R", "⇖L", "⇖R")) == 8
    assert drawing.count("↗") + drawing.count("↖") == 9
    last_lines = [strip.split("\n")[-1] for strip in drawing.split("\n\n")]
    assert " ".join(last_lines).split() == list(LIFTED.words)
    assert brackets.replace("\n", " ") == to_bracket_string(LIFTED)


def test_a_chain_of_ten_thousand_words_needs_no_recursion() -> None:
    number = 10_000
    chain = Sentence(
        words=("w",) * number,
        heads=tuple(range(number)),
        deprels=("d",) * number,
        terminal=(*([0] * (number - 1)), 1),
        nonterminal=(1, *([3] * (number - 2)), 0),
    )

    assert to_bracket_string(chain).startswith("(L w (L w (L w")


@pytest.mark.parametrize("index", [0, 3])
def test_tags_that_are_missing_or_spell_no_tree_are_refused(index: int) -> None:
    terminal = (*SHE_READS.terminal[:index], None, *SHE_READS.terminal[index + 1 :])

    with pytest.raises(TagError, match="3 of 4 words are tagged"):
        draw_binary_head_tree(replace(SHE_READS, terminal=terminal))
    with pytest.raises(TagError):
        to_bracket_string(replace(SHE_READS, terminal=(1, 1, 1, 1)))
