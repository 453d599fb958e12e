"""Counts that are added up part by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

NUM_TOP = 20
_QUANTILES = {"5%": 0.05, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95}


class SizeTally:
    """How often each size occurs; memory grows with the different sizes."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, sizes: npt.NDArray[Any]) -> None:
        """Count each of `sizes`, integers from 0."""
        values, counts = np.unique(sizes, return_counts=True)
        self._counts.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))

    def quantiles(self) -> dict[str, float]:
        """Return mean, minimum, quantiles (sizes that occur: no interpolation) and maximum; empty without sizes."""
        if not self._counts:
            return {}
        sizes = np.array(sorted(self._counts))
        ends = np.cumsum([self._counts[size] for size in sizes.tolist()])
        total = int(ends[-1])
        found = {
            name: int(sizes[np.searchsorted(ends, q * (total - 1), side="right")]) for name, q in _QUANTILES.items()
        }
        mean = sum(size * count for size, count in self._counts.items()) / total
        return {"mean": mean, "minimum": int(sizes[0]), **found, "maximum": int(sizes[-1])}

    def histogram(self) -> dict[str, int]:
        """Return counts by ranges that double: 0, 1, 2-3, 4-7 ...; ranges below the smallest size are left out."""
        by_bits: Counter[int] = Counter()
        for size, count in self._counts.items():
            by_bits[size.bit_length()] += count
        if not by_bits:
            return {}
        return {_range(bits): by_bits[bits] for bits in range(min(by_bits), max(by_bits) + 1)}


def _range(bits: int) -> str:
    low, high = (1 << bits) >> 1, (1 << bits) - 1
    return str(high) if low >= high else f"{low}-{high}"


def add_codes(tally: Counter[str], codes: npt.NDArray[Any], names: Mapping[int, str] | list[str]) -> None:
    """Count the names of `codes`, integers from 0."""
    counts = np.bincount(codes.astype(np.int64))
    for code in np.flatnonzero(counts).tolist():
        tally[names[code]] += int(counts[code])


def ranked(tally: Counter[str], limit: int | None = None) -> dict[str, int]:
    """Return the counts, the most frequent first (then by name), `limit` of them at most."""
    return dict(sorted(tally.items(), key=lambda item: (-item[1], item[0]))[:limit])
