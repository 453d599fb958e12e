"""Tags of prefixes: what a model is given before a token follows from the text before it, in each form as told."""

from __future__ import annotations

from functools import partial
from typing import get_args

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from toy_language_models import CHARACTERS, SIZE, Uniform

from lisdata.encoding.frozen_tags import prefix_ends
from lisdata.evaluation.causal_scorer import CausalScorer, CausalScoring
from lisdata.evaluation.prefix_rows import (
    PREFIX_FORMS,
    PrefixForm,
    freeze_tags,
    iter_steps,
    place_prefixes,
    tag_prefixes,
)
from lisdata.evaluation.prefix_scorer import PrefixScorer
from lisdata.evaluation.sentence_rows import SentenceRows
from lisdata.evaluation.sentence_scores import TextTags
from lisdata.evaluation.tag_cache import tag_texts
from lisdata.models import build_model

N, EOS = -100, 0
PARSER = "python:rule_parser:parse"
tag = partial(tag_texts, parser=PARSER)
SCORING = CausalScoring(start="\n", end="?")


def make_model(injection: str = "input") -> object:
    """Return a model that looks at tags hard."""
    settings = {"width": 8, "num_layers": 2, "num_attention_heads": 2, "projection_std": 1.0}
    model = build_model("sipe-transformer-xl", seed=1, vocabulary_size=SIZE, injection=injection, **settings)
    for table in model.tag_tables.parameters():
        table.data *= 100
    return model


MODEL = make_model()


@settings(deadline=None, max_examples=25)
@given(st.text("ab ,", max_size=6), st.text("ab ,", max_size=4), st.sampled_from(PREFIX_FORMS))
def test_what_follows_changes_no_surprisal_before_it(text: str, more: str, form: PrefixForm) -> None:
    scorer = PrefixScorer(MODEL, CHARACTERS, tag, form, SCORING)

    short, long = scorer.score([text, text + more])

    assert short.surprisal[: len(text)].tolist() == pytest.approx(long.surprisal[: len(text)].tolist(), abs=1e-5)


def test_tags_of_whole_sentences_change_surprisals_before_what_follows() -> None:
    scorer = CausalScorer(MODEL, CHARACTERS, SCORING)
    texts = ["a  ", "a b"]

    short, long = scorer.score(texts, tag(texts))

    assert short.surprisal[0] == long.surprisal[0]
    assert abs(short.surprisal[1] - long.surprisal[1]) > 1e-2


@settings(deadline=None, max_examples=25)
@given(st.text("ab ,.", max_size=8))
def test_the_forms_differ_in_nothing_but_tags(text: str) -> None:
    for form in PREFIX_FORMS:
        found = PrefixScorer(Uniform(), CHARACTERS, tag, form, SCORING).score([text])[0]
        plain = CausalScorer(Uniform(), CHARACTERS, SCORING).score([text])[0]
        for name in ("begin", "end", "surprisal"):
            assert getattr(found, name).tolist() == pytest.approx(getattr(plain, name).tolist())


def rows_of(text: str) -> tuple[SentenceRows, list[TextTags]]:
    rows = SentenceRows(CHARACTERS, start="\n", end="?")
    return rows, tag_prefixes(rows.make([text], None), tag)[0]


@settings(deadline=None, max_examples=40)
@given(st.text("ab .", max_size=10))
def test_each_step_has_the_tags_of_a_parse_of_what_was_read(text: str) -> None:
    rows, prefixes = rows_of(text)
    row = rows.make([text], None)[0]

    steps = list(iter_steps(row, 1, place_prefixes([row], [prefixes], "prefix")[0]))
    moved = list(iter_steps(row, 1, place_prefixes([row], [prefixes], "prefix-moved")[0]))

    assert [step.shape[1] for step in steps] == list(range(2, len(text) + 3))
    for length, (step, other) in enumerate(zip(steps, moved, strict=True)):
        (parsed,) = tag([text[:length]])
        begins = parsed.spans[:, 0]
        expected = np.full((2, 2, length), N)
        expected[:, 0, begins] = parsed.terminal
        expected[0, 1, begins] = [*parsed.nonterminal[:-1], *[N] * bool(len(begins))]
        expected[1, 1, begins] = [EOS, *parsed.nonterminal[:-1]][: len(begins)]
        assert step[1:, 0].tolist() == step[1:, -1].tolist() == [N, N]
        assert step[1:, 1:-1][:, : len(text)].tolist() == expected[0][:, : step.shape[1] - 2].tolist()
        assert other[1:, 1:-1].tolist() == expected[1][:, : step.shape[1] - 2].tolist()


@settings(deadline=None, max_examples=40)
@given(st.text("ab .", max_size=10))
def test_a_frozen_tag_is_what_the_newest_word_had_when_it_began(text: str) -> None:
    rows, prefixes = rows_of(text)

    row = rows.make([text], None)[0]
    frozen = freeze_tags(row, 1, place_prefixes([row], [prefixes], "frozen")[0]).values[1:, 1:-1]

    for place in range(len(text)):
        (parsed,) = tag([text[: place + 1]])
        expected = [N, N]
        if len(parsed.spans) and parsed.spans[-1, 0] == place:
            expected = [parsed.terminal[-1], parsed.nonterminal[-2] if len(parsed.spans) > 1 else EOS]
        assert frozen[:, place].tolist() == expected


def test_a_piece_of_a_character_does_not_show_it() -> None:
    begin, end = np.array([[0, 1], [1, 2], [1, 2], [1, 2], [2, 4]]).T

    assert prefix_ends(begin, end).tolist() == [1, 1, 1, 2, 4]
    assert prefix_ends(begin[:0], end[:0]).tolist() == []


@pytest.mark.parametrize("form", PREFIX_FORMS)
def test_texts_with_nothing_to_predict_count_nothing(form: PrefixForm) -> None:
    scores = PrefixScorer(MODEL, CHARACTERS, tag, form, CausalScoring(start="")).score(["", "a"])

    assert [score.surprisal.tolist() for score in scores] == [[], [0.0]]


def test_the_form_is_told_and_an_unknown_one_refused() -> None:
    assert PrefixScorer(MODEL, CHARACTERS, tag, "frozen", SCORING).describe()["regime"] == "frozen"
    assert get_args(PrefixForm) == PREFIX_FORMS
    with pytest.raises(ValueError, match="form='whole' is none of prefix, prefix-moved, frozen"):
        PrefixScorer(MODEL, CHARACTERS, tag, "whole")  # type: ignore[arg-type]


@settings(deadline=None, max_examples=10)
@given(st.lists(st.text("ab ", min_size=1, max_size=6), min_size=1, max_size=3), st.integers(1, 30))
def test_batches_change_nothing(texts: list[str], batch_tokens: int) -> None:
    assume(any(text.strip() for text in texts))
    for form in PREFIX_FORMS:
        large = PrefixScorer(MODEL, CHARACTERS, tag, form, SCORING).score(texts)
        scoring = CausalScoring(start="\n", end="?", batch_tokens=batch_tokens)
        small = PrefixScorer(MODEL, CHARACTERS, tag, form, scoring).score(texts)
        for one, other in zip(large, small, strict=True):
            assert one.surprisal.tolist() == pytest.approx(other.surprisal.tolist(), abs=1e-5)
