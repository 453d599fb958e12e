"""The joint bound: the parts of -log p(tokens, tags), row by row, of all tags that there are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_language_models import Uniform

from lisdata.evaluation.causal_scorer import CausalScoring
from lisdata.evaluation.joint_nll import joint_nll
from lisdata.models import build_model

N = -100
SIZE = 7
MODEL = build_model(
    "sipe-transformer-xl",
    seed=0,
    vocabulary_size=SIZE,
    width=8,
    num_layers=1,
    num_attention_heads=2,
    injection="input",
    predicts_tags=True,
).double()


def draw_row(seed: int, length: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    is_tagged = draw.random(length) < 0.6
    tags = np.where(is_tagged, [draw.integers(0, 2, length), draw.integers(0, 5, length)], N)
    return np.concatenate([draw.integers(0, SIZE, (1, length)), tags]).astype(np.int64)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(2, 9), min_size=1, max_size=5), st.integers(0, 99), st.integers(1, 30))
def test_each_part_is_the_sum_over_the_row_s_own_tokens_and_tags(lengths: list[int], seed: int, tokens: int) -> None:
    rows = [draw_row(seed + number, length) for number, length in enumerate(lengths)]

    found = joint_nll(MODEL, rows, CausalScoring(batch_tokens=tokens))

    for row, parts in zip(rows, found, strict=True):
        ids, terminal, nonterminal = torch.from_numpy(row)[:, None]
        with torch.no_grad():
            logits = MODEL.predict(ids[:, :-1], terminal[:, :-1], nonterminal[:, :-1])
        for part, column, scores in zip(parts, row, logits, strict=True):
            chosen = scores[0].log_softmax(-1)
            expected = -sum(chosen[at, tag].item() for at, tag in enumerate(column[1:].tolist()) if tag != N)
            assert part == pytest.approx(expected, abs=1e-9)


def test_tags_that_are_not_given_can_be_predicted() -> None:
    row = draw_row(3, 9)
    blind = row.copy()
    blind[1:] = N

    found, full = (joint_nll(MODEL, [row], CausalScoring(regime=regime))[0] for regime in ("losses-only", "full"))

    assert found[0] == pytest.approx(joint_nll(MODEL, [blind], CausalScoring())[0, 0])
    assert (found[1:] > 0).all()
    assert found[0] != pytest.approx(full[0], rel=1e-6)


def test_a_model_that_predicts_no_tags_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a model that predicts tags, got Uniform"):
        joint_nll(Uniform(), [draw_row(0, 3)], CausalScoring())
