"""Groups of rows: packs of a fixed length, or batches under a budget of tokens, cut from windows of an order.

How a window is cut depends on its rows alone, so that the groups of an epoch are the same in every world.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from lisdata.errors import PlanError
from lisdata.loader.order import Order, permute
from lisdata.loader.plans import Progress, RowsPlan, Tail, check_consumed, check_split, num_steps

Int64 = npt.NDArray[np.int64]
LongRows = Literal["cut", "split"]

DEFAULT_PACK_WINDOW = 4096
_BUCKETS_PER_WINDOW = 64
_DEFAULT_BUCKET = 64


class RowLengths(Protocol):
    """What knows how long rows are: a TokenDataset or a Mixture."""

    def lengths(self, rows: Int64) -> Int64:
        """Return the number of tokens of some rows."""


class GroupedRows(NamedTuple):
    """Rows, group after group: group g is [offsets[g], offsets[g + 1]); `skips` are tokens left out at their begin."""

    rows: Int64
    skips: Int64
    offsets: Int64

    @property
    def num_groups(self) -> int:
        """How many groups there are."""
        return len(self.offsets) - 1

    def take(self, groups: Int64) -> GroupedRows:
        """Return some of the groups."""
        begins, sizes = self.offsets[groups], np.diff(self.offsets)[groups]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        index = np.repeat(begins - offsets[:-1], sizes) + np.arange(offsets[-1])
        return GroupedRows(self.rows[index], self.skips[index], offsets)


class Grouping(Protocol):
    """How a window of an order is cut into groups; `settings` are kept in a loader's state."""

    @property
    def window(self) -> int:
        """Elements of a window."""

    @property
    def groups_per_batch(self) -> int:
        """Groups of a batch of one rank."""

    @property
    def is_packed(self) -> bool:
        """Whether a group is a line of a batch, not a batch."""

    @property
    def settings(self) -> dict[str, Any]:
        """Name and version of the algorithm, and all that it depends on."""

    def cut(self, rows: Int64, lengths: Int64, *, epoch: int, number: int) -> GroupedRows:
        """Return the groups of the rows of window `number`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """Packs of at most `length` tokens: each row, in turn, goes into the first pack of its window with room for it.

    A row longer than a pack (after `max_length`) is, by `long_rows`: "cut", cut to its first tokens; "split", taken in
    pieces of a pack's length, the last of them shorter, each like a row of its own.
    """

    length: int
    window: int
    num_packs: int
    long_rows: LongRows
    max_length: int | None = None

    def __post_init__(self) -> None:
        if self.length < 1 or self.window < 1:
            raise ValueError(f"expected packs of at least 1 token and windows of 1 row, got {self.length, self.window}")
        if self.num_packs < 1:
            raise ValueError(f"expected a batch size of at least 1, got {self.num_packs}")
        if self.long_rows not in ("cut", "split"):
            raise ValueError(f"expected long_rows of cut or split, got {self.long_rows!r}")

    @property
    def groups_per_batch(self) -> int:
        """See `Grouping`."""
        return self.num_packs

    @property
    def is_packed(self) -> bool:
        """See `Grouping`."""
        return True

    @property
    def settings(self) -> dict[str, Any]:
        """See `Grouping`."""
        length = {} if self.max_length is None else {"max_length": self.max_length}
        return {"groups": "packs-1", "length": self.length, "window": self.window, "long": self.long_rows, **length}

    def cut(self, rows: Int64, lengths: Int64, *, epoch: int, number: int) -> GroupedRows:
        """See `Grouping`."""
        from lisdata.kernels.packing import first_fit

        if self.max_length is not None:
            lengths = np.minimum(lengths, self.max_length)
        skips = np.zeros(len(rows), np.int64)
        if self.long_rows == "split" and len(rows) and lengths.max() > self.length:
            pieces = np.maximum(1, -(-lengths // self.length))
            piece = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
            skips = piece * self.length
            rows, lengths = np.repeat(rows, pieces), np.repeat(lengths, pieces) - skips
        return _grouped(rows, skips, *first_fit(np.minimum(lengths, self.length), self.length))


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """Batches of as many rows, in turn, as keep it at most `max_tokens`, padding included (`is_padded`), or `max_rows`.

    With `bucket`, the rows of 64 buckets are sorted by length before, and the batches made of them permuted. A row that
    is longer than the budget is cut to what fits.
    """

    max_tokens: int
    is_padded: bool
    max_rows: int | None
    bucket: int | None
    seed: int
    pad_to: int = 1
    max_length: int | None = None

    def __post_init__(self) -> None:
        if self.max_tokens < self.pad_to:
            raise ValueError(f"expected {self.max_tokens=} of at least a row, padded to {self.pad_to}")
        if (self.max_rows is not None and self.max_rows < 1) or (self.bucket is not None and self.bucket < 1):
            raise ValueError(f"expected buckets and batches of at least 1 row, got {self.bucket=}, {self.max_rows=}")

    @property
    def window(self) -> int:
        """See `Grouping`."""
        return _BUCKETS_PER_WINDOW * (self.bucket or _DEFAULT_BUCKET)

    @property
    def groups_per_batch(self) -> int:
        """See `Grouping`."""
        return 1

    @property
    def is_packed(self) -> bool:
        """See `Grouping`."""
        return False

    @property
    def row_limit(self) -> int:
        """The longest that a row may be."""
        limit = self.max_tokens // self.pad_to * self.pad_to if self.is_padded else self.max_tokens
        return limit if self.max_length is None else min(limit, self.max_length)

    @property
    def settings(self) -> dict[str, Any]:
        """See `Grouping`."""
        shape = [int(self.is_padded), self.pad_to, self.row_limit, self.max_rows]
        return {"groups": "budget-1", "max_tokens": self.max_tokens, "bucket": self.bucket, "shape": shape}

    def cut(self, rows: Int64, lengths: Int64, *, epoch: int, number: int) -> GroupedRows:
        """See `Grouping`."""
        from lisdata.kernels.packing import cut_by_budget

        lengths = np.minimum(lengths, self.row_limit)
        if self.bucket is not None:
            by_length = np.argsort(lengths, kind="stable")
            rows, lengths = rows[by_length], lengths[by_length]
        batches, num_batches = cut_by_budget(
            lengths,
            self.max_tokens,
            multiple=self.pad_to,
            is_padded=self.is_padded,
            max_rows=self.max_rows or len(rows),
        )
        found = _grouped(rows, np.zeros(len(rows), np.int64), batches, num_batches)
        if self.bucket is None:
            return found
        return found.take(permute(np.arange(num_batches), num_batches, seed=self.seed, epoch=epoch + number))


class _Window(NamedTuple):
    begin: int
    end: int
    groups: GroupedRows

    def progress(self, num_taken: int) -> Progress:
        return Progress(self.begin, num_taken) if num_taken < self.groups.num_groups else Progress(self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedSplit:
    """The groups of an epoch, split evenly over steps and ranks: see `Steps` and `Loader`."""

    order: Order
    lengths: RowLengths
    grouping: Grouping
    rank: int
    world_size: int
    tail: Tail

    def __post_init__(self) -> None:
        check_split(1, self.rank, self.world_size, self.tail)

    @property
    def settings(self) -> dict[str, Any]:
        """See `Steps`."""
        return self.grouping.settings

    def num_batches(self, epoch: int) -> int:
        """See `Steps`; this cuts the whole epoch."""
        begins = range(0, self.order.num_rows, self.grouping.window)
        num_groups = sum(self._window(epoch, begin).groups.num_groups for begin in begins)
        return num_steps(num_groups, self.grouping.groups_per_batch * self.world_size, self.tail)

    def check(self, epoch: int, progress: Progress) -> None:
        """See `Steps`."""
        check_consumed(progress, self.order.num_rows)
        consumed, groups = progress
        is_begin = consumed % self.grouping.window == 0 and consumed < self.order.num_rows
        if consumed == self.order.num_rows and groups == 0:
            return
        if not is_begin or not 0 <= groups < self._window(epoch, consumed).groups.num_groups:
            raise PlanError(f"state of a loader: expected the begin of a window and groups of it, found {progress}")

    def plans(self, epoch: int, progress: Progress) -> Iterator[RowsPlan]:
        """See `Steps`; fillers are groups of the same step."""
        step_size = self.grouping.groups_per_batch * self.world_size
        stretches: list[GroupedRows] = []
        count = 0
        for begin in range(progress.consumed, self.order.num_rows, self.grouping.window):
            window = self._window(epoch, begin)
            taken = progress.groups if begin == progress.consumed else 0
            while taken < window.groups.num_groups:
                end = min(taken + step_size - count, window.groups.num_groups)
                stretches.append(window.groups.take(np.arange(taken, end)))
                count, taken = count + end - taken, end
                if count == step_size:
                    yield self._plan(_joined(stretches), window.progress(taken))
                    stretches, count = [], 0
        if count and self.tail != "drop":
            yield self._plan(_joined(stretches), Progress(self.order.num_rows))

    def _plan(self, step: GroupedRows, progress: Progress) -> RowsPlan:
        """Return this rank's share of a step."""
        count = step.num_groups
        first, last = (count * rank // self.world_size for rank in (self.rank, self.rank + 1))
        num_filler = self.grouping.groups_per_batch - (last - first) if self.tail == "pad" else 0
        rows, skips, offsets = step.take(np.concatenate((np.arange(first, last), np.arange(num_filler) % count)))
        if self.grouping.is_packed:
            num_lines = last - first + num_filler
            lines = np.repeat(np.arange(num_lines), np.diff(offsets))
            return RowsPlan(rows, skips, lines, num_lines, last - first, progress)
        num_real = len(rows) if last > first else 0
        return RowsPlan(rows, skips, np.arange(len(rows)), len(rows), num_real, progress)

    def _window(self, epoch: int, begin: int) -> _Window:
        end = min(begin + self.grouping.window, self.order.num_rows)
        rows = self.order.rows(np.arange(begin, end), epoch)
        lengths = self.lengths.lengths(rows)
        number = begin // self.grouping.window
        return _Window(begin, end, self.grouping.cut(rows, lengths, epoch=epoch, number=number))


def _grouped(rows: Int64, skips: Int64, groups: Int64, num_groups: int) -> GroupedRows:
    by_group = np.argsort(groups, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(groups, minlength=num_groups))))
    return GroupedRows(rows[by_group], skips[by_group], offsets)


def _joined(stretches: list[GroupedRows]) -> GroupedRows:
    if len(stretches) == 1:
        return stretches[0]
    sizes = np.concatenate([np.diff(found.offsets) for found in stretches])
    rows, skips = (np.concatenate([found[column] for found in stretches]) for column in (0, 1))
    return GroupedRows(rows, skips, np.concatenate(([0], np.cumsum(sizes))))
