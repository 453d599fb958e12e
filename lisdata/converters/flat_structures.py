"""Structures as flat arrays, for converters that never make a Python object a value."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.inputs import InputFile
from lisdata.schema import INCIDENCE_TYPE, SOURCE_TYPE, STRUCTURES, StructureKind
from lisdata.structure_batch import list_array, null_list

UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatStructures:
    """N structures of one input: a value each, then those of all occurrences, instances and incidences one after another.

    `num_occurrences`, `num_instances` and `num_incidences` (N,) say how many belong to each; `tau` holds contents,
    `label` and `sigma` labels, `occurrence` and `instance` numbers inside the structure.
    """

    record_id: npt.NDArray[np.object_]
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

    def followed_by(self, others: FlatStructures) -> FlatStructures:
        """Return these structures and then the others."""
        return FlatStructures(
            **{f.name: np.concatenate((getattr(self, f.name), getattr(others, f.name))) for f in fields(self)}
        )

    def to_arrow(
        self,
        kind: StructureKind,
        file: InputFile,
        *,
        documents: pa.Array | None = None,
        spans: pa.Array | None = None,
    ) -> pa.RecordBatch:
        """Return a batch of the STRUCTURES schema; `spans` has a row for each of `tau`."""
        num_rows = len(self.begin)
        in_occurrences, in_instances, in_incidences = (
            np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
            for counts in (self.num_occurrences, self.num_instances, self.num_incidences)
        )
        incidence = pa.StructArray.from_arrays(
            [pa.array(self.occurrence), pa.array(self.instance)], fields=list(INCIDENCE_TYPE)
        )
        source = pa.StructArray.from_arrays(
            [pa.array(np.full(num_rows, file.index, np.uint32)), pa.array(self.begin), pa.array(self.end)],
            fields=list(SOURCE_TYPE),
        )
        columns = {
            "record_id": pa.array(self.record_id, pa.large_string()),
            "kind": pa.array(np.full(num_rows, kind, np.uint8)),
            "tau": list_array(in_occurrences, pa.array(self.tau)),
            "document": pa.nulls(num_rows, pa.large_binary()) if documents is None else documents,
            "instance_label": list_array(in_instances, pa.array(self.label)),
            "instance_ordinal": list_array(in_instances, pa.array(self.ordinal)),
            "incidence": list_array(in_incidences, incidence),
            "sigma": list_array(in_incidences, pa.array(self.sigma)),
            "position": list_array(in_incidences, pa.array(self.position)),
            "tensor": pa.nulls(num_rows, STRUCTURES.field("tensor").type),
            "source": source,
        }
        if spans is not None:
            columns["span"] = list_array(in_occurrences, spans, nullable=True)
        arrays = [columns[name] if name in columns else null_list(num_rows, name) for name in STRUCTURES.names]
        return pa.RecordBatch.from_arrays(arrays, schema=STRUCTURES)


def record_ids(file: InputFile, begin: UInt64, suffix: str = "") -> npt.NDArray[np.object_]:
    """Return the ids of structures that begin at bytes `begin`; `suffix` tells apart those that begin at one byte."""
    scope = file.scope
    return np.array([f"{scope}#{offset}{suffix}" for offset in begin.tolist()], np.object_)


def count_from_zero(counts: Int64) -> UInt32:
    """Return 0 .. n - 1 for each n of `counts`, one after another."""
    ends = np.cumsum(counts)
    return (np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)).astype(np.uint32)
