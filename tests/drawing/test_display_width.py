"""Columns of a terminal."""

from __future__ import annotations

import pytest
from drawn_sentences import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

from lisdata.drawing.display_width import center, cut_to_width, display_width, to_printable, wrap_to_width

texts = st.text(st.sampled_from(HOSTILE) | st.characters(), max_size=30).map(to_printable)


@pytest.mark.parametrize(
    ("text", "width"),
    [("", 0), ("abc", 3), ("e\u0301", 1), ("日本語", 6), ("ｱ", 1), ("한", 2), ("\u1112\u1161\u11ab", 2), ("╭─▼↗⇗", 5)],
)
def test_marks_take_no_column_and_wide_characters_two(text: str, width: int) -> None:
    assert display_width(text) == width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\x00", "a␉b␀"),
        ("\x7f\x9b", "␡�"),
        ("\ud800x", "�x"),
        ("\u202eabc\u00ad", "�abc�"),
        ("\u2028\ufffe\ufdd0", "���"),
        ("\u0301a", "◌\u0301a"),
        ("क्\u200dष", "क्\u200dष"),
    ],
)
def test_what_cannot_be_shown_is_replaced(text: str, shown: str) -> None:
    assert to_printable(text) == shown


@given(texts, st.integers(0, 12))
def test_a_cut_text_fits_and_begins_as_the_whole_does(text: str, width: int) -> None:
    cut = cut_to_width(text, width)

    assert display_width(cut) <= width
    assert cut == text or text.startswith(cut.removesuffix("…"))


@given(texts, st.integers(2, 12))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text: str, width: int) -> None:
    lines = wrap_to_width(text, width)

    assert all(display_width(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@given(texts, st.integers(0, 9))
def test_a_centred_text_fills_its_columns(text: str, more: int) -> None:
    filled = center(text, display_width(text) + more)

    assert display_width(filled) == display_width(text) + more
    assert filled.strip(" ") == text.strip(" ")
