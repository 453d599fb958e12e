"""Length buckets: an order in which rows of about equal length stand together, so that batches have little padding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.loader.grouping import RowLengths
from lisdata.loader.order import Order, permute

Int64 = npt.NDArray[np.int64]
_BUCKETS_PER_POOL = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketOrder:
    """Another order, taken 64 buckets at a time: those rows sorted by length, cut into buckets, the buckets permuted.

    A bucket has `size` rows, best those of a global batch; an epoch's last one may have fewer and comes last. Which
    rows meet still changes from epoch to epoch. The order depends on `size` but on no batch size or world.
    """

    base: Order
    dataset: RowLengths
    size: int
    seed: int
    _pools: dict[tuple[int, int], Int64] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"expected buckets of at least 1 row, got {self.size}")

    @property
    def num_rows(self) -> int:
        """See `Order`."""
        return self.base.num_rows

    @property
    def settings(self) -> dict[str, Any]:
        """See `Order`."""
        return {"algorithm": "buckets-1", "bucket": self.size, "seed": self.seed, "of": self.base.settings}

    def rows(self, elements: Int64, epoch: int) -> Int64:
        """See `Order`."""
        pool_size = _BUCKETS_PER_POOL * self.size
        pool, place = np.divmod(elements, pool_size)
        found = np.empty(len(elements), np.int64)
        for number in np.unique(pool).tolist():
            here = pool == number
            found[here] = self._pool(number, epoch)[place[here]]
        return found

    def _pool(self, number: int, epoch: int) -> Int64:
        """Return the rows of a pool in order; the last two are kept, as batches come one after another."""
        known = self._pools.get((number, epoch))
        if known is not None:
            return known
        begin = number * _BUCKETS_PER_POOL * self.size
        elements = np.arange(begin, min(begin + _BUCKETS_PER_POOL * self.size, self.num_rows))
        rows = self.base.rows(elements, epoch)
        rows = rows[np.argsort(self.dataset.lengths(rows), kind="stable")]
        num_whole = len(rows) // self.size
        whole = rows[: num_whole * self.size].reshape(num_whole, self.size)
        if num_whole:
            num_pools = -(-self.num_rows // (_BUCKETS_PER_POOL * self.size))
            turn = epoch * num_pools + number  # another permutation for each pool of each epoch
            whole = whole[permute(np.arange(num_whole), num_whole, seed=self.seed, epoch=turn)]
        ordered = np.concatenate([whole.ravel(), rows[num_whole * self.size :]])
        while len(self._pools) > 1:
            self._pools.pop(next(iter(self._pools)))
        self._pools[number, epoch] = ordered
        return ordered
