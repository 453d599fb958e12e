"""Texts as rows: the tokenizer's own template, tags of each text at its words, what is too long cut fairly."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_language_models import CHARACTERS

from lisdata.encoding import Tokenizer, load_tokenizer, pair_template_ids, template_ids
from lisdata.encoding.tokenizer_training import TokenizerSettings, learn_tokenizer
from lisdata.encoding.tokenizers import SubwordTokenizer
from lisdata.evaluation.sentence_scores import TextTags
from lisdata.evaluation.tag_cache import TagCache
from lisdata.finetuning.text_rows import cut_lengths, make_text_rows

PAIRS = [("A cat sat.", "It sat down."), ("Yes.", "No!"), ("a", "b")]
RULE = TagCache("python:rule_parser:parse")


@pytest.fixture(scope="module")
def trained() -> SubwordTokenizer:
    """The tokenizer that `lisdata tokenizer train` learns, whose template is for one text."""
    backend = learn_tokenizer(iter(["a cat sat down", "yes and no"]), TokenizerSettings(vocabulary_size=270))
    return SubwordTokenizer(backend.to_str().encode(), "trained")


def with_pair_template(trained: SubwordTokenizer, single: str, pair: str) -> SubwordTokenizer:
    """The same tokenizer with another template, of its special tokens."""
    from tokenizers import Tokenizer, processors

    backend = Tokenizer.from_str(trained.to_json().decode())
    special = [(name, backend.token_to_id(name)) for name in ("<s>", "</s>", "<mask>")]
    backend.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=special)
    return SubwordTokenizer(backend.to_str().encode(), "changed")


def check_pairs(tokenizer: Tokenizer, template: list[str]) -> None:
    found = pair_template_ids(tokenizer)
    made = make_text_rows(PAIRS, tokenizer, None, max_length=64)

    assert [tokenizer.decode(ids.tolist()).replace(" ", "") for ids in found] == template
    for pair, row in zip(PAIRS, made.rows, strict=True):
        assert row[0].tolist() == tokenizer.encode_pair(*pair).tolist()
        assert (row[1:] < 0).all()


def test_pairs_stand_as_roberta_has_them(shared: Path) -> None:
    tokenizer = load_tokenizer(shared / "data" / "tokenizers" / "roberta-base.tokenizer.json")

    check_pairs(tokenizer, ["<s>", "</s></s>", "</s>"])


@pytest.mark.parametrize(
    ("single", "pair", "template"),
    [
        ("<s> $A </s>", "<s> $A </s> $B </s>", ["<s>", "</s>", "</s>"]),  # as BERT, DeBERTa and ModernBERT do
        ("<s> $A </s>", "$A <mask> $B <s>", ["", "<mask>", "<s>"]),
        ("$A", "$A $B", ["", "", ""]),
    ],
)
def test_pairs_stand_as_the_tokenizer_s_own_template_says(
    trained: SubwordTokenizer, single: str, pair: str, template: list[str]
) -> None:
    check_pairs(with_pair_template(trained, single, pair), template)


def test_without_a_template_of_pairs_each_text_ends_as_one_alone_does(trained: SubwordTokenizer) -> None:
    (start,), (end,) = template_ids(trained)
    texts = [trained.encode_batch([text]).ids.tolist() for text in PAIRS[0]]

    made = make_text_rows(PAIRS[:1], trained, None, max_length=64)

    assert made.rows[0][0].tolist() == [start, *texts[0], end, *texts[1], end]
    assert make_text_rows([("a",)], trained, None, max_length=64).rows[0][0].tolist() == [
        start, *trained.encode_batch(["a"]).ids.tolist(), end,
    ]  # fmt: skip


def test_characters_have_no_template() -> None:
    made = make_text_rows([("cats", "we")], CHARACTERS, None, max_length=64)

    assert CHARACTERS.decode(made.rows[0][0].tolist()) == "catswe"


def test_each_text_is_tagged_by_itself(trained: SubwordTokenizer) -> None:
    sides = [RULE(list(side)) for side in zip(*PAIRS, strict=True)]

    made = make_text_rows(PAIRS, trained, RULE, max_length=64)

    for number, row in enumerate(made.rows):
        tags: list[TextTags] = [side[number] for side in sides]
        expected = [tag for own in tags for tag in own.terminal.tolist()]
        assert row[1][row[1] >= 0].tolist() == expected
        assert row[2][row[2] >= 0].tolist() == [tag for own in tags for tag in own.nonterminal.tolist()]
    assert made.counts["rows_cut"] == 0


def test_a_row_that_is_too_long_keeps_its_template_and_tells(trained: SubwordTokenizer) -> None:
    whole = make_text_rows(PAIRS, trained, RULE, max_length=64)
    cut = make_text_rows(PAIRS, trained, RULE, max_length=9)

    assert cut.counts["rows_cut"] == sum(row.shape[1] > 9 for row in whole.rows) > 0
    for short, long in zip(cut.rows, whole.rows, strict=True):
        assert short.shape[1] == min(9, long.shape[1])
        assert short[0, [0, -1]].tolist() == long[0, [0, -1]].tolist()
    with pytest.raises(ValueError, match="leaves no room beside 3 tokens"):
        make_text_rows(PAIRS, trained, None, max_length=4)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=2), st.integers(2, 40))
def test_what_is_cut_is_cut_from_the_longer_text(lengths: list[int], room: int) -> None:
    kept = cut_lengths(lengths, room)

    assert all(0 <= short <= long for short, long in zip(kept, lengths, strict=True))
    assert sum(kept) == min(room, sum(lengths))
    for number, (short, long) in enumerate(zip(kept, lengths, strict=True)):
        others = [other for place, other in enumerate(kept) if place != number]
        assert short == long or all(short >= other - 1 for other in others)
