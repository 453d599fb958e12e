"""The facts in one part of a dataset as flat arrays, for exporters that write a line a fact."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.converters.flat_structures import count_from_zero
from lisdata.errors import ExportError
from lisdata.kernels.arrays import one_array
from lisdata.schema import StructureKind
from lisdata.shards import Part

Int64 = npt.NDArray[np.int64]


class FactColumns:
    """The instances of a part, numbered across it, each with its participants in the structure's order.

    Fact f has label `label[f]`, handle `handle[f]` (a row of the part's contents, -1 for none) and the participants
    offsets[f] : offsets[f + 1] of `content`, `role` (a code of the part's labels) and `position`.
    """

    def __init__(self, part: Part) -> None:
        self._part = part
        self.in_instances, labels = _flat(part, "instance_label")
        self.label = np.asarray(labels).astype(np.int64)
        self.handle = _handles(part, len(self.label))
        in_incidences, pairs = _flat(part, "incidence")
        in_tau, tau = _flat(part, "tau")
        row = np.repeat(np.arange(part.structures.num_rows), np.diff(in_incidences))
        fact = self.in_instances[row] + np.asarray(pairs.field("instance"))
        content = np.asarray(tau)[in_tau[row] + np.asarray(pairs.field("occurrence"))]
        role, position = (np.asarray(_flat(part, name)[1]) for name in ("sigma", "position"))
        order = np.argsort(fact, kind="stable")
        self.content, self.role, self.position = (a[order].astype(np.int64) for a in (content, role, position))
        self.offsets = np.zeros(len(self.label) + 1, np.int64)
        np.cumsum(np.bincount(fact, minlength=len(self.label)), out=self.offsets[1:])

    def facts_of(self, rows: Int64) -> Int64:
        """Return the facts of the structures `rows`; ExportError where one holds no hyperedges."""
        kinds = np.asarray(self._part.structures["kind"])[rows]
        others = np.flatnonzero(kinds != StructureKind.HYPEREDGES)
        if len(others):
            name = self._part.structures.column("record_id")[int(rows[others[0]])]
            found = StructureKind(kinds[others[0]]).label
            raise ExportError(f"{name}: expected hyperedges, found a {found} structure")
        counts = self.in_instances[rows + 1] - self.in_instances[rows]
        return np.repeat(self.in_instances[rows], counts) + count_from_zero(counts)

    def participants_of(self, facts: Int64) -> tuple[Int64, Int64]:
        """Return (number in `facts`, number of the participant) of the participants of these facts."""
        counts = self.offsets[facts + 1] - self.offsets[facts]
        places = np.repeat(self.offsets[facts], counts) + count_from_zero(counts)
        return np.repeat(np.arange(len(facts)), counts), places

    def texts_in(self, fact: int, role: int) -> list[bytes]:
        """Return the lexical forms of the participants of a fact in a role, by position."""
        places = np.arange(self.offsets[fact], self.offsets[fact + 1])
        found = places[self.role[places] == role]
        found = found[np.argsort(self.position[found], kind="stable")]
        lexicals: list[bytes] = self._part.contents["lexical"].take(pa.array(self.content[found])).to_pylist()
        return lexicals


def _handles(part: Part, num_instances: int) -> Int64:
    """Return the row of each instance's handle, -1 for none; a structure without handles has no list of them."""
    column = one_array(part.structures.column("instance_handle"))
    counts = np.asarray(pc.list_value_length(one_array(part.structures.column("instance_label"))))
    has_list = np.repeat(np.asarray(column.is_valid()), counts)
    handle = np.full(num_instances, -1, np.int64)
    handle[has_list] = np.asarray(column.flatten().cast(pa.int64()).fill_null(-1))
    return handle


def _flat(part: Part, name: str) -> tuple[Int64, pa.Array]:
    """Return the offsets and the values of a list column; a null list is an empty one."""
    column = one_array(part.structures.column(name))
    lengths = np.asarray(pc.list_value_length(column).fill_null(0))
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64), column.flatten()
