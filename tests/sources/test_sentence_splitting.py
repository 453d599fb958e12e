from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisdata.sources.sentence_splitting import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n", []),
        ("No stop", ["No stop"]),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Wait... what? Yes.", ["Wait... what?", "Yes."]),
        ('He said "No." Then "Why?!" I left.', ['He said "No."', 'Then "Why?!"', "I left."]),
        ("It costs 3.50 or 4. Not 5.", ["It costs 3.50 or 4.", "Not 5."]),
        ("Dr. Okafor met J. Smith, e.g. Here.", ["Dr. Okafor met J. Smith, e.g. Here."]),
        ("the end. and more", ["the end. and more"]),
        ("See (Fig. 2). Next.", ["See (Fig. 2).", "Next."]),
        ("Ende. Über alles.", ["Ende.", "Über alles."]),
        ("今日は。明日！はい", ["今日は。", "明日！", "はい"]),
        ("a…\n\nB", ["a…", "B"]),
    ],
)
def test_sentences_end_where_the_rule_says(text: str, sentences: list[str]) -> None:
    assert [text[begin:end] for begin, end in split_sentences(text)] == sentences


@given(st.text(st.sampled_from("aA. !?…。\"') \n\u2028é"), max_size=60))
def test_sentences_hold_all_but_white_space_in_order(text: str) -> None:
    spans = split_sentences(text)

    assert "".join("".join(text[begin:end].split()) for begin, end in spans) == "".join(text.split())
    assert all(text[begin:end] == text[begin:end].strip() != "" for begin, end in spans)


@pytest.mark.parametrize("piece", [".", ' "', ". ", "? ", ".\u201d", "。", "a.", " "])
def test_long_runs_are_read_once(piece: str) -> None:
    text = piece * 300_000

    spans = split_sentences(text)

    assert len(spans) <= len(text)
