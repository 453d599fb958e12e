"""Pseudo-log-likelihoods: each token from all the others, its tags withheld, in whatever batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from toy_language_models import CHARACTERS, Uniform

from lisdata.encoding import load_tokenizer
from lisdata.errors import LisDataError
from lisdata.evaluation.masked_scorer import MaskedScorer, MaskedScoring
from lisdata.evaluation.sentence_scores import TextTags
from lisdata.models import build_model

SIZE = CHARACTERS.vocab_size
MASK = SIZE
ALPHABET = "abc ,."


def build_tiny(**config: object) -> nn.Module:
    sizes = {"vocabulary_size": SIZE + 1, "mask_id": MASK, "width": 8, "num_layers": 1, "num_attention_heads": 2}
    model = build_model("sipe-roberta", seed=0, **(sizes | config)).double().eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5, generator=generator)
    return model


class Witness(nn.Module):
    """A masked model whose logits are all 0, which keeps the rows that it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(mask_id=MASK, vocabulary_size=SIZE + 1)
        self.logits = nn.Parameter(torch.zeros(SIZE + 1, dtype=torch.float64))
        self.shown: list[tuple[str, list[int]]] = []
        self.shapes: list[tuple[int, ...]] = []

    def forward(self, input_ids: Tensor, terminal: Tensor, document: Tensor) -> Tensor:
        raise AssertionError("only logits of masked positions are needed")

    def hidden_states(self, input_ids: Tensor, terminal: Tensor, document: Tensor) -> Tensor:
        self.shapes.append(tuple(input_ids.shape))
        for ids, tags, documents in zip(input_ids, terminal, document, strict=True):
            own = ids[documents == 0].tolist()
            spelt = "".join("#" if i == MASK else CHARACTERS.decode([i]) for i in own)
            self.shown.append((spelt, [max(t, -1) for t in tags[documents == 0].tolist()]))
        return input_ids[..., None].double()

    def token_logits(self, hidden: Tensor) -> Tensor:
        return self.logits.expand(len(hidden), -1)

    def tag_logits(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        raise AssertionError("no tag is predicted")


def tags(text: str, terminal: Sequence[int] | None = None) -> TextTags:
    """Return tags for the words of a text, which spaces part: by default 1 for each."""
    begins = [at for at in range(len(text)) if text[at] != " " and (at == 0 or text[at - 1] == " ")]
    spans = np.array([(at, at + len(text[at:].split(" ")[0])) for at in begins], np.int64).reshape(-1, 2)
    ones = np.ones(len(spans), np.int8)
    return TextTags(spans=spans, terminal=ones if terminal is None else np.array(terminal, np.int8), nonterminal=ones)


def shown(text: str, given: TextTags | None = None, **scoring: object) -> list[tuple[str, list[int]]]:
    model = Witness()
    MaskedScorer(model, CHARACTERS, MaskedScoring(**scoring)).score([text], None if given is None else [given])
    return model.shown


def test_each_token_is_masked_in_turn_and_nothing_else() -> None:
    assert [spelt for spelt, _ in shown("ab c")] == ["#b c", "a# c", "ab#c", "ab #"]


def test_tags_are_given_but_where_the_token_is_masked() -> None:
    assert [tag for _, tag in shown("ab c", tags("ab c", [1, 0]))] == [
        [-1, -1, -1, 0],
        [1, -1, -1, 0],
        [1, -1, -1, 0],
        [1, -1, -1, -1],
    ]


def test_the_rest_of_the_word_may_be_masked_with_its_token() -> None:
    found = shown("abc, a.", within_word_l2r=True)

    assert [spelt for spelt, _ in found] == [
        "###, a.",
        "a##, a.",
        "ab#, a.",
        "abc# a.",
        "abc,#a.",
        "abc, #.",
        "abc, a#",
    ]


def test_start_and_end_are_read_and_not_scored() -> None:
    assert [spelt for spelt, _ in shown("ab", start=".", end="?")] == [".#b?", ".a#?"]
    score = MaskedScorer(Witness(), CHARACTERS, MaskedScoring(start=".", end="?")).score(["ab"])[0]
    assert score.surprisal.tolist() == pytest.approx([math.log(SIZE + 1)] * 2)
    assert list(zip(score.begin, score.end, strict=True)) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("l2r", [False, True])
@settings(max_examples=20, deadline=None)
@given(texts=st.lists(st.text(ALPHABET, max_size=6), max_size=5), batch_tokens=st.integers(1, 40))
def test_each_token_has_the_model_s_surprisal_in_whatever_batches(
    l2r: bool, texts: list[str], batch_tokens: int
) -> None:
    model = build_tiny(injection="input")
    scoring = MaskedScoring(start="\n", within_word_l2r=l2r, batch_tokens=batch_tokens)

    scores = MaskedScorer(model, CHARACTERS, scoring).score(texts, [tags(text) for text in texts])

    for text, score in zip(texts, scores, strict=True):
        assert score.surprisal.tolist() == pytest.approx(naive_surprisals(model, text, l2r))


def naive_surprisals(model: nn.Module, text: str, l2r: bool) -> list[float]:
    found = []
    for place in range(len(text)):
        end = place + 1
        while l2r and end < len(text) and kind(text[end]) == kind(text[place]) != "space":
            end += 1
        hidden = range(place + 1, end + 1)
        ids = CHARACTERS.encode_batch([f"\n{text}"]).ids.tolist()
        columns = torch.full((3, 1, len(ids)), -100)
        columns[0, 0] = torch.tensor([MASK if n in hidden else i for n, i in enumerate(ids)])
        for n, character in enumerate(text, 1):
            if character != " " and (n == 1 or text[n - 2] == " ") and n not in hidden:
                columns[1:, 0, n] = 1
        with torch.no_grad():
            logits = model(*columns)
        found.append(-float(logits[0, place + 1].log_softmax(-1)[ids[place + 1]]))
    return found


def kind(character: str) -> str:
    return "space" if character == " " else "letter" if character.isalnum() else "other"


def test_batches_hold_no_more_tokens_than_asked() -> None:
    model = Witness()

    MaskedScorer(model, CHARACTERS, MaskedScoring(batch_tokens=12)).score(["abcd", "a", "abcd", "abcdefgh"])

    assert all(rows * length <= 12 for rows, length in model.shapes)
    assert sum(rows for rows, _ in model.shapes) == 4 + 1 + 8  # "abcd" once


def test_a_masked_token_is_hidden_from_the_parser_too() -> None:
    parsed: list[str] = []

    def parse(texts: Sequence[str]) -> list[TextTags]:
        parsed.extend(texts)
        return [tags(text, [int("_" in text)] * len(text.split())) for text in texts]

    model = Witness()
    scorer = MaskedScorer(model, CHARACTERS, MaskedScoring(within_word_l2r=True), parse_masked=parse)
    scorer.score(["ab c"], [tags("ab c", [0, 0])])

    assert parsed == ["__ c", "a_ c", "ab c", "ab _"]
    assert [tag for _, tag in model.shown] == [[-1, -1, -1, 1], [1, -1, -1, 1], [0, -1, -1, 0], [1, -1, -1, -1]]
    assert scorer.describe()["tags"] == "of each masked sentence"


@pytest.mark.parametrize(
    ("regime", "expected"), [("none", [-1] * 4), ("nonterminal-only", [-1] * 4), ("full", [1, -1, -1, -1])]
)
def test_a_regime_says_which_tags_are_seen(regime: str, expected: list[int]) -> None:
    assert shown("ab c", tags("ab c"), regime=regime)[-1][1] == expected


def test_without_tags_none_are_seen() -> None:
    assert {tag for _, given in shown("ab c") for tag in given} == {-1}


def test_a_template_of_the_tokenizer_surrounds_the_text(shared: Path) -> None:
    roberta = load_tokenizer(shared / "data" / "tokenizers" / "roberta-base.tokenizer.json")
    model = build_model(
        "sipe-roberta", vocabulary_size=roberta.vocab_size, mask_id=50264, width=8, num_layers=1, num_attention_heads=2
    )

    described = MaskedScorer(model, roberta).describe()

    assert (described["start_ids"], described["end_ids"], described["mask_id"]) == ([0], [2], 50264)


def test_a_causal_model_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a model of masked tokens, got Uniform"):
        MaskedScorer(Uniform(), CHARACTERS)


def test_a_tokenizer_of_more_tokens_than_the_model_is_refused() -> None:
    with pytest.raises(LisDataError, match="expected the model's own tokenizer, of at most 5 tokens"):
        MaskedScorer(build_tiny(vocabulary_size=5, mask_id=4), CHARACTERS)


@pytest.mark.parametrize(
    ("scoring", "complaint"),
    [
        ({"regime": "prefix"}, "regime='prefix' is none of none, "),
        ({"batch_tokens": 0}, "batch_tokens from 1"),
        ({"placeholder": " "}, "one visible character"),
        ({"placeholder": "ab"}, "one visible character"),
    ],
)
def test_a_setting_out_of_range_is_refused(scoring: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        MaskedScoring(**scoring)  # type: ignore[arg-type]
