"""The facts in a part's structures, each with its participants, for an exporter that gathers them into entities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.contents import Content
from lisdata.schema import NO_ROW, ContentKind, StructureKind
from lisdata.shards import Part

Int64 = npt.NDArray[np.int64]

_BLOCK_ROWS = 1 << 10


@dataclass(frozen=True, slots=True)
class Participant:
    """What takes part in a fact: the relation and side of its role, its position, and the content."""

    relation: str
    side: str
    position: int
    content: Content


@dataclass(frozen=True, slots=True)
class Fact:
    """An instance with its participants in the order of the incidences."""

    label: str
    ordinal: int
    handle: Content | None
    participants: list[Participant]


class PartFacts:
    """The facts of one part; what a block of structures shows is made into objects once."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._labels: list[str] = part.labels["label"].to_pylist()
        self._relations: list[str] = part.labels["relation"].to_pylist()
        self._sides: list[str] = part.labels["side"].to_pylist()

    def iter_structures(self, rows: Int64) -> Iterator[tuple[StructureKind, int, list[Fact]]]:
        """Yield kind, begin in the source, and facts of the structures `rows`."""
        for first in range(0, len(rows), _BLOCK_ROWS):
            block = rows[first : first + _BLOCK_ROWS]
            yield from self._iter_block(self._part.structures.take(pa.array(block)))

    def _iter_block(self, table: pa.Table) -> Iterator[tuple[StructureKind, int, list[Fact]]]:
        kinds = table["kind"].to_pylist()
        begins = pc.struct_field(table["source"].combine_chunks(), "begin").to_pylist()
        in_tau, tau = _flat(table, "tau")
        in_instances, labels = _flat(table, "instance_label")
        in_incidences, pairs = _flat(table, "incidence")
        handles = self._handles(table, len(labels))
        shown = self._contents(np.asarray(tau))
        named = self._contents(handles)
        ordinals = _flat(table, "instance_ordinal")[1].to_pylist()
        labels = labels.to_pylist()
        columns = (
            pairs.field("occurrence").to_pylist(),
            pairs.field("instance").to_pylist(),
            _flat(table, "sigma")[1].to_pylist(),
            _flat(table, "position")[1].to_pylist(),
        )
        for row, (kind, begin) in enumerate(zip(kinds, begins, strict=True)):
            first, last = in_instances[row], in_instances[row + 1]
            facts = [Fact(self._labels[labels[n]], ordinals[n], named[n], []) for n in range(first, last)]
            places = slice(in_incidences[row], in_incidences[row + 1])
            for occurrence, instance, code, position in zip(*(c[places] for c in columns), strict=True):
                content = shown[in_tau[row] + occurrence]
                assert content is not None
                participant = Participant(self._relations[code], self._sides[code], position, content)
                facts[instance].participants.append(participant)
            yield StructureKind(kind), begin, facts

    def _handles(self, table: pa.Table, num_instances: int) -> npt.NDArray[np.uint32]:
        """Return the content that names each instance, NO_ROW where none does; a null list names none."""
        handles = np.full(num_instances, NO_ROW, np.uint32)
        column = table["instance_handle"].combine_chunks()
        sizes = np.asarray(pc.list_value_length(table["instance_label"].combine_chunks()))
        handles[np.repeat(np.asarray(column.is_valid()), sizes)] = np.asarray(column.flatten().fill_null(NO_ROW))
        return handles

    def _contents(self, rows: npt.NDArray[np.uint32]) -> list[Content | None]:
        """Return the contents that `rows` name, each made once; None for NO_ROW."""
        distinct, numbers = np.unique(rows, return_inverse=True)
        is_none = distinct == NO_ROW
        table = self._part.contents.take(pa.array(distinct[~is_none]))
        names = ("kind", "lexical", "datatype", "language", "scope")
        columns = zip(*(table[name].to_pylist() for name in names), strict=True)
        made: list[Content | None] = [
            Content(ContentKind(kind), lexical, *(None if code is None else self._labels[code] for code in symbols))
            for kind, lexical, *symbols in columns
        ]
        made += [None] * int(is_none.sum())  # the greatest number there is, so the last one
        return [made[number] for number in numbers.tolist()]


def _flat(table: pa.Table, name: str) -> tuple[list[int], pa.Array]:
    """Return the offsets and the values of a list column; a null list is an empty one."""
    column = table[name].combine_chunks()
    lengths = np.asarray(pc.list_value_length(column).fill_null(0))
    return np.concatenate(([0], np.cumsum(lengths))).tolist(), column.flatten()
