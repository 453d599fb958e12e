"""Likelihood kind by kind, on batches that mix the kinds."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from lisdata.errors import LisDataError
from lisdata.evaluation import evaluate_by_kind
from lisdata.models import build_model
from lisdata.training import LoaderBatches, TrainConfig, next_token_nll, train

KINDS = {0: "text", 1: "triples", 4: "table"}


def make_batch(seed: int) -> dict[str, Tensor]:
    """Rows of two documents of their own kinds and some padding; text counts up, triples count down."""
    generator = torch.Generator().manual_seed(seed)
    start = torch.randint(0, 9, (6, 1), generator=generator)
    index = torch.arange(10).expand(6, 10)
    document = torch.where(index < 5, 0, torch.where(index < 8, 1, -1))
    kind = torch.where(index < 5, 0, 1)
    return {
        "input_ids": torch.where(kind == 0, start + index, start - index) % 9,
        "role": kind,
        "instance": index // 3,
        "position": index % 5,
        "document": document,
        "kind": kind,
    }


class Batches:
    """One endless epoch of such batches."""

    def __init__(self) -> None:
        self.seed = 0

    def __iter__(self):
        while True:
            self.seed += 1
            yield make_batch(self.seed)

    def state_dict(self) -> dict[str, int]:
        return {"seed": self.seed}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.seed = state["seed"]


def make_model() -> torch.nn.Module:
    return build_model(
        "lisformer", vocabulary_size=9, num_roles=2, width=16, num_layers=1, num_attention_heads=2, seed=0
    )


def test_the_kinds_share_out_the_scored_tokens() -> None:
    model, batch = make_model(), make_batch(0)

    sums = evaluate_by_kind(model, [batch, batch], KINDS)

    nll = next_token_nll(model, batch)[0].detach()
    assert list(sums) == ["text", "triples"]
    assert (sums["text"].num_tokens, sums["triples"].num_tokens) == (2 * 6 * 4, 2 * 6 * 2)
    assert sums["text"].nll == pytest.approx(2 * float(nll[:, :4].sum()), rel=1e-5)
    assert sums["triples"].nll == pytest.approx(2 * float(nll[:, 5:7].sum()), rel=1e-5)


def test_training_on_mixed_batches_lowers_the_loss_of_each_kind(tmp_path: Path) -> None:
    model = make_model()
    held_out = [make_batch(-seed) for seed in range(1, 4)]
    before = evaluate_by_kind(model, held_out, KINDS)
    config = TrainConfig(num_steps=60, batch_size=6, learning_rate=1e-2, num_threads=1)

    train(model, LoaderBatches(Batches(), description={}), config, directory=tmp_path)

    after = evaluate_by_kind(model, held_out, KINDS)
    assert all(after[kind].mean < before[kind].mean for kind in ("text", "triples"))


def test_a_kind_without_a_name_is_refused() -> None:
    with pytest.raises(LisDataError, match=r"column 'kind': expected one of 0 \(text\), found 1"):
        evaluate_by_kind(make_model(), [make_batch(0)], {0: "text"})
