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
    and `target`, if the batch has that column, is true at t + 1.
    """
    targets = batch["input_ids"][:, 1:]
    is_scored = torch.ones_like(targets, dtype=torch.bool)
    document = batch.get("document")
    if document is not None:
        is_scored &= (document[:, 1:] == document[:, :-1]) & (document[:, 1:] >= 0)
    target = batch.get("target")
    if target is not None:
        is_scored &= target[:, 1:] != 0
    return targets.masked_fill(~is_scored, NOT_SCORED)


def next_token_nll(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the negative log-likelihood in nats of each target (0 where none is scored) and the targets, (B, T - 1).

    The model is given, of each column that its forward names, all positions but the last.
    """
    columns = [name for name in inspect.signature(model.forward).parameters if name in batch]
    logits: Tensor = model(**{name: batch[name][:, :-1] for name in columns})
    targets = next_token_targets(batch)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    nll = cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=NOT_SCORED, reduction="none")
    return nll.view_as(targets), targets


def next_token_loss(model: nn.Module, batch: Batch) -> Tensor:
    """Return the mean negative log-likelihood of the scored targets, 0 when there are none."""
    nll, targets = next_token_nll(model, batch)
    return nll.sum() / (targets != NOT_SCORED).sum().clamp(min=1)


def move_batch(batch: Batch, device: torch.device) -> Batch:
    """Return the batch on `device`."""
    return {name: column.to(device, non_blocking=True) for name, column in batch.items()}
