"""What a manifest counts of structures: written by the writer, counted again by `verify`."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.schema import StructureKind

_LISTS = {"occurrences": "tau", "instances": "instance_label", "incidences": "sigma"}


def count_rows(rows: pa.RecordBatch) -> tuple[dict[str, int], dict[str, int]]:
    """Return the counts of some structures by name, and how many there are of each kind."""
    counts = {"structures": rows.num_rows}
    for name, column in _LISTS.items():
        counts[name] = _total_length(rows.column(column))
    shapes = rows.column("shape")
    has_shapes = shapes.null_count < rows.num_rows
    counts["cells"] = sum(map(math.prod, shapes.drop_null().to_pylist())) if has_shapes else 0
    return counts, {StructureKind(kind).label: count for kind, count in _count_kinds(rows.column("kind"))}


def _count_kinds(kinds: pa.Array) -> list[tuple[int, int]]:
    """Return (kind, count) by first appearance; most batches have one kind."""
    found = np.asarray(kinds)
    if len(found) and (found == found[0]).all():
        return [(int(found[0]), len(found))]
    return [(pair["values"], pair["counts"]) for pair in pc.value_counts(kinds).to_pylist()]


def _total_length(lists: pa.LargeListArray) -> int:
    if lists.null_count or not len(lists):
        return pc.sum(pc.list_value_length(lists)).as_py() or 0
    offsets = lists.offsets
    return int(offsets[-1].as_py() - offsets[0].as_py())
