"""How much of a `same_as` table is about given datasets: one that matches nothing there changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lisdata.kernels.arrays import fixed_rows, one_array
from lisdata.kernels.groups import number_pairs
from lisdata.shards import IncidenceDataset
from lisdata.shards.same_as import SameAs, key_pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class SameAsMatches:
    """The contents and classes of a table, how many of the contents each dataset has, and of the classes all together.

    `joined` classes have two contents or more in the datasets; the others change nothing that shows.
    """

    contents: int
    classes: int
    found: tuple[int, ...]
    joined: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types; without datasets, what the table says alone."""
        found = {"found": list(self.found), "joined": self.joined} if self.found else {}
        return {"contents": self.contents, "classes": self.classes} | found


def count_matches(datasets: Sequence[IncidenceDataset], same_as: SameAs) -> SameAsMatches:
    """Count the contents of a table that the datasets have, in memory that grows with the table."""
    found = []
    is_anywhere = np.zeros(len(same_as), np.bool_)
    for dataset in datasets:
        is_here = np.zeros(len(same_as), np.bool_)
        for part in dataset.parts:
            keys = part.read("contents", ("key",)).column("key")
            rows = same_as.find(key_pairs(fixed_rows(one_array(keys)))) if len(keys) else np.zeros(0, np.int64)
            is_here[rows[rows >= 0]] = True
        found.append(int(is_here.sum()))
        is_anywhere |= is_here
    _, number = number_pairs(same_as.canonical[is_anywhere])
    joined = int(np.count_nonzero(np.bincount(number) > 1)) if len(number) else 0
    return SameAsMatches(contents=len(same_as), classes=same_as.num_classes, found=tuple(found), joined=joined)
