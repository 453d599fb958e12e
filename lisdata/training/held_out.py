"""Rows of a dataset that are kept from training: they come in its batches, but none of their tokens is scored."""

from typing import Any

import torch
from torch import Tensor

from lisdata.training.batches import Batch, BatchSource


def is_held_out(row: Tensor, share: float) -> Tensor:
    """Return which of the row numbers are held out: `share` of any long stretch of rows, evenly spread."""
    numbers = row.double()
    return ((numbers + 1) * share).floor() > (numbers * share).floor()


class TrainingRows:
    """The batches of a loader, of which the rows that `is_held_out` names are no longer `real` (B)."""

    def __init__(self, batches: BatchSource, share: float) -> None:
        self._batches, self._share = batches, share
        self.state_dict, self.load_state_dict = batches.state_dict, batches.load_state_dict

    def next_batch(self) -> Batch:
        """Return the next batch."""
        batch = self._batches.next_batch()
        is_real = batch.get("real", torch.ones_like(batch["row"], dtype=torch.bool))
        return batch | {"real": is_real & ~is_held_out(batch["row"], self._share)}

    def description(self) -> dict[str, Any]:
        """Return what decides the batches, the share among it."""
        return self._batches.description() | {"held_out": self._share}
