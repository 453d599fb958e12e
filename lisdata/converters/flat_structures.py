"""Structures as flat arrays, for converters that never make a Python object a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.converters.structure_rows import struct_array, structure_rows
from lisdata.schema import INCIDENCE_TYPE, StructureKind
from lisdata.structure_batch import list_array

if TYPE_CHECKING:
    from lisdata.inputs import InputFile

UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatStructures:
    """N structures of one input: a value each, then the values of their occurrences, instances and incidences.

    `num_occurrences`, `num_instances` and `num_incidences` (N,) say how many belong to each; `tau` holds contents,
    `label` and `sigma` labels, `occurrence` and `instance` numbers inside the structure.
    """

    begin: UInt64
    end: UInt64
    num_occurrences: Int64
    num_instances: Int64
    num_incidences: Int64
    tau: UInt32
    label: UInt32
    ordinal: UInt64
    occurrence: UInt32
    instance: UInt32
    sigma: UInt32
    position: Int64

    def to_arrow(
        self,
        kind: StructureKind,
        file: InputFile | tuple[InputFile, ...],
        *,
        document: pa.Array | None = None,
        span: pa.Array | None = None,
    ) -> pa.RecordBatch:
        """Return a batch of the STRUCTURES schema; `document` has a row a structure, `span` a row an occurrence.

        `file` is that of all structures or, where each has a file of its own, these.
        """
        in_occurrences, in_instances, in_incidences = (
            np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
            for counts in (self.num_occurrences, self.num_instances, self.num_incidences)
        )
        columns = {
            "tau": list_array(in_occurrences, pa.array(self.tau)),
            "instance_label": list_array(in_instances, pa.array(self.label)),
            "instance_ordinal": list_array(in_instances, pa.array(self.ordinal)),
            "incidence": list_array(in_incidences, struct_array(INCIDENCE_TYPE, [self.occurrence, self.instance])),
            "sigma": list_array(in_incidences, pa.array(self.sigma)),
            "position": list_array(in_incidences, pa.array(self.position)),
        }
        if document is not None:
            columns["document"] = document
        if span is not None:
            columns["span"] = list_array(in_occurrences, span, nullable=True)
        return structure_rows(kind, file, self.begin, self.end, columns)


def count_from_zero(counts: Int64) -> UInt32:
    """Return 0 .. n - 1 for each n of `counts`, one after another."""
    ends = np.cumsum(counts)
    return (np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)).astype(np.uint32)
