"""Draws of tokens: by their probabilities, among the likeliest, the same under one seed."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from lisdata.generation import Sampler, Sampling

LOGITS = st.lists(st.floats(-5, 5), min_size=2, max_size=8).map(torch.tensor)


@settings(max_examples=50)
@given(logits=LOGITS, top_k=st.integers(1, 9), seed=st.integers(0, 99), temperature=st.floats(0.1, 3))
def test_only_the_likeliest_k_are_drawn(logits: Tensor, top_k: int, seed: int, temperature: float) -> None:
    sampler = Sampler(Sampling(top_k=top_k, seed=seed, temperature=temperature))
    lowest = logits.sort(descending=True).values[: min(top_k, len(logits))][-1]

    assert all(logits[sampler.draw(logits)] >= lowest for _ in range(5))


@given(logits=LOGITS)
def test_temperature_zero_takes_the_likeliest(logits: Tensor) -> None:
    assert logits[Sampler(Sampling(temperature=0, top_k=3)).draw(logits)] == logits.max()


@given(logits=LOGITS, seed=st.integers(0, 99))
def test_one_seed_gives_one_series(logits: Tensor, seed: int) -> None:
    first, second = (Sampler(Sampling(seed=seed)) for _ in range(2))

    assert [first.draw(logits) for _ in range(9)] == [second.draw(logits) for _ in range(9)]


@pytest.mark.parametrize(("temperature", "share"), [(1.0, 0.8), (2.0, 2 / 3)])
def test_tokens_are_drawn_as_often_as_they_are_likely(temperature: float, share: float) -> None:
    sampler, logits = Sampler(Sampling(temperature=temperature)), torch.tensor([0.8, 0.2]).log()

    drawn = [sampler.draw(logits) for _ in range(4000)]

    assert abs(drawn.count(0) / 4000 - share) < 0.03  # four standard deviations


@pytest.mark.parametrize("wrong", [{"temperature": -1.0}, {"temperature": float("nan")}, {"top_k": 0}, {"seed": -1}])
def test_impossible_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Sampling(**wrong)
