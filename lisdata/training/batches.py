"""Where the batches of a training run come from: windows of one long text, or a loader of token shards."""

import hashlib
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from lisdata.errors import LisDataError

Batch = dict[str, Tensor]
"""Columns of equal shape (B, T): `input_ids`, and what else the model takes or the loss needs."""


class BatchSource(Protocol):
    """An endless supply of batches that can be put back to any point."""

    def next_batch(self) -> Batch:
        """Return the next batch."""

    def state_dict(self) -> dict[str, Any]:
        """Return, ready for JSON, what `load_state_dict` needs to go on after the last batch returned."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state` was taken."""

    def description(self) -> dict[str, Any]:
        """Return, ready for JSON, what decides the batches: a run resumes only on the same description."""


class TokenWindows:
    """Random windows of `window` + 1 tokens of one long text, so that a model reads `window` and predicts as many.

    The batch of step k is a function of the seed and k alone. `token_ids` is a 1-D integer array, which may be
    memory-mapped.
    """

    def __init__(self, token_ids: npt.NDArray[np.integer[Any]], *, window: int, batch_size: int, seed: int) -> None:
        if token_ids.ndim != 1 or not np.issubdtype(token_ids.dtype, np.integer):
            raise ValueError(f"expected one row of integers, got {token_ids.dtype} of shape {token_ids.shape}")
        if window < 1 or batch_size < 1 or seed < 0:
            raise ValueError(f"expected positive numbers, got {window=}, {batch_size=}, {seed=}")
        if len(token_ids) <= window:
            raise ValueError(f"a text of {len(token_ids)} tokens has no window of {window} and one to predict")
        self._token_ids = token_ids
        self._window = window
        self._batch_size = batch_size
        self._seed = seed
        self._step = 0

    def next_batch(self) -> Batch:
        """Return `input_ids`, shape (batch_size, window + 1), int64."""
        draws = np.random.Philox(key=self._seed, counter=[0, 0, 0, self._step]).random_raw(self._batch_size)
        begins = draws % np.uint64(len(self._token_ids) - self._window)
        index = begins.astype(np.int64)[:, None] + np.arange(self._window + 1)
        self._step += 1
        return {"input_ids": torch.from_numpy(self._token_ids[index].astype(np.int64))}

    def state_dict(self) -> dict[str, Any]:
        """Return the number of batches given so far."""
        return {"step": self._step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on after that many batches."""
        self._step = int(state["step"])

    def description(self) -> dict[str, Any]:
        """Return the settings and a hash of the text."""
        digest = hashlib.sha256()
        for begin in range(0, len(self._token_ids), 1 << 20):
            digest.update(self._token_ids[begin : begin + (1 << 20)].astype("<i8").tobytes())
        return {
            "num_tokens": len(self._token_ids),
            "sha256": digest.hexdigest(),
            "window": self._window,
            "batch_size": self._batch_size,
            "seed": self._seed,
        }


class ResumableLoader(Protocol):
    """An iterable of batches, one epoch each time, whose state says how far the current epoch is."""

    def __iter__(self) -> Iterator[Batch]:
        """Iterate over what is left of the epoch; the next time, over the next epoch."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state after the last batch handed out, ready for JSON."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state` was taken."""


class LoaderBatches:
    """The batches of a loader, epoch after epoch. `description` holds the facts of its dataset and settings."""

    def __init__(self, loader: ResumableLoader, *, description: dict[str, Any]) -> None:
        self._loader = loader
        self._description = description
        self._batches: Iterator[Batch] | None = None

    def next_batch(self) -> Batch:
        """Return the next batch; raises LisDataError when an epoch has none."""
        if self._batches is not None:
            batch = next(self._batches, None)
            if batch is not None:
                return batch
        self._batches = iter(self._loader)
        batch = next(self._batches, None)
        if batch is None:  # a loader put back to the very end of an epoch: the next one must have batches
            self._batches = iter(self._loader)
            batch = next(self._batches, None)
        if batch is None:
            raise LisDataError("expected a loader with at least one batch an epoch, found none")
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Return the loader's state."""
        return self._loader.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put the loader back to `state`."""
        self._loader.load_state_dict(state)
        self._batches = None

    def description(self) -> dict[str, Any]:
        """Return the facts given at the beginning."""
        return self._description
