from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.tagger.words import Tokenizer, Words, begins_lower, may_end_sentence

ANY_TEXT = st.text(st.characters() | st.sampled_from(" \n\t.!?\"'()-_1aA’"), max_size=60)


def cut(text: str, tokenizer: Tokenizer | None = None) -> list[list[str]]:
    """Return the words of each sentence."""
    return sentences_of(text, (tokenizer or Tokenizer()).cut([text]))


def sentences_of(text: str, words: Words) -> list[list[str]]:
    forms = [text[begin:end] for begin, end in zip(words.begin.tolist(), words.end.tolist(), strict=True)]
    bounds = words.offsets.tolist()
    return [forms[first:last] for first, last in pairwise(bounds)]


@settings(deadline=None)
@given(text=ANY_TEXT)
def test_words_are_all_that_is_no_white_space_in_order(text: str) -> None:
    words = Tokenizer().cut([text])

    assert (words.begin < words.end).all()
    assert (words.end[:-1] <= words.begin[1:]).all()
    assert "".join(form for sentence in sentences_of(text, words) for form in sentence) == "".join(text.split())
    assert (words.offsets[1:] > words.offsets[:-1]).all()


@settings(deadline=None)
@given(texts=st.lists(ANY_TEXT, max_size=4))
def test_a_text_is_cut_the_same_whatever_was_cut_before(texts: list[str]) -> None:
    tokenizer = Tokenizer()

    assert [cut(text, tokenizer) for text in texts] == [cut(text) for text in texts]
    for text in texts:
        words = tokenizer.cut([text])
        forms = [form for sentence in sentences_of(text, words) for form in sentence]
        assert [tokenizer.forms[row] for row in words.form.tolist()] == forms


@settings(deadline=None)
@given(texts=st.lists(ANY_TEXT, max_size=4))
def test_texts_are_cut_together_as_each_alone(texts: list[str]) -> None:
    tokenizer = Tokenizer()
    words = tokenizer.cut(texts)

    found: list[list[list[str]]] = [[] for _ in texts]
    for number, (first, last) in zip(words.text.tolist(), pairwise(words.offsets.tolist()), strict=True):
        spans = zip(words.begin[first:last].tolist(), words.end[first:last].tolist(), strict=True)
        found[number].append([texts[number][begin:end] for begin, end in spans])
    assert found == [cut(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't.", "I do n't ."),
        ("You can’t; we cannot", "You ca n’t ; we can not"),
        ("DON'T she'll John's o'clock dogs'", "DO N'T she 'll John 's o'clock dogs '"),
        ("Mr. Smith of the U.S. paid $1,000.50 (5%)", "Mr. Smith of the U.S. paid $ 1,000.50 ( 5 % )"),
        ("10km on the 20th at 3:30", "10 km on the 20th at 3:30"),
        ("well-known -- or not... “yes”", "well - known -- or not ... “ yes ”"),
        ("me@example.org, https://example.org/a?b=c.", "me@example.org , https://example.org/a?b=c ."),
        ("_emphasis_ snake_case x\u0301y", "_ emphasis _ snake_case x\u0301y"),
        ("J. R. Tolkien's", "J. R. Tolkien 's"),
    ],
)
def test_words_are_cut_as_the_penn_treebank_cuts_them(text: str, words: str) -> None:
    assert [form for sentence in cut(text) for form in sentence] == words.split()


@pytest.mark.parametrize(
    ("text", "num_sentences"),
    [
        ("One. Two! Three? Four", 4),
        ("Mr. Smith saw J. Brown, e.g. in the U.S. Army.", 1),
        ("“Really?” said he. He went.", 2),
        ("(One.) Two", 2),
        ("Heading\n\nText\nand more", 2),
        ("Heading\n \t\r\nText", 2),
        ("so... it goes", 1),
        ("", 0),
        (" \n\n ", 0),
    ],
)
def test_sentences_end_behind_stops_and_at_blank_lines(text: str, num_sentences: int) -> None:
    assert len(cut(text)) == num_sentences


def test_traits_of_chunks_decide_it() -> None:
    assert may_end_sentence('end."')
    assert may_end_sentence("end?!")
    assert not may_end_sentence("(Mr.")
    assert begins_lower("and")
    assert not begins_lower("And")
    assert not begins_lower("“and")


def test_a_full_tokenizer_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lisdata.tagger.words._MAX_CHUNKS", 2)
    tokenizer = Tokenizer()
    tokenizer.cut(["one two"])

    assert not tokenizer.forget()
    tokenizer.cut(["three"])
    assert tokenizer.forget()
    assert tokenizer.forms == []
    assert cut("one four", tokenizer) == [["one", "four"]]


@pytest.mark.parametrize(
    "chunk",
    ["a." * 50_000, "1," * 50_000 + "a", "a'" * 50_000, "." * 100_000 + "x", "_a" * 50_000, "www." * 20_000],
)
def test_a_hostile_chunk_is_cut_at_once(chunk: str) -> None:
    assert "".join(form for sentence in cut(chunk) for form in sentence) == chunk
