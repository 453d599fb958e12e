"""Perplexity against context length: the same tokens at each length, from the context stated."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from lisdata.evaluation import sliding_window_perplexity, window_perplexity
from lisdata.metrics import NllSum
from lisdata.models import build_model

TEXT = np.random.default_rng(0).integers(0, 5, 70).astype(np.uint8)


class ContextLength(nn.Module):
    """Gives the token 1 the probability exp(-(number of tokens read)), so that a sum of NLL counts context."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, input_ids: Tensor) -> Tensor:
        read = torch.arange(1, input_ids.shape[1] + 1, dtype=torch.float64).expand(input_ids.shape)
        return torch.stack([(1 - (-read).exp()).log(), -read], -1) * self.scale


ONES = np.ones(33, np.int64)


def make_model() -> nn.Module:
    return build_model("rope", vocabulary_size=5, width=8, num_layers=1, num_attention_heads=2, seed=0).double()


def explicit_nll(model: nn.Module, begin: int, end: int, num_scored: int) -> float:
    ids = torch.from_numpy(TEXT[begin : end + 1].astype(np.int64))
    with torch.no_grad():
        log_probability = model(ids[None, :-1]).log_softmax(-1)[0].gather(1, ids[1:, None])
    return float(-log_probability[-num_scored:].sum())


def test_windows_do_not_overlap_and_every_token_of_them_is_scored() -> None:
    model = make_model()

    sums = window_perplexity(model, TEXT, [8, 32], batch_size=3)

    for length in (8, 32):
        expected = sum(explicit_nll(model, begin, begin + length, length) for begin in range(0, 64, length))
        assert sums[length].nll == pytest.approx(expected, abs=1e-9)
        assert sums[length].num_tokens == 64


def test_a_limit_counts_windows_of_the_greatest_length() -> None:
    sums = window_perplexity(make_model(), TEXT, [8, 32], batch_size=1, max_windows=1)

    assert {length: total.num_tokens for length, total in sums.items()} == {8: 32, 32: 32}


def test_the_batch_size_changes_nothing() -> None:
    model = make_model()

    small, large = (window_perplexity(model, TEXT, [8, 16], batch_size=size) for size in (1, 50))

    assert small[16].nll == pytest.approx(large[16].nll, abs=1e-9)


def test_a_sliding_window_scores_each_token_once_from_at_most_its_length() -> None:
    sums = sliding_window_perplexity(ContextLength(), ONES, [8, 32], window=8, stride=2, batch_size=3)

    first = sum(range(1, 9))
    assert sums[8] == NllSum(pytest.approx(4 * first), 32)
    assert sums[32] == NllSum(pytest.approx(first + 12 * (7 + 8)), 32)


def test_up_to_its_length_a_sliding_window_is_the_plain_one() -> None:
    model = make_model()

    slid = sliding_window_perplexity(model, TEXT, [8, 16], window=16, stride=4, batch_size=2)

    plain = window_perplexity(model, TEXT, [8, 16], batch_size=2)
    assert [s.nll for s in slid.values()] == pytest.approx([s.nll for s in plain.values()], abs=1e-9)


@pytest.mark.parametrize(
    ("lengths", "complaint"),
    [
        ([], "expected positive context lengths"),
        ([0, 8], "expected positive context lengths"),
        ([12, 32], "no multiple of each"),
        ([70], "70 tokens hold no context of 70"),
    ],
)
def test_lengths_that_cannot_be_compared_are_refused(lengths: list[int], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        window_perplexity(make_model(), TEXT, lengths, batch_size=1)


@pytest.mark.parametrize(("stride", "complaint"), [(0, "outside 1"), (9, "outside 1"), (5, "does not divide")])
def test_strides_that_miss_tokens_are_refused(stride: int, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        sliding_window_perplexity(make_model(), TEXT, [16], window=8, stride=stride, batch_size=1)


@pytest.mark.parametrize("was_training", [True, False])
def test_the_model_keeps_its_mode_and_an_evaluation_repeats_itself(was_training: bool) -> None:
    size = {"vocabulary_size": 5, "width": 8, "num_layers": 1, "num_attention_heads": 2}
    model = build_model("random-lines", **size, newline_id=0, dropout=0.5, seed=0).train(was_training)

    first, second = (window_perplexity(model, TEXT, [32], batch_size=2) for _ in range(2))

    assert first == second
    assert model.training == was_training


def test_sums_add_up_and_give_mean_and_perplexity() -> None:
    total = NllSum(2.0, 3) + NllSum(4.0, 1)

    assert (total, total.mean, total.perplexity) == (NllSum(6.0, 4), 1.5, math.exp(1.5))


def test_perplexity_beyond_a_float_is_infinite_and_of_nothing_is_nan() -> None:
    assert NllSum(1e6, 1).perplexity == math.inf
    assert math.isnan(NllSum().perplexity)
