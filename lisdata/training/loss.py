"""Next-token loss over batches of any columns: which positions are scored, and their negative log-likelihood."""

import inspect

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lisdata.training.batches import Batch

NOT_SCORED = -100


def next_token_targets(batch: Batch) -> Tensor:
    """Return the token to predict at each position but the last, (B, T - 1), or -100 where none is scored.

    Position t predicts token t + 1 where both belong to one structure of the row (`document`, negative at padding)
    and `target`, if the batch has that column, is true at t + 1. `length` (B) also tells padding, and `real` (B) rows
    that only fill a batch up, where a batch of a loader has them.
    """
    targets = batch["input_ids"][:, 1:]
    is_scored = torch.ones_like(targets, dtype=torch.bool)
    document = batch.get("document")
    if document is not None:
        is_scored &= (document[:, 1:] == document[:, :-1]) & (document[:, 1:] >= 0)
    length, real = batch.get("length"), batch.get("real")
    if length is not None:
        is_scored &= torch.arange(1, targets.shape[1] + 1, device=targets.device) < length[:, None]
    if real is not None:
        is_scored &= real[:, None]
    target = batch.get("target")
    if target is not None:
        is_scored &= target[:, 1:] != 0
    return targets.masked_fill(~is_scored, NOT_SCORED)


def next_token_nll(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return each target's negative log-likelihood in nats, 0 where none is scored, and the targets, (B, T - 1)."""
    targets = next_token_targets(batch)
    return target_nll(model(**model_inputs(model, batch)), targets), targets


def model_inputs(model: nn.Module, batch: Batch) -> Batch:
    """Return what a model is given: of each column that its forward names, all positions but the last."""
    names = [name for name in inspect.signature(model.forward).parameters if name in batch]
    return {name: batch[name][:, :-1] for name in names}


def target_nll(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the negative log-likelihood in nats of targets (B, T) under logits (B, T, C), 0 where none is scored."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    nll = cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=NOT_SCORED, reduction="none")
    return nll.view_as(targets)


def mean_nll(nll: Tensor, targets: Tensor) -> Tensor:
    """Return the mean over the scored targets, 0 when there are none."""
    return nll.sum() / (targets != NOT_SCORED).sum().clamp(min=1)


def next_token_loss(model: nn.Module, batch: Batch) -> Tensor:
    """Return the mean negative log-likelihood of the scored targets, 0 when there are none."""
    return mean_nll(*next_token_nll(model, batch))


def move_batch(batch: Batch, device: torch.device) -> Batch:
    """Return the batch on `device`."""
    return {name: column.to(device, non_blocking=True) for name, column in batch.items()}
