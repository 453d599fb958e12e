"""Which elements of an epoch's order make each batch of a rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from lisdata.errors import PlanError
from lisdata.loader.order import Order

Int64 = npt.NDArray[np.int64]
Tail = Literal["pad", "drop", "ragged"]
TAILS = ("pad", "drop", "ragged")


class Progress(NamedTuple):
    """How far an epoch is: elements of its order, and groups handed out of the window that begins there."""

    consumed: int
    groups: int = 0


class BatchPlan(NamedTuple):
    """A batch of one rank: elements [begin, end) of the epoch's order, then `num_filler` rows seen before.

    `global_end` is the element after the last one that any rank has in this step.
    """

    epoch: int
    begin: int
    end: int
    num_filler: int
    global_end: int

    @property
    def progress(self) -> Progress:
        """How far the epoch is after this step."""
        return Progress(self.global_end)


class RowsPlan(NamedTuple):
    """A batch of one rank, row by row.

    `rows` are numbers of rows, of which each lies in a line of the batch (`lines`, ascending), from its token `skips`
    on. The first `num_real` of the `num_lines` lines are no filler.
    """

    rows: Int64
    skips: Int64
    lines: Int64
    num_lines: int
    num_real: int
    progress: Progress


class Steps(Protocol):
    """The batches of a rank, an epoch after the other."""

    @property
    def settings(self) -> dict[str, Any]:
        """What the rows of the steps depend on besides the order, the batch size and the world."""

    def num_batches(self, epoch: int) -> int:
        """Return the batches of a whole epoch."""

    def plans(self, epoch: int, progress: Progress) -> Iterator[BatchPlan | RowsPlan]:
        """Yield this rank's batches of the rest of an epoch."""

    def check(self, epoch: int, progress: Progress) -> None:
        """Raise PlanError where an epoch cannot be that far."""


def check_consumed(progress: Progress, num_rows: int) -> None:
    """Raise PlanError where `progress` leaves the rows of an epoch."""
    if not 0 <= progress.consumed <= num_rows:
        raise PlanError(f"state of a loader: expected up to {num_rows} rows, found {progress.consumed}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How an epoch of `num_rows` elements is cut into global batches, and those among ranks: see `Loader`."""

    num_rows: int
    batch_size: int
    rank: int
    world_size: int
    tail: Tail

    def __post_init__(self) -> None:
        check_split(self.batch_size, self.rank, self.world_size, self.tail)

    @property
    def settings(self) -> dict[str, Any]:
        """See `Steps`."""
        return {}

    def num_batches(self, epoch: int) -> int:
        """See `Steps`."""
        return num_steps(self.num_rows, self.batch_size * self.world_size, self.tail)

    def check(self, epoch: int, progress: Progress) -> None:
        """See `Steps`."""
        check_consumed(progress, self.num_rows)
        if progress.groups:
            raise PlanError(f"state of a loader: expected no groups of rows, found {progress.groups}")

    def plans(self, epoch: int, progress: Progress) -> Iterator[BatchPlan]:
        """See `Steps`."""
        begin = progress.consumed
        while begin < self.num_rows:
            end = min(begin + self.batch_size * self.world_size, self.num_rows)
            count = end - begin
            if self.tail == "drop" and count < self.batch_size * self.world_size:
                return
            first = begin + count * self.rank // self.world_size
            last = begin + count * (self.rank + 1) // self.world_size
            num_filler = self.batch_size - (last - first) if self.tail == "pad" else 0
            yield BatchPlan(epoch, first, last, num_filler, end)
            begin = end


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSplit:
    """The batches of a `Split`, with the rows looked up: for an order that has to be gone through from its begin."""

    split: Split
    order: Order

    @property
    def settings(self) -> dict[str, Any]:
        """See `Steps`."""
        return self.split.settings

    def num_batches(self, epoch: int) -> int:
        """See `Steps`."""
        return self.split.num_batches(epoch)

    def check(self, epoch: int, progress: Progress) -> None:
        """See `Steps`."""
        self.split.check(epoch, progress)

    def plans(self, epoch: int, progress: Progress) -> Iterator[RowsPlan]:
        """See `Steps`; fillers are rows of the same step."""
        begin = progress.consumed
        for plan in self.split.plans(epoch, progress):
            filler = begin + np.arange(plan.num_filler) % (plan.global_end - begin)
            rows = self.order.rows(np.concatenate((np.arange(plan.begin, plan.end), filler)), epoch)
            num_rows, num_real = len(rows), plan.end - plan.begin
            nothing = np.zeros(num_rows, np.int64)
            yield RowsPlan(rows, nothing, np.arange(num_rows), num_rows, num_real, plan.progress)
            begin = plan.global_end


def check_split(batch_size: int, rank: int, world_size: int, tail: Tail) -> None:
    """Raise ValueError where batches cannot be split like this."""
    if batch_size < 1:
        raise ValueError(f"expected a batch size of at least 1, got {batch_size}")
    if not 0 <= rank < world_size:
        raise ValueError(f"expected a rank from 0 to below the world size of {world_size}, got {rank}")
    if tail not in TAILS:
        raise ValueError(f"expected tail of pad, drop or ragged, got {tail!r}")


def num_steps(count: int, step_size: int, tail: Tail) -> int:
    """Return the steps of an epoch of `count` elements."""
    return count // step_size if tail == "drop" else -(-count // step_size)
