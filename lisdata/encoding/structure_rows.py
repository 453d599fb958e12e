"""Rows of a part as flat NumPy arrays: what the views read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.encoding.pieces import Bools, Int64, offsets_of, row_numbers
from lisdata.schema import UNTAGGED
from lisdata.shards import Part

ENCODED_COLUMNS = (
    "record_id", "kind", "tau", "span", "document", "instance_label", "incidence", "sigma", "shape", "tensor",
    "terminal", "nonterminal",
)  # fmt: skip
SLICE_WEIGHT = 1 << 20
_BYTES_PER_INCIDENCE = 16


class StructureRows:
    """N structures. Occurrences, instances and incidences of all rows stand in one flat order each.

    "Global" numbers count through that order; subtracting the row's offset gives the number inside the structure.
    """

    def __init__(self, batch: pa.RecordBatch, is_kept: Bools | None = None) -> None:
        """`is_kept` says which of the batch's incidences there are."""
        self.batch = batch
        self.num_rows: int = batch.num_rows
        self._is_kept = is_kept

    def _column(self, name: str) -> pa.Array:
        return self.batch.column(name)

    def _lengths(self, name: str) -> Int64:
        return _filled(pc.list_value_length(self._column(name)))

    def _flat(self, name: str, field: str | None = None, *, fill: int = 0) -> Int64:
        values = self._column(name).flatten()
        if field is not None:
            values = pc.struct_field(values, field)
        return np.asarray(values.fill_null(fill) if values.null_count else values).astype(np.int64)

    def with_incidences(self, is_kept: Bools) -> StructureRows:
        """Return the rows with some of their incidences only; these rows have all of the batch's."""
        return StructureRows(self.batch, is_kept)

    def _kept(self, values: Int64) -> Int64:
        return values if self._is_kept is None else values[self._is_kept]

    def take(self, rows: Int64) -> StructureRows:
        """Return some of the rows, ascending."""
        return self if len(rows) == self.num_rows else StructureRows(self.batch.take(pa.array(rows)))

    @cached_property
    def record_ids(self) -> pa.Array:
        """The record ids."""
        return self._column("record_id")

    @cached_property
    def kinds(self) -> npt.NDArray[np.uint8]:
        """The StructureKind code of each row."""
        return np.asarray(self._column("kind"))

    @cached_property
    def is_grid(self) -> Bools:
        """Whether a row's incidences are implied by its tensor."""
        return np.asarray(self._column("shape").is_valid())

    @cached_property
    def documents(self) -> pa.Array:
        """The bytes that spans point into, null where a structure has none."""
        return self._column("document")

    @cached_property
    def occurrence_offsets(self) -> Int64:
        """Where the occurrences of each row begin."""
        return offsets_of(self._lengths("tau"))

    @cached_property
    def tau(self) -> Int64:
        """The content of each occurrence."""
        return self._flat("tau")

    @cached_property
    def instance_offsets(self) -> Int64:
        """Where the instances of each row begin."""
        return offsets_of(self._lengths("instance_label"))

    @cached_property
    def instance_label(self) -> Int64:
        """The label code of each instance."""
        return self._flat("instance_label")

    @cached_property
    def incidence_row(self) -> Int64:
        """The row of each incidence."""
        return self._kept(row_numbers(offsets_of(self._lengths("incidence"))))

    @cached_property
    def incidence_occurrence(self) -> Int64:
        """The global number of each incidence's occurrence."""
        return self._kept(self._flat("incidence", "occurrence")) + self.occurrence_offsets[self.incidence_row]

    @cached_property
    def incidence_instance(self) -> Int64:
        """The global number of each incidence's instance."""
        return self._kept(self._flat("incidence", "instance")) + self.instance_offsets[self.incidence_row]

    @cached_property
    def sigma(self) -> Int64:
        """The role code of each incidence."""
        return self._kept(self._flat("sigma"))

    @cached_property
    def spans(self) -> tuple[Int64, Int64]:
        """Begin and end of each occurrence in its document's bytes, -1 where it has no span."""
        present = self._spread("span", np.asarray(self._column("span").flatten().is_valid()), False).astype(bool)
        begin, end = (self._spread("span", self._flat("span", name), -1) for name in ("begin", "end"))
        return np.where(present, begin, -1), np.where(present, end, -1)

    @cached_property
    def terminal(self) -> Int64:
        """The terminal hexatag of each occurrence, UNTAGGED where it has none."""
        return self._spread("terminal", self._flat("terminal"), UNTAGGED)

    @cached_property
    def nonterminal(self) -> Int64:
        """The nonterminal hexatag of each occurrence, UNTAGGED where it has none."""
        return self._spread("nonterminal", self._flat("nonterminal"), UNTAGGED)

    @cached_property
    def deprel(self) -> Int64:
        """The label code of each occurrence's dependency relation, -1 where it has none."""
        return self._spread("deprel", self._flat("deprel", fill=-1), -1)

    def tensor(self, row: int) -> tuple[str, list[int], memoryview]:
        """Return dtype, shape and row-major bytes of a grid."""
        scalar: Any = self._column("tensor")[row]
        data = memoryview(scalar["bytes"].as_buffer() or b"")
        return scalar["dtype"].as_py(), self._column("shape")[row].as_py(), data

    def _spread(self, name: str, values: npt.NDArray[Any], fill: int) -> Int64:
        """Return one value an occurrence from a column whose null rows have no values."""
        is_valid = np.asarray(self._column(name).is_valid())
        if is_valid.all():
            return values.astype(np.int64)
        spread = np.full(self.occurrence_offsets[-1], fill, np.int64)
        if is_valid.any():
            spread[np.repeat(is_valid, np.diff(self.occurrence_offsets))] = values
        return spread


def iter_slices(
    part: Part, columns: tuple[str, ...] = ENCODED_COLUMNS, weight: int = SLICE_WEIGHT
) -> Iterator[StructureRows]:
    """Yield the rows of a part in order, as many at a time as weigh about `weight` bytes (one at least).

    Only `columns` are read.
    """
    for batch in part.iter_batches("structures", columns):
        rows = StructureRows(batch)
        ends = np.cumsum(_weights(batch))
        begin = 0
        while begin < rows.num_rows:
            before = int(ends[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + weight, side="right")))
            yield rows if end - begin == rows.num_rows else StructureRows(batch.slice(begin, end - begin))
            begin = end


def _weights(batch: pa.RecordBatch) -> Int64:
    """Return about how many bytes of text or values each row has."""
    names = batch.schema.names
    sizes = [np.ones(batch.num_rows, np.int64)]
    if "document" in names:
        sizes.append(_filled(pc.binary_length(batch.column("document"))))
    if "tensor" in names:
        sizes.append(_filled(pc.binary_length(pc.struct_field(batch.column("tensor"), "bytes"))))
    if "incidence" in names:
        sizes.append(_filled(pc.list_value_length(batch.column("incidence"))) * _BYTES_PER_INCIDENCE)
    total: Int64 = np.sum(sizes, axis=0)
    return total


def _filled(lengths: pa.Array) -> Int64:
    return np.asarray(pc.fill_null(lengths, 0)).astype(np.int64)
