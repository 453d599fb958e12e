"""The loader: epochs of batches in an order that no topology changes, with a state that resumes exactly."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import torch

from lisdata.datasets import open as open_dataset
from lisdata.errors import PlanError
from lisdata.loader.batches import Batch, BatchForm, BatchMaker
from lisdata.loader.order import Shuffle, order_of
from lisdata.loader.plans import BatchPlan, Split, Tail
from lisdata.loader.prefetch import WorkerProcesses, make_in_thread
from lisdata.shards import IncidenceDataset
from lisdata.token_shards.dataset import TokenDataset

STATE_VERSION = 1
_ROWS_PER_TASK = 512


class Loader:
    """Iterates over the rest of an epoch in batches of `batch_size` rows for this rank, of `world_size` ranks.

    `dataset` is a TokenDataset, or the folder of one.

    The order of the rows is a function of seed and epoch alone. Global batch k is elements [k B W, (k + 1) B W) of
    that order, split evenly over the ranks: no row is left out or seen by two of them. The last, incomplete global
    batch is, by `tail`: "pad", filled up on every rank with rows seen before (`real` (B) is False there, in every batch
    of such a loader it is given); "drop", left out; "ragged", as short as it is, and empty on a rank that has no row
    left. Every rank gets the same number of batches.

    A batch is a dict: the columns (see `BatchForm`), and `length`, `kind` and `row` (number in the dataset), int64 (B).
    `input_ids` are padded with `pad_id`, by default that of the tokenizer, or 0 where it has none.
    Batches are made ahead by one thread (at least `prefetch` of them, small ones in groups; 0: none), or by
    `num_workers` processes (`prefetch` each), started by `start_method`. `pin_memory` takes effect where CUDA is
    available. Rank and world size are those of torch.distributed when it is initialised, else of RANK and WORLD_SIZE,
    else 0 of 1.

    Iterating goes on from where the loader stands, so after a `break` it yields the rest of the epoch; the end of an
    epoch moves it to the next one. `restart` and `set_epoch` go elsewhere.
    """

    def __init__(
        self,
        dataset: TokenDataset | str | Path,
        batch_size: int,
        *,
        shuffle: Shuffle = True,
        window: int | None = None,
        seed: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
        tail: Tail = "pad",
        columns: Sequence[str] | None = None,
        layout: Literal["padded", "flat"] = "padded",
        pad_to: int | None = None,
        max_length: int | None = None,
        pad_id: int | None = None,
        num_workers: int = 0,
        prefetch: int = 2,
        pin_memory: bool = False,
        start_method: str | None = None,
    ) -> None:
        if num_workers < 0 or prefetch < 0:
            raise ValueError(f"expected {num_workers=} and {prefetch=} of at least 0")
        dataset = _opened(dataset)
        self.dataset, self._prefetch = dataset, prefetch
        rank, world_size = _rank_of_world(rank, world_size)
        self._split = Split(num_rows=len(dataset), batch_size=batch_size, rank=rank, world_size=world_size, tail=tail)
        self._order = order_of(len(dataset), shuffle=shuffle, window=window, seed=seed)
        chosen = None if columns is None else tuple(columns)
        if pad_id is None:
            pad_id = (dataset.manifest.get("tokenizer") or {}).get("pad_id") or 0
        form = BatchForm(layout=layout, columns=chosen, pad_to=pad_to, max_length=max_length, pad_id=pad_id)
        pin = pin_memory and torch.cuda.is_available()
        self._maker = BatchMaker(dataset, self._order, form, has_filler=tail == "pad", pin=pin and num_workers == 0)
        self._maker.check_columns()
        self._workers = (
            WorkerProcesses(self._maker, num_workers, depth=prefetch, pin_memory=pin, start_method=start_method)
            if num_workers
            else None
        )
        self._epoch = self._consumed = 0
        self._turn = 0

    @property
    def batch_size(self) -> int:
        """Rows of a batch of this rank."""
        return self._split.batch_size

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self._split.rank

    @property
    def world_size(self) -> int:
        """The number of ranks."""
        return self._split.world_size

    @property
    def epoch(self) -> int:
        """The epoch that iterating goes on with."""
        return self._epoch

    @property
    def consumed(self) -> int:
        """How many rows of the epoch all ranks together have been handed."""
        return self._consumed

    def __len__(self) -> int:
        """Return the number of batches of a whole epoch."""
        return self._split.num_batches

    def __iter__(self) -> Iterator[Batch]:
        self._turn += 1
        return self._batches(self._turn)

    def set_epoch(self, epoch: int) -> None:
        """Go to the begin of an epoch; stay in place where it is the present one (so that resuming is not undone)."""
        if epoch < 0:
            raise ValueError(f"expected an epoch of at least 0, got {epoch}")
        if epoch != self._epoch:
            self._move(epoch, 0)

    def restart(self) -> None:
        """Go back to the begin of the present epoch."""
        self._move(self._epoch, 0)

    def state_dict(self) -> dict[str, Any]:
        """Return where the loader stands: JSON, the same on every rank, good for any world, batch size or workers.

        It counts batches handed out by the iterator, not those made ahead.
        """
        return {
            "version": STATE_VERSION,
            "dataset": self.dataset.fingerprint,
            "order": self._order.settings,
            "epoch": self._epoch,
            "consumed": self._consumed,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to where `state_dict` was taken; an iterator in use ends to be valid.

        Raises PlanError for a state of another dataset, or of settings that give another order.
        """
        expected = self.state_dict()
        for name in ("version", "dataset", "order"):
            if state.get(name) != expected[name]:
                raise PlanError(f"state of a loader: expected {name} {expected[name]!r}, found {state.get(name)!r}")
        epoch, consumed = state.get("epoch"), state.get("consumed")
        if not isinstance(epoch, int) or not isinstance(consumed, int) or epoch < 0:
            raise PlanError(f"state of a loader: expected an epoch and a count of rows, found {epoch!r}, {consumed!r}")
        if not 0 <= consumed <= self._order.num_rows:
            raise PlanError(f"state of a loader: expected up to {self._order.num_rows} rows, found {consumed}")
        self._move(epoch, consumed)

    def _move(self, epoch: int, consumed: int) -> None:
        self._turn += 1
        self._epoch, self._consumed = epoch, consumed

    def _batches(self, turn: int) -> Iterator[Batch]:
        epoch, begin = self._epoch, self._consumed
        batches = self._made_batches(self._split.plans(epoch, begin))
        for plan in self._split.plans(epoch, begin):
            if self._turn != turn:  # looked at first: the batch that is asked for belongs to the newer iterator
                raise RuntimeError("this iterator of the loader has ended: the loader was iterated or moved again")
            batch = next(batches)
            self._consumed = plan.global_end
            yield batch
        if self._turn == turn:
            self._move(epoch + 1, 0)

    def _made_batches(self, plans: Iterator[BatchPlan]) -> Iterator[Batch]:
        if self._workers is not None:
            return self._workers.make(plans)
        if self._prefetch:
            group = max(1, _ROWS_PER_TASK // self.batch_size)
            return make_in_thread(self._maker.make, plans, self._prefetch, group=group)
        return map(self._maker.make, plans)


def _opened(dataset: TokenDataset | str | Path) -> TokenDataset:
    found = open_dataset(dataset) if isinstance(dataset, str | Path) else dataset
    if isinstance(found, IncidenceDataset):
        raise ValueError(f"{found.path} holds structures, not yet tokens: encode it first (lisdata.encode)")
    if not isinstance(found, TokenDataset):
        raise ValueError(f"expected a TokenDataset or the folder of one, got {type(found).__name__}")
    return found


def _rank_of_world(rank: int | None, world_size: int | None) -> tuple[int, int]:
    if (rank is None) is not (world_size is None):
        raise ValueError(f"expected both or none of {rank=} and {world_size=}")
    if rank is None or world_size is None:
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        else:
            rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    return rank, world_size
