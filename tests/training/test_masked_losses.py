"""The encoders' objective: the three likelihoods of masked positions, which nothing of theirs gives away."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import log_softmax

from lisdata.errors import LisDataError
from lisdata.models import MODELS, build_model
from lisdata.training import MaskedBatches, MaskRecipe, TrainConfig, train
from lisdata.training.batches import Batch
from lisdata.training.masked_losses import (
    MaskedSipeObjective,
    masked_sipe_nll,
    masked_token_loss,
    masked_token_nll,
)
from lisdata.training.masking import MASKED_TARGET, mask_tokens

N, MASK = -100, 8
ENCODERS = [name for name, entry in MODELS.items() if entry.is_masked]
BATCH = {
    "input_ids": torch.tensor([[7, MASK, 5, MASK, 2, 6, 1, 0]]),
    MASKED_TARGET: torch.tensor([[N, 3, N, 5, 2, N, 1, N]]),
    "terminal": torch.tensor([[0, N, 1, N, N, 1, N, N]]),
    "nonterminal": torch.tensor([[2, N, 1, N, N, 4, N, N]]),
    "terminal_target": torch.tensor([[0, 1, 1, N, 0, 1, N, N]]),
    "nonterminal_target": torch.tensor([[2, 0, 1, N, 4, 4, 3, N]]),
    "document": torch.tensor([[0, 0, 0, 0, 1, 1, 1, -1]]),
}


def build_tiny(name: str = "sipe-roberta", **config: object) -> nn.Module:
    sizes = {"vocabulary_size": 9, "mask_id": MASK, "width": 8, "num_layers": 1, "num_attention_heads": 2}
    return build_model(name, seed=0, **(sizes | {"predicts_tags": True, "injection": "input"} | config)).double()


@pytest.mark.parametrize("name", ENCODERS)
def test_parts_are_the_likelihoods_at_masked_positions(name: str) -> None:
    model = build_tiny(name)
    columns = {key: BATCH[key] for key in ("input_ids", "terminal", "nonterminal", "document")}
    with torch.no_grad():
        token, terminal, nonterminal = (log_softmax(part[0], dim=-1) for part in model.predict(**columns))
        nll = masked_sipe_nll(model, BATCH)
        alone, targets = masked_token_nll(model, BATCH)

    def expected(*values: Any) -> torch.Tensor:
        return torch.tensor([values], dtype=torch.float64)

    by_token = expected(0, -token[1, 3], 0, -token[3, 5], -token[4, 2], 0, -token[6, 1], 0)
    torch.testing.assert_close(nll.token.nll, by_token)
    torch.testing.assert_close(alone, by_token)
    assert targets.tolist() == nll.token.targets.tolist() == BATCH[MASKED_TARGET].tolist()
    assert nll.terminal.targets.tolist() == [[N, 1, N, N, 0, N, N, N]]
    assert nll.nonterminal.targets.tolist() == [[N, 0, N, N, 4, N, 3, N]]
    torch.testing.assert_close(nll.terminal.nll, expected(0, -terminal[1, 1], 0, 0, -terminal[4, 0], 0, 0, 0))
    torch.testing.assert_close(
        nll.nonterminal.nll, expected(0, -nonterminal[1, 0], 0, 0, -nonterminal[4, 4], 0, -nonterminal[6, 3], 0)
    )


def test_the_loss_is_the_weighted_sum_of_the_means() -> None:
    model = build_tiny()
    nll = masked_sipe_nll(model, BATCH)
    token, terminal, nonterminal = (part.nll.sum() / number for part, number in zip(nll, (4, 2, 3), strict=True))

    torch.testing.assert_close(MaskedSipeObjective()(model, BATCH), token + terminal + nonterminal)
    weighted = MaskedSipeObjective(token_weight=2, terminal_weight=0.5, nonterminal_weight=0)
    torch.testing.assert_close(weighted(model, BATCH), 2 * token + 0.5 * terminal)
    torch.testing.assert_close(masked_token_loss(model, BATCH), token)


@pytest.mark.parametrize(
    ("name", "injection"),
    [(name, injection) for name in ENCODERS for injection in MODELS[name].load_config_class().injections],
)
def test_no_tag_of_a_masked_position_reaches_any_likelihood(name: str, injection: str) -> None:
    """Changing the tags under the mask changes what is to be predicted, and nothing that the model says."""
    model = build_tiny(name, injection=injection, projection_std=1.0, num_layers=2)
    recipe = MaskRecipe(mask_id=MASK, vocabulary_size=9, rate=0.5)
    clean: Batch = {
        "input_ids": torch.tensor([[1, 2, 3, 4, 5, 6, 7, 0]]),
        "terminal": torch.tensor([[0, 1, 0, 1, 0, 1, 0, 1]]),
        "nonterminal": torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2]]),
    }
    is_chosen = mask_tokens(clean, recipe, step=2)[MASKED_TARGET] != N
    assert 0 < is_chosen.sum() < 8
    changed = {key: 1 - clean[key].clamp(max=1) for key in ("terminal", "nonterminal")}
    other = clean | {key: torch.where(is_chosen, tag, clean[key]) for key, tag in changed.items()}

    first, second = (masked_token_nll(model, mask_tokens(batch, recipe, step=2))[0] for batch in (clean, other))

    assert torch.equal(first, second)
    unmasked = clean | {key: torch.where(is_chosen, clean[key], tag) for key, tag in changed.items()}
    third, _ = masked_token_nll(model, mask_tokens(unmasked, recipe, step=2))
    assert torch.equal(first, third) == (injection == "none")


def test_a_batch_with_nothing_masked_costs_nothing() -> None:
    model = build_tiny()
    batch = BATCH | {MASKED_TARGET: torch.full((1, 8), N)}

    loss = MaskedSipeObjective()(model, batch)
    loss.backward()

    assert float(loss.detach()) == 0
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


class Repeated:
    """The same rows again and again."""

    def __init__(self) -> None:
        self.batch = {
            "input_ids": torch.arange(8).repeat(4, 1),
            "terminal": torch.arange(8).remainder(2).repeat(4, 1),
            "nonterminal": torch.arange(8).remainder(5).repeat(4, 1),
        }

    def next_batch(self) -> Batch:
        return self.batch

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        assert state == {}

    def description(self) -> dict[str, Any]:
        return {}


def run(folder: Path, name: str, num_steps: int, stop_at: int | None = None) -> tuple[nn.Module, list[float]]:
    model = build_tiny(name, width=32).float()
    batches = MaskedBatches(Repeated(), MaskRecipe(mask_id=MASK, vocabulary_size=9, rate=0.25, seed=1))
    config = TrainConfig(num_steps=num_steps, batch_size=4, learning_rate=0.01, num_threads=1, schedule="constant")
    losses: list[float] = []

    def note(progress: Any) -> None:
        losses.append(progress.loss)
        if progress.step == stop_at:
            raise KeyboardInterrupt

    objective = MaskedSipeObjective()
    settings: dict[str, Any] = {"directory": folder, "objective": objective, "on_progress": note}
    if stop_at is None:
        train(model, batches, config, **settings)
    else:
        with pytest.raises(KeyboardInterrupt):
            train(model, batches, replace(config, checkpoint_every=stop_at), **settings)
        return run(folder, name, num_steps)
    return model, losses


@pytest.mark.parametrize("name", ENCODERS)
def test_tokens_and_tags_are_learned_from_their_neighbours(name: str, tmp_path: Path) -> None:
    _, losses = run(tmp_path, name, 160)

    assert sum(losses[-5:]) / 5 < 0.6 * (math.log(9) + math.log(2) + math.log(5))


def test_a_stopped_run_has_the_weights_of_one_that_was_not(tmp_path: Path) -> None:
    whole, _ = run(tmp_path / "whole", "sipe-roberta", 8)
    resumed, losses = run(tmp_path / "stopped", "sipe-roberta", 8, stop_at=3)

    assert len(losses) == 5
    assert all(torch.equal(value, resumed.state_dict()[key]) for key, value in whole.state_dict().items())


def test_a_causal_model_is_refused() -> None:
    causal = build_model("sipe-transformer-xl", vocabulary_size=9, width=8, num_layers=1, num_attention_heads=2)

    with pytest.raises(ValueError, match="expected a model of masked tokens, got TransformerXl"):
        masked_token_loss(causal, BATCH)


def test_a_model_without_tag_outputs_is_refused() -> None:
    with pytest.raises(ValueError, match="predicts no tags"):
        masked_sipe_nll(build_tiny(predicts_tags=False), BATCH)


def test_a_batch_that_was_not_masked_is_refused() -> None:
    with pytest.raises(LisDataError, match="expected a batch that was masked, with masked_target, found input_ids"):
        masked_token_loss(build_tiny(), {"input_ids": BATCH["input_ids"]})


def test_a_masked_batch_without_tags_is_refused() -> None:
    batch = {key: BATCH[key] for key in ("input_ids", MASKED_TARGET)}

    with pytest.raises(LisDataError, match="expected a batch with the column terminal, found input_ids"):
        masked_sipe_nll(build_tiny(), batch)
