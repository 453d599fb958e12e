"""Which triples make one structure: option `group_by` of the RDF sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.schema import NO_ROW
from lisdata.sources.ntriples_runs import KeyOf, graph_of, iter_runs, subject_of

UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]

GROUP_BY: dict[str, Any] = {
    "help": "What one structure holds: an adjacent run of one subject or of one graph (subject, graph), one fact "
    "(none), or this many facts (a number)."
}
"""Metadata of the option."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """A value of option `group_by`: "subject", "graph", "none" or a number of facts above 0; ValueError for others."""

    group_by: str

    def __post_init__(self) -> None:
        is_number = self.group_by.isascii() and self.group_by.isdecimal() and int(self.group_by) > 0
        if self.group_by not in ("subject", "graph", "none") and not is_number:
            raise ValueError(f"group_by: expected subject, graph, none or a number above 0, got {self.group_by!r}")

    @property
    def key_of(self) -> KeyOf:
        """What the lines of a run have in common, by which files are cut."""
        return graph_of if self.group_by == "graph" else subject_of

    def iter_batches(
        self, blocks: Iterable[tuple[int, bytes]], *, begin: int = 0
    ) -> Iterator[tuple[int, list[memoryview]]]:
        """Yield (offset, chunks of whole lines) of about one of `blocks`, the first of which begins at `begin`.

        No run goes across what is yielded.
        """
        if self.group_by in ("subject", "graph"):
            return iter_runs(blocks, self.key_of, begin=begin)
        return ((offset, [memoryview(data)]) for offset, data in blocks)

    def offsets(self, subject: UInt32, graph: UInt32 | None) -> Int64:
        """Return where the structures of a batch begin, and last its end, from its columns (N,).

        Of N facts, the last structure of a batch may have fewer.
        """
        size = len(subject)
        if self.group_by not in ("subject", "graph"):
            step = 1 if self.group_by == "none" else int(self.group_by)
            return np.append(np.arange(0, size, step), size).astype(np.int64)
        if graph is None:
            graph = np.full(size, NO_ROW, np.uint32)
        column = graph if self.group_by == "graph" else subject
        is_first = np.ones(size, np.bool_)
        is_first[1:] = column[1:] != column[:-1]
        return np.append(np.flatnonzero(is_first), size).astype(np.int64)
