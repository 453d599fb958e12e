"""Which elements of an epoch's order make each batch of a rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

Tail = Literal["pad", "drop", "ragged"]


class BatchPlan(NamedTuple):
    """A batch of one rank: elements [begin, end) of the epoch's order, then `num_filler` rows seen before.

    `global_end` is the element after the last one that any rank has in this step.
    """

    epoch: int
    begin: int
    end: int
    num_filler: int
    global_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How an epoch of `num_rows` elements is cut into global batches, and those among ranks: see `Loader`."""

    num_rows: int
    batch_size: int
    rank: int
    world_size: int
    tail: Tail

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"expected a batch size of at least 1, got {self.batch_size}")
        if not 0 <= self.rank < self.world_size:
            raise ValueError(f"expected a rank from 0 to {self.world_size - 1}, got {self.rank}")
        if self.tail not in ("pad", "drop", "ragged"):
            raise ValueError(f"expected tail of pad, drop or ragged, got {self.tail!r}")

    @property
    def num_batches(self) -> int:
        """Batches of a whole epoch."""
        global_size = self.batch_size * self.world_size
        return self.num_rows // global_size if self.tail == "drop" else -(-self.num_rows // global_size)

    def plans(self, epoch: int, begin: int) -> Iterator[BatchPlan]:
        """Yield this rank's batches from element `begin` of an epoch to its end."""
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
