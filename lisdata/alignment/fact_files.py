"""Digests of facts on disk, in buckets: two multisets of any size are compared a bucket at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lisdata.alignment.facts import LEVELS, TOKEN_LEVELS, Facts
from lisdata.kernels.groups import number_pairs

FACTS_A_BUCKET = 1 << 22
MAX_BUCKETS = 256
_ROW = np.dtype(
    [
        ("high", "<u8"), ("low", "<u8"), ("part", "<u4"), ("row", "<u4"), ("item", "<u4"), ("input", "<u4"),
        ("once", "?"), ("header", "?"),
    ]
)  # fmt: skip
Rows = npt.NDArray[np.void]
Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Place = tuple[int, int, int]
"""Number of the part among all of its side, row, and number of the instance or incidence in the row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """Of each structure of a part, the number of its input among all of its side, and whether it is a header of it.

    Each block that an input was read in may have the same header: its facts count once an input.
    """

    input: Int64
    is_header: Bools


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How two multisets of facts differ.

    `totals` counts both sides' facts, `duplicates` those that repeat an earlier one of their side. `lost` facts are on
    the first side alone, `added` ones on the second; the places are those of the first few.
    """

    totals: tuple[int, int]
    duplicates: tuple[int, int]
    lost: int
    added: int
    lost_places: tuple[Place, ...]
    added_places: tuple[Place, ...]


class FactFiles:
    """Facts of two sides in the folder `directory`; memory is bounded by the facts of one bucket."""

    def __init__(self, directory: Path, num_facts: int) -> None:
        self._directory = directory
        self._num_buckets = min(MAX_BUCKETS, 1 + num_facts // FACTS_A_BUCKET)

    def add(self, side: int, part: int, facts: Facts, origins: Origins | None = None) -> None:
        """Append facts of part number `part` of a side (0 or 1); without `origins` none is a header's."""
        rows = np.empty(len(facts.row), _ROW)
        rows["high"], rows["low"] = facts.digest[:, 0], facts.digest[:, 1]
        rows["part"], rows["row"], rows["item"], rows["once"] = part, facts.row, facts.item, facts.is_once
        has_origin = origins is not None and facts.level != "contents"
        rows["input"] = origins.input[facts.row] if origins is not None and has_origin else 0
        rows["header"] = origins.is_header[facts.row] if origins is not None and has_origin else False
        bucket = rows["high"] % np.uint64(self._num_buckets)
        for number in np.unique(bucket).tolist():
            with self._path(side, facts.level, number).open("ab") as stream:
                stream.write(rows[bucket == number].tobytes())

    def compare(self, level: str, num_examples: int) -> Difference:
        """Return how the sides' facts of a level differ."""
        if level not in (known := (*LEVELS, *TOKEN_LEVELS)):
            raise ValueError(f"expected one of {', '.join(known)}, got {level!r}")
        counts: Counter[str] = Counter()
        places: tuple[list[Place], list[Place]] = ([], [])
        for number in range(self._num_buckets):
            sides = [self._read(side, level, number) for side in (0, 1)]
            self._compare_bucket(sides, counts, places, num_examples)
        return Difference(
            totals=(counts["total 0"], counts["total 1"]),
            duplicates=(counts["duplicates 0"], counts["duplicates 1"]),
            lost=counts["only 0"],
            added=counts["only 1"],
            lost_places=tuple(places[0]),
            added_places=tuple(places[1]),
        )

    def _compare_bucket(
        self, sides: list[Rows], counts: Counter[str], places: tuple[list[Place], list[Place]], num_examples: int
    ) -> None:
        rows = np.concatenate(sides)
        distinct, number = number_pairs(np.stack([rows["high"], rows["low"]], axis=1))
        size = len(distinct)
        is_once, is_header = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        is_once[number[rows["once"]]] = True
        is_header[number[rows["header"]]] = True
        numbers = np.split(number, [len(sides[0])])
        found = [np.bincount(n, minlength=size) for n in numbers]
        for side in (0, 1):
            found[side] = np.where(is_header, _num_inputs(sides[side], numbers[side], is_header), found[side])
            found[side] = np.where(is_once, np.minimum(found[side], 1), found[side])
            counts[f"duplicates {side}"] += int((found[side] - (found[side] > 0)).sum())
            counts[f"total {side}"] += int(found[side].sum())
        for side, rows in enumerate(sides):
            surplus = np.maximum(found[side] - found[1 - side], 0)
            counts[f"only {side}"] += int(surplus.sum())
            chosen = _last_copies(rows, numbers[side], surplus)
            first = chosen[np.lexsort((chosen["item"], chosen["row"], chosen["part"]))[:num_examples]]
            here = zip(*(first[name].tolist() for name in ("part", "row", "item")), strict=True)
            places[side][:] = sorted([*places[side], *here])[:num_examples]

    def _read(self, side: int, level: str, bucket: int) -> Rows:
        path = self._path(side, level, bucket)
        return np.frombuffer(path.read_bytes() if path.exists() else b"", _ROW)

    def _path(self, side: int, level: str, bucket: int) -> Path:
        return self._directory / f"{side}-{level}-{bucket}"


def _num_inputs(rows: Rows, number: Int64, is_header: Bools) -> Int64:
    """Return how many inputs have each digest, where it is a header's; 0 elsewhere."""
    at = np.flatnonzero(is_header[number])
    pairs = np.unique(np.stack([number[at], rows["input"][at].astype(np.int64)]), axis=1)
    return np.bincount(pairs[0], minlength=len(is_header))


def _last_copies(rows: Rows, number: npt.NDArray[np.int64], surplus: npt.NDArray[np.int64]) -> Rows:
    """Return the last surplus[n] of the rows that have digest n."""
    at = np.flatnonzero(surplus[number] > 0)
    order = at[np.argsort(number[at], kind="stable")]
    digest = number[order]
    left = np.searchsorted(digest, digest, side="right") - np.arange(len(order))  # copies from here on, this one too
    return rows[order[left <= surplus[digest]]]
