"""The loader: epochs of batches in an order that no topology changes, with a state that resumes exactly."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import tee
from pathlib import Path
from typing import Any, Literal

import torch

from lisdata.errors import PlanError
from lisdata.loader.batches import Batch, BatchForm
from lisdata.loader.grouping import LongRows
from lisdata.loader.mixing import Mixture, open_tokens, pad_id_of
from lisdata.loader.order import Shuffle
from lisdata.loader.plans import Progress, Tail
from lisdata.loader.prefetch import WorkerProcesses, make_in_thread
from lisdata.loader.stream import Grouped, Topology, describe_change, make_orders, make_stream
from lisdata.token_shards.dataset import TokenDataset

STATE_VERSION = 1
_ROWS_PER_TASK = 512


class Loader:
    """Iterates over the rest of an epoch in batches of `batch_size` rows for this rank, of `world_size` ranks.

    `dataset` is a TokenDataset, or the folder of one, or a `Mixture` of several.

    The order of the rows is a function of seed and epoch alone. Global batch k is elements [k B W, (k + 1) B W) of
    that order, split evenly over the ranks: no row is left out or seen by two of them. The last, incomplete global
    batch is, by `tail`: "pad", filled up on every rank with rows seen before (`real` (B) is False there, in every batch
    of such a loader it is given); "drop", left out; "ragged", as short as it is, and empty on a rank that has no row
    left. Every rank gets the same number of batches.

    With `bucket`, rows of about equal length come together, that many at a time (best batch_size x world_size): there
    is less padding, and the order is still a function of seed, epoch and bucket alone.

    With `pack_to`, a batch is `batch_size` packs of that many tokens. Each row goes into the first pack with room for
    it, among those of `pack_window` rows; one that is longer is cut, or by `long_rows` "split" into documents of their
    own. See `BatchForm` for what such a batch holds.

    With `max_tokens`, a batch has as many rows as stay, padding included, within that many tokens (and within
    `batch_size`, if it is given); a longer row is cut. `bucket` then sorts 64 buckets of rows by length.

    A batch is a dict: the columns (see `BatchForm`), and `length`, `kind` and `row` (number in the dataset), int64 (B);
    of a mixture also `source`, the number of the dataset. `input_ids` are padded with `pad_id`, by default that of the
    tokenizer, or 0 where it has none.
    Batches are made ahead by one thread (at least `prefetch` of them, small ones in groups; 0: none), or by
    `num_workers` processes (`prefetch` each), started by `start_method`. `pin_memory` takes effect where CUDA is
    available. Rank and world size are those of torch.distributed when it is initialised, else of RANK and WORLD_SIZE,
    else 0 of 1.

    Iterating goes on from where the loader stands, so after a `break` it yields the rest of the epoch; the end of an
    epoch moves it to the next one, as does iterating anew after its last batch (trainers that count `len(loader)`
    batches never ask for the end). `restart` and `set_epoch` go elsewhere.
    """

    def __init__(
        self,
        dataset: TokenDataset | Mixture | str | Path,
        batch_size: int | None = None,
        *,
        shuffle: Shuffle = True,
        window: int | None = None,
        bucket: int | None = None,
        pack_to: int | None = None,
        pack_window: int | None = None,
        long_rows: LongRows = "cut",
        max_tokens: int | None = None,
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
        self.dataset = dataset if isinstance(dataset, Mixture) else open_tokens(dataset)
        self._batch_size, self._prefetch = batch_size, prefetch
        chosen = None if columns is None else tuple(columns)
        if pad_id is None:
            pad_id = pad_id_of(self.dataset) or 0
        form = BatchForm(layout=layout, columns=chosen, pad_to=pad_to, max_length=max_length, pad_id=pad_id)
        grouped = Grouped(pack_to=pack_to, pack_window=pack_window, long_rows=long_rows, max_tokens=max_tokens)
        rank, world_size = _rank_of_world(rank, world_size)
        self._topology = Topology(batch_size=batch_size, rank=rank, world_size=world_size, tail=tail)
        orders = make_orders(self.dataset, shuffle=shuffle, window=window, seed=seed)
        pin = pin_memory and torch.cuda.is_available()
        self._stream = make_stream(
            self.dataset, orders, self._topology, form, grouped, bucket=bucket, seed=seed, pin=pin and num_workers == 0
        )
        self._stream.maker.check_columns()
        self._workers = (
            WorkerProcesses(self._stream.maker, num_workers, depth=prefetch, pin_memory=pin, start_method=start_method)
            if num_workers
            else None
        )
        self._epoch, self._progress = 0, Progress(0)
        self._has_handed_out = False  # a batch of the present epoch, since the loader was last moved
        self._num_batches: tuple[int, int] | None = None
        self._turn = 0

    @property
    def batch_size(self) -> int | None:
        """Rows, or packs, of a batch of this rank; the most under a budget of tokens, None where that alone limits."""
        return self._batch_size

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self._topology.rank

    @property
    def world_size(self) -> int:
        """The number of ranks."""
        return self._topology.world_size

    @property
    def epoch(self) -> int:
        """The epoch that iterating goes on with."""
        return self._epoch

    @property
    def consumed(self) -> int:
        """How many rows of the epoch all ranks together have been handed; of packs and budgets, in whole windows."""
        return self._progress.consumed

    def __len__(self) -> int:
        """Return the number of batches of the present epoch, all of it; packs and budgets are cut to count them."""
        if self._num_batches is None or self._num_batches[0] != self._epoch:
            self._num_batches = self._epoch, self._stream.steps.num_batches(self._epoch)
        return self._num_batches[1]

    def __iter__(self) -> Iterator[Batch]:
        if self._has_handed_out and next(self._stream.steps.plans(self._epoch, self._progress), None) is None:
            self._move(self._epoch + 1, Progress(0))
        self._turn += 1
        return self._batches(self._turn)

    def set_epoch(self, epoch: int) -> None:
        """Go to the begin of an epoch; stay in place where it is the present one (so that resuming is not undone)."""
        if epoch < 0:
            raise ValueError(f"expected an epoch of at least 0, got {epoch}")
        if epoch != self._epoch:
            self._move(epoch, Progress(0))

    def restart(self) -> None:
        """Go back to the begin of the present epoch."""
        self._move(self._epoch, Progress(0))

    def state_dict(self) -> dict[str, Any]:
        """Return where the loader stands: JSON, the same on every rank, good for any world, batch size or workers.

        It counts batches handed out by the iterator, not those made ahead. `groups` are packs or batches handed out of
        the window that is begun, `drawn` the rows that were drawn from each source of a mixture.
        """
        consumed, groups = self._progress
        state = self._identity() | {"epoch": self._epoch, "consumed": consumed}
        if self._stream.steps.settings:
            state["groups"] = groups
        if self._stream.counted is not None:
            state["drawn"] = self._stream.counted.drawn(self._epoch * len(self.dataset) + consumed)
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to where `state_dict` was taken; an iterator in use ends to be valid.

        Raises PlanError for a state of another dataset, or of settings that give another order.
        """
        for name, expected in self._identity().items():
            if state.get(name) != expected:
                raise PlanError(f"state of a loader: expected {describe_change(name, expected, state.get(name))}")
        epoch, consumed, groups = state.get("epoch"), state.get("consumed"), state.get("groups", 0)
        if not isinstance(epoch, int) or not isinstance(consumed, int) or not isinstance(groups, int) or epoch < 0:
            raise PlanError(
                f"state of a loader: expected an epoch and a count of rows, found {epoch!r}, {consumed!r}, {groups!r}"
            )
        self._stream.resume(epoch, Progress(consumed, groups), state.get("drawn"))
        self._move(epoch, Progress(consumed, groups))

    def _identity(self) -> dict[str, Any]:
        return {"version": STATE_VERSION, "dataset": self.dataset.fingerprint, "order": self._stream.settings}

    def _move(self, epoch: int, progress: Progress) -> None:
        self._turn += 1
        self._epoch, self._progress, self._has_handed_out = epoch, progress, False

    def _batches(self, turn: int) -> Iterator[Batch]:
        epoch = self._epoch
        plans, made = tee(self._stream.steps.plans(epoch, self._progress))
        batches = self._made_batches(made)
        for plan in plans:
            if self._turn != turn:  # looked at first: the batch that is asked for belongs to the newer iterator
                raise RuntimeError("this iterator of the loader has ended: the loader was iterated or moved again")
            batch = next(batches)
            self._progress, self._has_handed_out = plan.progress, True
            yield batch
        if self._turn == turn:
            self._move(epoch + 1, Progress(0))

    def _made_batches(self, plans: Iterator[Any]) -> Iterator[Batch]:
        make = self._stream.maker.make
        if self._workers is not None:
            return self._workers.make(plans)
        if self._prefetch:
            is_by_row = self._batch_size is not None and not self._stream.steps.settings
            group = max(1, _ROWS_PER_TASK // self._batch_size) if is_by_row and self._batch_size else 1
            return make_in_thread(make, plans, self._prefetch, group=group)
        return map(make, plans)


def _rank_of_world(rank: int | None, world_size: int | None) -> tuple[int, int]:
    if (rank is None) is not (world_size is None):
        raise ValueError(f"expected both or none of {rank=} and {world_size=}")
    if rank is None or world_size is None:
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        else:
            rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    return rank, world_size
