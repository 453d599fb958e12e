"""Surprisals of sentences: those of the model, token by token, in whatever batches, with the tags that were given."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_language_models import CHARACTERS, SIZE, Bigram, TagReader, Uniform

from lisdata.encoding import Tokenizer, align_tags, load_tokenizer
from lisdata.errors import LisDataError
from lisdata.evaluation.causal_scorer import CausalScorer, CausalScoring
from lisdata.evaluation.sentence_scores import TextTags, TokenSurprisals, score_sentences, tags_of
from lisdata.models import build_model

LN = math.log(SIZE)
texts_of_all_lengths = st.lists(st.text("abc ,", max_size=12), max_size=8)


def tags(text: str, terminal: Sequence[int], nonterminal: Sequence[int]) -> TextTags:
    """Return tags for the words of a text, which spaces part."""
    begins = [at for at in range(len(text)) if text[at] != " " and (at == 0 or text[at - 1] == " ")]
    spans = [(at, at + len(text[at:].split(" ")[0])) for at in begins]
    return TextTags(
        spans=np.array(spans).reshape(-1, 2),
        terminal=np.array(terminal, np.int8),
        nonterminal=np.array(nonterminal, np.int8),
    )


@settings(deadline=None)
@given(texts_of_all_lengths, st.integers(1, 40))
def test_each_token_has_the_model_s_surprisal_in_whatever_batches(texts: list[str], batch_tokens: int) -> None:
    model = Bigram()
    scorer = CausalScorer(model, CHARACTERS, CausalScoring(start="\n", end=".?", batch_tokens=batch_tokens))

    scores = scorer.score(texts)

    for text, score in zip(texts, scores, strict=True):
        ids = CHARACTERS.encode_batch([f"\n{text}.?"]).ids.tolist()
        expected = [-model.table[now, following].item() for now, following in pairwise(ids)]
        assert score.surprisal.tolist() == pytest.approx(expected)
        assert score.total == pytest.approx(sum(expected))
        assert score.begin.tolist() == [*range(len(text)), len(text), len(text)]
        assert score.end.tolist() == [*range(1, len(text) + 1), len(text), len(text)]
    assert all(rows * length <= max(batch_tokens, length + 1) for rows, length in model.shapes)


def test_batches_hold_rows_of_like_lengths() -> None:
    model = Bigram()

    CausalScorer(model, CHARACTERS, CausalScoring(start="\n", batch_tokens=12)).score(["a" * 9, "b", "c" * 8, "d", "d"])

    assert model.shapes == [(2, 1), (1, 8), (1, 9)]  # "d" once: equal rows are computed once


@pytest.mark.parametrize(
    ("start", "expected", "convention"),
    [("\n", [LN, LN], "scored after the start"), ("", [0.0, LN], "not scored: it counts 0")],
)
def test_the_first_token_counts_only_after_a_start(start: str, expected: list[float], convention: str) -> None:
    scorer = CausalScorer(Uniform(), CHARACTERS, CausalScoring(start=start))

    assert scorer.score(["ab"])[0].surprisal.tolist() == pytest.approx(expected)
    assert scorer.describe()["first_token"] == convention


def test_texts_with_nothing_to_predict_count_nothing() -> None:
    scores = CausalScorer(Uniform(), CHARACTERS, CausalScoring(start="")).score(["", "a"])

    assert [score.surprisal.tolist() for score in scores] == [[], [0.0]]


def template(before: str, after: str) -> dict[str, object]:
    """Return a post-processor of the library `tokenizers` that puts tokens around a text."""
    special = {name: {"id": name, "ids": [number], "tokens": [name]} for number, name in enumerate(("<pad>", "<unk>"))}
    own = [{"SpecialToken": {"id": name, "type_id": 0}} for name in (before, after) if name]
    own.insert(bool(before), {"Sequence": {"id": "A", "type_id": 0}})
    return {"type": "TemplateProcessing", "single": own, "pair": [*own, {"Sequence": {"id": "B", "type_id": 1}}]} | {
        "special_tokens": special
    }


@pytest.mark.parametrize(
    ("before", "after", "expected"), [("", "", []), ("<unk>", "<pad>", [1]), ("<pad>", "", [0]), ("", "<unk>", [])]
)
def test_by_default_a_sentence_starts_as_the_tokenizer_s_template_says(
    root: Path, tmp_path: Path, before: str, after: str, expected: list[int]
) -> None:
    body = json.loads((root / "sample_data" / "tokenizer" / "bpe.json").read_text(encoding="utf-8"))
    body["post_processor"] = template(before, after)
    (tmp_path / "tokenizer.json").write_text(json.dumps(body), encoding="utf-8")
    tokenizer = load_tokenizer(tmp_path / "tokenizer.json")

    scorer = CausalScorer(Bigram(size=tokenizer.vocab_size), tokenizer)

    assert scorer.describe()["start_ids"] == expected


def test_without_a_template_there_is_no_start() -> None:
    assert CausalScorer(Uniform(), CHARACTERS).describe()["start_ids"] == []


def test_a_start_may_be_a_token_s_name(root: Path) -> None:
    tokenizer = load_tokenizer(root / "sample_data" / "tokenizer" / "bpe.json")

    scorer = CausalScorer(Bigram(size=tokenizer.vocab_size), tokenizer, CausalScoring(start="<pad>", end="<unk>"))

    assert (scorer.describe()["start_ids"], scorer.describe()["end_ids"]) == ([0], [1])
    text = "the harbour"
    score = scorer.score([text])[0]
    assert "".join(text[b:e] for b, e in zip(score.begin, score.end, strict=True)).replace(" ", "") == "theharbour"


def newline_logits(*logits: float) -> list[float]:
    """Return the surprisals of tokens other than the newline, where that has these logits."""
    return [math.log(SIZE - 1 + math.exp(logit)) for logit in logits]


def test_a_word_s_tags_are_given_on_its_first_token() -> None:
    scorer = CausalScorer(TagReader(), CHARACTERS, CausalScoring(start="\n"))
    text = "ab c"

    score = scorer.score([text], [tags(text, [1, 0], [0, 3])])[0]

    # each token is predicted from the tags of the one before it: of the start, of "a", of "b", of " "
    assert score.surprisal.tolist() == pytest.approx(newline_logits(0, 2, 0, 0))
    assert scorer.score(["ab cd"], [tags("ab cd", [1, 0], [0, 3])])[0].surprisal[-1] == pytest.approx(
        newline_logits(3)[0]
    )


@pytest.mark.parametrize(
    ("regime", "logit"),
    [("full", 6), ("injection-only", 6), ("terminal-only", 2), ("nonterminal-only", 4), ("eos-bit", 1), ("none", 0)],
)
def test_the_regime_says_which_tags_the_model_sees(regime: str, logit: float) -> None:
    scorer = CausalScorer(TagReader(), CHARACTERS, CausalScoring(start="\n", regime=regime))

    score = scorer.score(["ab"], [tags("ab", [1], [4])])[0]

    assert score.surprisal.tolist() == pytest.approx(newline_logits(0, logit))


def test_shuffled_tags_are_those_of_the_sentence_in_another_order_under_each_seed() -> None:
    text = " ".join("abcdefgh") + "x"
    given_tags = [tags(text, [1] * 8, [4, 0, 1, 2, 3, 4, 0, 1])]

    found = [
        CausalScorer(TagReader(), CHARACTERS, CausalScoring(start="\n", regime="shuffled", seed=seed)).score(
            [text], given_tags
        )[0]
        for seed in (0, 0, 1)
    ]

    full = CausalScorer(TagReader(), CHARACTERS, CausalScoring(start="\n")).score([text], given_tags)[0]
    assert sorted(found[0].surprisal) == pytest.approx(sorted(full.surprisal))
    assert found[0].surprisal.tolist() == found[1].surprisal.tolist() != found[2].surprisal.tolist()


def test_without_tags_a_model_sees_none() -> None:
    scorer = CausalScorer(TagReader(), CHARACTERS, CausalScoring(start="\n"))

    assert scorer.score(["ab"])[0].surprisal.tolist() == pytest.approx([LN, LN])


def test_what_cannot_be_aligned_is_counted(root: Path) -> None:
    tokenizer = load_tokenizer(root / "sample_data" / "tokenizer" / "bpe.json")
    text = "the sea."
    pieces = tokenizer.encode_batch([text])
    each_character = np.array([(at, at + 1) for at in range(len(text)) if text[at] != " "])
    given_tags = TextTags(
        spans=each_character,
        terminal=np.zeros(len(each_character), np.int8),
        nonterminal=np.zeros(len(each_character), np.int8),
    )
    scorer = CausalScorer(Bigram(size=tokenizer.vocab_size), tokenizer)

    scorer.score([text], [given_tags])

    spans = np.stack([pieces.begin, pieces.end], 1)
    aligned = align_tags(text, each_character, spans, given_tags.terminal, given_tags.nonterminal)
    assert aligned.tags_lost > 0
    assert scorer.describe()["tags_lost"] == aligned.tags_lost
    assert scorer.describe()["tokens_over_several_words"] == aligned.pieces_over_several_words


@pytest.mark.parametrize("injection", ["none", "position", "input+attention"])
def test_a_sipe_decoder_s_sentences_do_not_depend_on_their_batch(injection: str) -> None:
    sizes = {"vocabulary_size": SIZE, "width": 16, "num_layers": 2, "num_attention_heads": 2}
    model = build_model("sipe-transformer-xl", seed=0, injection=injection, projection_std=0.5, **sizes).double()
    texts = ["a cat", "the cats sleep here", "no", "a dog, too"]
    given_tags = [
        tags(text, [1, 0, 1, 0][: text.count(" ") + 1], [2, 1, 0, 3][: text.count(" ") + 1]) for text in texts
    ]
    scorer = CausalScorer(model, CHARACTERS, CausalScoring(start="\n"))

    together = scorer.score(texts, given_tags)

    for text, tag, score in zip(texts, given_tags, together, strict=True):
        ids = torch.from_numpy(CHARACTERS.encode_batch(["\n" + text]).ids.astype(np.int64))
        columns = [torch.full_like(ids, -100) for _ in range(2)]
        for column, values in zip(columns, (tag.terminal, tag.nonterminal), strict=True):
            column[1 + torch.from_numpy(tag.spans[:, 0])] = torch.from_numpy(values).long()
        with torch.no_grad():
            logits = model(ids[None, :-1], *(column[None, :-1] for column in columns))[0]
        expected = -logits.log_softmax(-1).gather(1, ids[1:, None])[:, 0]
        assert score.surprisal == pytest.approx(expected.numpy(), abs=1e-12)
    untagged = scorer.score(texts)
    is_same = [np.array_equal(one.surprisal, other.surprisal) for one, other in zip(together, untagged, strict=True)]
    assert all(is_same) if injection == "none" else not any(is_same)


def test_a_model_is_left_in_the_mode_in_which_it_was() -> None:
    model = Uniform().train()

    CausalScorer(model, CHARACTERS).score(["ab"])

    assert model.training


def test_a_model_that_reads_other_columns_is_refused() -> None:
    model = build_model("lisformer", seed=0, vocabulary_size=SIZE, num_roles=3)

    with pytest.raises(
        ValueError, match=r"expected a model that reads input_ids, terminal, .* got one that needs role"
    ):
        CausalScorer(model, CHARACTERS)


def test_a_tokenizer_of_more_tokens_than_the_model_is_refused() -> None:
    model = build_model("rope", seed=0, vocabulary_size=SIZE - 1, width=8, num_layers=1, num_attention_heads=2)

    with pytest.raises(LisDataError, match=f"of at most {SIZE - 1} tokens, found {SIZE}"):
        CausalScorer(model, CHARACTERS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"regime": "prefix"}, "regime='prefix' is none of none, losses-only"),
        ({"batch_tokens": 0}, "expected batch_tokens from 1"),
        ({"seed": -1}, "a seed from 0, got 2048, -1"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CausalScoring(**settings)  # type: ignore[arg-type]


class Recited:
    """A scorer that gives what it was made with."""

    def __init__(self, *scores: TokenSurprisals) -> None:
        self.scores = scores

    def score(self, texts: Sequence[str], tags: Sequence[TextTags] | None = None) -> Sequence[TokenSurprisals]:
        return self.scores


def surprisals(begin: int, end: int, value: float) -> TokenSurprisals:
    return TokenSurprisals(begin=np.array([begin]), end=np.array([end]), surprisal=np.array([value]))


def test_what_a_scorer_gives_is_checked() -> None:
    assert score_sentences(Recited(surprisals(0, 1, math.inf)), ["a"])[0].total == math.inf
    with pytest.raises(ValueError, match="expected surprisals for each of 2 texts, got 1"):
        score_sentences(Recited(surprisals(0, 1, 1.0)), ["a", "b"])
    with pytest.raises(ValueError, match="expected tokens within the 1 characters of 'a'"):
        score_sentences(Recited(surprisals(0, 2, 1.0)), ["a"])
    with pytest.raises(LisDataError, match="surprisals of 'a': expected numbers, found nan"):
        score_sentences(Recited(surprisals(0, 1, math.nan)), ["a"])


def test_surprisals_and_tags_of_several_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="expected a begin, an end and a surprisal a token, got 1, 1, 2"):
        TokenSurprisals(begin=np.zeros(1, int), end=np.zeros(1, int), surprisal=np.zeros(2))
    with pytest.raises(ValueError, match="expected a span and two tags a word, got 2, 1, 2"):
        tags("a b", [1], [1, 1])


def test_tags_come_one_for_each_text() -> None:
    assert tags_of(["a"], None) is None
    with pytest.raises(ValueError, match="expected tags for each of 2 texts, got 1"):
        tags_of(["a", "b"], lambda texts: [tags("a", [1], [1])])


def test_the_protocol_of_tokenizers_is_all_that_is_needed() -> None:
    tokenizer: Tokenizer = CHARACTERS

    assert CausalScorer(Uniform(), tokenizer).score([]) == []
