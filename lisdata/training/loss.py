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
    and t + 1 is one of `scored_positions`.
    """
    is_scored = scored_positions(batch)[:, 1:]
    document = batch.get("document")
    if document is not None:
        is_scored = is_scored & (document[:, 1:] == document[:, :-1])
    targets = batch["input_ids"][:, 1:]
    return targets.masked_fill(~is_scored, NOT_SCORED)


def scored_positions(batch: Batch) -> Tensor:
    """Return which positions hold a token that may be scored, (B, T), bool.

    They are no padding (`document` is negative there, `length` (B) also tells it), not in a row that only fills a batch
    up (`real`, (B)), and have a true `target`; each where a batch has that column.
    """
    is_scored = torch.ones_like(batch["input_ids"], dtype=torch.bool)
    document, length, real, target = (batch.get(name) for name in ("document", "length", "real", "target"))
    if document is not None:
        is_scored &= document >= 0
    if length is not None:
        is_scored &= torch.arange(is_scored.shape[1], device=is_scored.device) < length[:, None]
    if real is not None:
        is_scored &= real[:, None]
    if target is not None:
        is_scored &= target != 0
    return is_scored


def next_token_nll(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return each target's negative log-likelihood in nats, 0 where none is scored, and the targets, (B, T - 1)."""
    targets = next_token_targets(batch)
    return target_nll(model(**model_inputs(model, batch)), targets), targets


def model_inputs(model: nn.Module, batch: Batch) -> Batch:
    """Return what a model is given: of each column that its forward names, all positions but the last."""
    return {name: column[:, :-1] for name, column in model_columns(model, batch).items()}


def model_columns(model: nn.Module, batch: Batch) -> Batch:
    """Return the columns that a model's forward names."""
    names = [name for name in inspect.signature(model.forward).parameters if name in batch]
    return {name: batch[name] for name in names}


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
