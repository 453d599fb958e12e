"""Strings as pieces of a tokenizer, and ragged arrays: values of many rows in one flat array, cut at offsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """The pieces of N strings: string n has `ids[offsets[n] : offsets[n + 1]]`.

    `begin` and `end` are offsets in characters of the piece's own string, equal where it spells nothing of it (special
    tokens, spaces that the tokenizer trims). `num_replaced` characters are ones that the tokenizer cannot take.
    """

    offsets: Int64
    ids: Ids
    begin: Int64
    end: Int64
    num_replaced: int = 0


def offsets_of(lengths: npt.NDArray[np.integer]) -> Int64:
    """Return where each row begins, and at the end the total: N + 1 numbers from N lengths."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def ragged_index(begins: Int64, lengths: Int64) -> Int64:
    """Return begins[0], begins[0] + 1, ... (lengths[0] of them), begins[1], ...: the flat index that gathers rows."""
    offsets = offsets_of(lengths)
    return np.repeat(begins - offsets[:-1], lengths) + np.arange(offsets[-1])


def row_numbers(offsets: Int64) -> Int64:
    """Return the row of each value."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def running_starts(keys: Int64, lengths: Int64) -> Int64:
    """Return for each item the summed length of the earlier items that have its key."""
    if not len(keys):
        return np.zeros(0, np.int64)
    order = np.argsort(keys, kind="stable")
    grouped = keys[order]
    before = offsets_of(lengths[order])[:-1]
    is_first = np.concatenate(([True], grouped[1:] != grouped[:-1]))
    starts = np.empty(len(keys), np.int64)
    starts[order] = before - np.maximum.accumulate(np.where(is_first, before, 0))
    return starts


def first_of_each(values: Int64, num_values: int) -> Int64:
    """Return the first index at which each number below `num_values` stands in `values`, -1 where it does not."""
    first = np.full(num_values, -1, np.int64)
    first[values[::-1]] = np.arange(len(values) - 1, -1, -1)
    return first
