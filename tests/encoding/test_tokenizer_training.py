"""Tokenizers learned from text: the same each time, words spelled alike wherever they stand, nothing lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.encoding import Tokenizer, load_tokenizer, template_ids
from lisdata.encoding.tokenizer_training import SPECIAL_TOKENS, TokenizerSettings, train_tokenizer
from lisdata.errors import PlanError

TEXT = "the cat sat on the mat\nthe dog sat by the “cat”\n" * 30


def learn(folder: Path, name: str = "tokenizer.json", **settings: Any) -> Path:
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    train_tokenizer(str(folder / "text.txt"), folder / name, TokenizerSettings(vocabulary_size=300, **settings))
    return folder / name


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return load_tokenizer(learn(tmp_path_factory.mktemp("tokenizer")))


def spell(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode_batch([text]).ids.tolist()


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_any_text_comes_back_but_for_white_space_around_it(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(spell(tokenizer, text)).strip() == text.strip()


def test_a_word_is_spelled_alike_wherever_it_stands(tokenizer: Tokenizer) -> None:
    assert spell(tokenizer, "cat the cat  ") == spell(tokenizer, "cat") + spell(tokenizer, "the") + spell(
        tokenizer, "cat"
    )
    assert spell(tokenizer, " \n ") == []


def test_the_template_puts_a_start_and_an_end(tokenizer: Tokenizer) -> None:
    before, after = template_ids(tokenizer)

    assert tokenizer.decode([*before, *spell(tokenizer, "the"), *after]) == "<s> the</s>"
    assert (tokenizer.pad_id, tokenizer.mask_id) == (0, len(SPECIAL_TOKENS) - 1)


def test_the_same_text_gives_the_same_bytes(tmp_path: Path) -> None:
    assert learn(tmp_path).read_bytes() == learn(tmp_path, "other.json").read_bytes()


def test_quotation_marks_can_be_read_as_straight_ones(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(learn(tmp_path, straight_quotes=True))

    pieces = tokenizer.encode_batch(["the “cat” don’t"])

    assert pieces.ids.tolist() == spell(tokenizer, 'the "cat" don\'t')
    assert pieces.end[-1] == len("the “cat” don’t")


def test_the_size_is_what_was_asked_for_or_what_the_text_gives(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    sizes = [
        train_tokenizer([str(tmp_path)], tmp_path / "t.json", TokenizerSettings(vocabulary_size=size))
        for size in (270, 100_000)
    ]

    assert sizes[0] == 270
    assert 270 < sizes[1] < 400


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"vocabulary_size": 200}, "at least 260, got 200"), ({"min_frequency": 0}, "min_frequency of at least 1")],
)
def test_settings_out_of_range_are_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TokenizerSettings(**settings)


def test_without_text_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"nothing\.txt: no such file"):
        train_tokenizer(str(tmp_path / "nothing.txt"), tmp_path / "t.json")
