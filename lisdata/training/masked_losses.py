"""The objectives of SiPE's encoders: the masked tokens, and with `MaskedSipeObjective` the tags of those positions."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from lisdata.errors import LisDataError
from lisdata.training.batches import Batch
from lisdata.training.loss import NOT_SCORED, mean_nll, model_columns, target_nll
from lisdata.training.masking import MASKED_TARGET, TAG_COLUMNS
from lisdata.training.sipe_losses import LossWeights, ScoredNll, SipeNll


@runtime_checkable
class MaskedModel(Protocol):
    """A model of masked tokens, which computes logits for the positions alone where they are needed."""

    def hidden_states(self, **columns: Any) -> Tensor:
        """Return hidden states (B, T, D) from the columns that `forward` takes."""

    def token_logits(self, hidden: Tensor) -> Tensor:
        """Return logits (N, V) from hidden states (N, D)."""

    def tag_logits(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits (N, 2) and (N, 5) from hidden states (N, D)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedSipeObjective(LossWeights):
    """The weighted sum of three mean negative log-likelihoods: of masked tokens and of their two tags."""

    def __call__(self, model: nn.Module, batch: Batch) -> Tensor:
        """Return the loss of a model that predicts tags on a batch that was masked."""
        return self.weigh(masked_sipe_nll(model, batch))


def masked_token_loss(model: nn.Module, batch: Batch) -> Tensor:
    """Return the mean negative log-likelihood of the masked tokens, 0 when there are none."""
    return mean_nll(*masked_token_nll(model, batch))


def masked_token_nll(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return each masked token's negative log-likelihood in nats, 0 elsewhere, and the targets, (B, T).

    Raises ValueError for a model of other kind, LisDataError for a batch that was not masked.
    """
    targets = _masked_targets(batch)
    is_chosen = targets != NOT_SCORED
    encoder = _masked_model(model)
    hidden = encoder.hidden_states(**model_columns(model, batch))[is_chosen]
    return _scatter(encoder.token_logits(hidden), targets, is_chosen).nll, targets


def masked_sipe_nll(model: nn.Module, batch: Batch) -> SipeNll:
    """Return the three parts of the loss, each (B, T): tags count at masked positions that have one (m_p = 1).

    Raises ValueError for a model that predicts no tags, LisDataError for a batch that was not masked or has no tags.
    """
    targets = _masked_targets(batch)
    missing = [name for name in TAG_COLUMNS if f"{name}_target" not in batch]
    if missing:
        raise LisDataError(f"expected a batch with the column {missing[0]}, found {', '.join(batch)}")
    is_chosen = targets != NOT_SCORED
    encoder = _masked_model(model)
    hidden = encoder.hidden_states(**model_columns(model, batch))[is_chosen]
    tags = (batch[f"{name}_target"] for name in TAG_COLUMNS)
    all_targets = targets, *(torch.where(is_chosen & (tag >= 0), tag, NOT_SCORED) for tag in tags)
    logits = encoder.token_logits(hidden), *encoder.tag_logits(hidden)
    return SipeNll(*(_scatter(*pair, is_chosen) for pair in zip(logits, all_targets, strict=True)))


def _masked_model(model: nn.Module) -> MaskedModel:
    if not isinstance(model, MaskedModel):
        raise ValueError(f"expected a model of masked tokens, got {type(model).__name__}")
    return model


def _masked_targets(batch: Batch) -> Tensor:
    if MASKED_TARGET not in batch:
        raise LisDataError(f"expected a batch that was masked, with {MASKED_TARGET}, found {', '.join(batch)}")
    return batch[MASKED_TARGET]


def _scatter(logits: Tensor, targets: Tensor, is_chosen: Tensor) -> ScoredNll:
    """Return the likelihoods of targets (B, T) under logits (N, C) of the chosen positions, in their places."""
    nll = target_nll(logits[None], targets[is_chosen][None])[0]
    return ScoredNll(nll.new_zeros(targets.shape).masked_scatter(is_chosen, nll), targets)
