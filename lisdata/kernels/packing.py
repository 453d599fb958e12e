"""Cuts a window of rows into packs, by first-fit, or into batches under a budget of tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import INT64S, OUT_INT64S, kernel

Int64 = npt.NDArray[np.int64]


@kernel(types.int64(INT64S, types.int64, OUT_INT64S, OUT_INT64S))
def _first_fit(lengths: Any, capacity: Any, room: Any, packs: Any) -> Any:
    # `room` is a tree over the packs: a leaf holds what is left of a pack, another node the most of its two below. No
    # pack that was not begun has less room than one that was, so that the first that fits is where the tree leads.
    num_leaves = len(room) // 2
    room[:] = capacity
    num_packs = 0
    for row in range(len(lengths)):
        node = 1
        while node < num_leaves:
            node *= 2
            if room[node] < lengths[row]:
                node += 1
        packs[row] = node - num_leaves
        num_packs = max(num_packs, packs[row] + 1)
        room[node] -= lengths[row]
        while node > 1:
            node //= 2
            room[node] = max(room[2 * node], room[2 * node + 1])
    return num_packs


@kernel(types.int64(INT64S, types.int64, types.int64, types.boolean, types.int64, OUT_INT64S))
def _cut_by_budget(
    lengths: Any, budget: Any, multiple: Any, is_padded: Any, max_rows: Any, batches: Any
) -> Any:  # fmt: skip
    number, count, longest, total = 0, 0, 0, 0
    for row in range(len(lengths)):
        width = (max(longest, lengths[row]) + multiple - 1) // multiple * multiple
        size = (count + 1) * width if is_padded else total + lengths[row]
        if count > 0 and (size > budget or count == max_rows):
            number, count, longest, total = number + 1, 0, 0, 0
        batches[row] = number
        count += 1
        longest = max(longest, lengths[row])
        total += lengths[row]
    return number + 1 if len(lengths) else 0


def first_fit(lengths: Int64, capacity: int) -> tuple[Int64, int]:
    """Put each row, in turn, into the first pack with room for it; return (the pack of each row, number of packs).

    No length is above `capacity`.
    """
    num_leaves = 1 << max(0, len(lengths) - 1).bit_length()
    packs = np.empty(len(lengths), np.int64)
    return packs, _first_fit(lengths, capacity, np.empty(2 * num_leaves, np.int64), packs)


def cut_by_budget(
    lengths: Int64, budget: int, *, multiple: int, is_padded: bool, max_rows: int
) -> tuple[Int64, int]:  # fmt: skip
    """Cut rows, in turn, into batches as long as they stay within the budget; return (batch of each row, their number).

    A batch's size is that of its padded rectangle, of a width that is a multiple of `multiple`, or else the sum of its
    lengths. It has at most `max_rows` rows.
    """
    batches = np.empty(len(lengths), np.int64)
    return batches, _cut_by_budget(lengths, budget, multiple, is_padded, max_rows, batches)
