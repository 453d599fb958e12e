"""Equal values of a column found by sorting: which each is, and how many come before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def sort_pairs(pairs: npt.NDArray[Any]) -> tuple[Int64, Bools]:
    """Return the stable order of pairs (N, 2), and which of the ordered ones are the first of their value."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    ordered = pairs[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return order, is_first


def number_pairs(pairs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Int64]:
    """Return the distinct pairs of (N, 2) ascending, and which of them each is."""
    order, is_first = sort_pairs(pairs)
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(is_first) - 1
    return pairs[order[is_first]], number


def rank_in_group(group: npt.NDArray[Any]) -> Int64:
    """Return for each item how many before it have its value."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(group) else np.empty(0, np.int64)
    rank = np.empty(len(group), np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(first, np.diff(np.append(first, len(group))))
    return rank
