"""What a manifest counts of structures: written by the writer, counted again by `verify`."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.compute as pc

from lisdata.schema import StructureKind

_LISTS = {"occurrences": "tau", "instances": "instance_label", "incidences": "sigma"}


def count_rows(rows: pa.RecordBatch) -> tuple[dict[str, int], dict[str, int]]:
    """Return the counts of some structures by name, and how many there are of each kind."""
    counts = {"structures": rows.num_rows}
    for name, column in _LISTS.items():
        counts[name] = pc.sum(pc.list_value_length(rows.column(column))).as_py() or 0
    shapes = rows.column("shape").drop_null()
    counts["cells"] = sum(map(math.prod, shapes.to_pylist()))
    pairs = pc.value_counts(rows.column("kind")).to_pylist()
    return counts, {StructureKind(pair["values"]).label: pair["counts"] for pair in pairs}
