"""Contents of several parts grouped by key, in memory that is bounded by the keys of one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lisdata.kernels.groups import sort_pairs
from lisdata.shards.dataset import Part

Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]

KEYS_A_PASS = 1 << 25  # about 50 bytes each


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyGroups:
    """Contents by key: the part (a number) and row of each, and its group; groups are runs, numbered from 0.

    Inside a group, parts and rows ascend.
    """

    group: Int64
    part: Int64
    row: Int64

    @property
    def first(self) -> Int64:
        """Where each group begins."""
        return np.flatnonzero(np.diff(self.group, prepend=-1))

    def select(self, chosen: npt.NDArray[np.bool_]) -> KeyGroups:
        """Return some of the contents; their groups keep their numbers."""
        return KeyGroups(group=self.group[chosen], part=self.part[chosen], row=self.row[chosen])


def iter_key_groups(parts: Sequence[Part], *, keys_a_pass: int = KEYS_A_PASS) -> Iterator[KeyGroups]:
    """Yield all contents of `parts` by key: a share at a time, chosen by the bits of the keys."""
    num_passes = -(-sum(part.counts["contents"] for part in parts) // keys_a_pass)
    for number in range(num_passes):
        keys, owners, rows = [], [], []
        for index, part in enumerate(parts):
            pairs = _keys(part)
            row = np.flatnonzero(pairs[:, 0] % np.uint64(num_passes) == number)
            keys.append(pairs[row])
            rows.append(row)
            owners.append(np.full(len(row), index))
        yield _grouped(np.concatenate(keys), np.concatenate(owners), np.concatenate(rows))


def _grouped(keys: UInt64, part: Int64, row: Int64) -> KeyGroups:
    order, is_first = sort_pairs(keys)  # stable, so that parts and rows ascend inside a group
    return KeyGroups(group=np.cumsum(is_first) - 1, part=part[order], row=row[order])


def _keys(part: Part) -> UInt64:
    """Return the keys of a part's contents as pairs of integers, (N, 2)."""
    column = part.read("contents", ("key",)).column("key").combine_chunks()
    buffer = column.buffers()[1]
    if buffer is None or not len(column):
        return np.empty((0, 2), np.uint64)
    return np.frombuffer(buffer, np.uint64).reshape(-1, 2)[column.offset : column.offset + len(column)]
