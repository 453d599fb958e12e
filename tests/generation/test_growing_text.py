"""A text that grows by tokens is what they spell, each its own characters."""

from __future__ import annotations

from pathlib import Path

import pytest
from grown_texts import grown
from hypothesis import given
from hypothesis import strategies as st
from toy_language_models import CHARACTERS

from lisdata.encoding import Tokenizer, load_tokenizer
from lisdata.encoding.tokenizer_training import TokenizerSettings, train_tokenizer

TEXTS = st.text(st.sampled_from("abAB .,'\n-éß漢🌊"), max_size=30)


@pytest.fixture(scope="module")
def subwords(root: Path) -> Tokenizer:
    return load_tokenizer(root / "sample_data" / "tokenizer" / "bpe.json")


@given(text=TEXTS)
def test_it_is_what_was_tokenised_with_the_same_spans(subwords: Tokenizer, text: str) -> None:
    pieces = subwords.encode_batch([text])

    found = grown(subwords, pieces.ids.tolist())

    assert found.text == text
    assert found.ids == pieces.ids.tolist()
    if text.isascii():
        assert (found.begins, found.ends) == (pieces.begin.tolist(), pieces.end.tolist())


@given(text=TEXTS)
def test_every_character_is_spelled_by_one_token(subwords: Tokenizer, text: str) -> None:
    found = grown(subwords, subwords.encode_batch([text]).ids.tolist())

    assert "".join(text[begin:end] for begin, end in zip(found.begins, found.ends, strict=True)) == text


@given(text=st.text(st.sampled_from("ab c"), min_size=1), data=st.data())
def test_the_token_at_a_character_is_the_one_that_spells_it(text: str, data: st.DataObject) -> None:
    found = grown(CHARACTERS, CHARACTERS.encode_batch([text]).ids.tolist())

    character = data.draw(st.integers(0, len(text)))

    assert found.token_at(character) == character


def test_what_frames_a_text_spells_nothing(tmp_path: Path) -> None:
    (tmp_path / "cats.txt").write_text("a cat sat\n" * 9)
    settings = TokenizerSettings(vocabulary_size=300)
    train_tokenizer(str(tmp_path / "cats.txt"), tmp_path / "tokenizer.json", settings)
    framing = load_tokenizer(tmp_path / "tokenizer.json")

    found = grown(framing, framing.encode_batch(["a cat"], special_tokens=True).ids.tolist())

    assert found.text.strip() == "a cat"
    assert (found.begins[0], found.ends[0]) == (0, 0)
    assert found.begins[-1] == found.ends[-1] == len(found.text)
