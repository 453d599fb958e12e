"""Batches of labelled rows for fine-tuning, rows of about equal length together, epoch after epoch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from lisdata.evaluation.sentence_rows import pad_rows
from lisdata.evaluation.sentence_scores import Int64
from lisdata.finetuning.prediction_metrics import Numbers
from lisdata.training.batches import Batch
from lisdata.training.tag_regimes import apply_tag_regime

LABEL = "label"
_BATCHES_SORTED_TOGETHER = 16


class ExampleBatches:
    """A `BatchSource` of rows (3, T) of ids and tags under a tag regime, with `label` (B): int64 classes or numbers.

    An epoch has every row once, its last batch what is left. Which rows the batch of a step has is a function of the
    seed and the step.
    """

    def __init__(
        self, rows: Sequence[Int64], labels: Numbers, *, batch_size: int, regime: str, seed: int, dataset: str
    ) -> None:
        if len(rows) != len(labels) or not rows:
            raise ValueError(f"expected rows, and a label each, got {len(rows)} and {len(labels)}")
        self._rows, self._labels, self._dataset = rows, labels, dataset
        self._batch_size, self._regime, self._seed = batch_size, regime, seed
        self._lengths = np.array([row.shape[1] for row in rows])
        self._step = 0
        self._epoch: tuple[int, list[Int64]] | None = None

    @property
    def batches_an_epoch(self) -> int:
        """The number of batches that have every row once."""
        return -(-len(self._rows) // self._batch_size)

    def next_batch(self) -> Batch:
        """Return the next batch, padded to its longest row; `document` is -1 there and 0 elsewhere."""
        epoch, place = divmod(self._step, self.batches_an_epoch)
        if self._epoch is None or self._epoch[0] != epoch:
            order = order_epoch(self._lengths, self._batch_size, seed=self._seed, epoch=epoch)
            self._epoch = epoch, order
        chosen = self._epoch[1][place]
        self._step += 1
        batch = apply_tag_regime(pad_rows([self._rows[n] for n in chosen]), self._regime, seed=self._seed)
        labels = torch.from_numpy(self._labels[chosen])
        return batch | {LABEL: labels if labels.dtype == torch.int64 else labels.float()}

    def state_dict(self) -> dict[str, Any]:
        """Return the number of batches given so far."""
        return {"step": self._step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on after that many batches."""
        self._step = int(state["step"])

    def description(self) -> dict[str, Any]:
        """Return the settings, the hash of the rows with their labels, and what the dataset is."""
        digest = hashlib.sha256(self._labels.tobytes())
        for row in self._rows:
            digest.update(row.tobytes())
        return {
            "dataset": self._dataset,
            "rows_sha256": digest.hexdigest(),
            "batch_size": self._batch_size,
            "tag_regime": self._regime,
            "seed": self._seed,
        }


def order_epoch(lengths: Int64, batch_size: int, *, seed: int, epoch: int) -> list[Int64]:
    """Return the rows of each batch of an epoch: a random order, sorted by length some batches at a time."""
    generator = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, epoch]))
    order = generator.permutation(len(lengths))
    together = _BATCHES_SORTED_TOGETHER * batch_size
    stretches = [order[begin : begin + together] for begin in range(0, len(order), together)]
    sorted_rows = [stretch[np.argsort(lengths[stretch], kind="stable")] for stretch in stretches]
    batches = [rows[n : n + batch_size] for rows in sorted_rows for n in range(0, len(rows), batch_size)]
    return [batches[n] for n in generator.permutation(len(batches)).tolist()]
