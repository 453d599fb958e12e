"""Columns of structures put together from flat arrays, for converters that hold whole batches."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.contents import LabelBuilder, Role
from lisdata.kernels.groups import rank_in_group
from lisdata.schema import INCIDENCE_TYPE, SOURCE_TYPE, STRUCTURES, LabelKind, StructureKind

if TYPE_CHECKING:
    from lisdata.inputs import InputFile

UInt64 = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]


def structure_rows(
    kind: StructureKind,
    file: InputFile | tuple[InputFile, ...],
    begin: UInt64,
    end: UInt64,
    columns: dict[str, pa.Array],
) -> pa.RecordBatch:
    """Return a batch of STRUCTURES: record ids and sources from `begin` and `end`, null where `columns` has nothing.

    `file` is that of all structures or, where they have several, that of each.
    """
    size = len(begin)
    if isinstance(file, tuple):
        ids, number = document_ids(file, begin), np.array([f.index for f in file], np.uint32)
    else:
        ids, number = record_ids(file, begin), np.full(size, file.index, np.uint32)
    given = {
        "record_id": ids,
        "kind": pa.array(np.full(size, kind, np.uint8)),
        "source": struct_array(SOURCE_TYPE, [number, begin, end]),
        **columns,
    }
    arrays = [given[c.name] if c.name in given else pa.nulls(size, c.type) for c in STRUCTURES]
    return pa.RecordBatch.from_arrays(arrays, schema=STRUCTURES)


def record_ids(file: InputFile, begin: UInt64) -> pa.Array:
    """Return scope#begin for each structure, and scope#begin.k for the k-th of those that begin at one offset."""
    from lisdata.kernels.numbered_names import numbered_names  # compiled on import

    names = numbered_names(f"{file.scope}#", begin)
    if (begin[1:] > begin[:-1]).all():
        return names
    _, group, sizes = np.unique(begin, return_inverse=True, return_counts=True)
    rank = pa.array(rank_in_group(group)).cast(pa.large_string())
    numbered = pc.binary_join_element_wise(names, rank, _large("."))
    return pc.if_else(pa.array(sizes[group] > 1), numbered, names)


def document_ids(files: tuple[InputFile, ...], begin: UInt64) -> pa.Array:
    """Return what `record_ids` does for structures of several files, `files[n]` that of structure n."""
    changes = [number for number, pair in enumerate(pairwise(files)) if pair[0] is not pair[1]]
    if len(changes) < len(files) - 1:
        bounds = [0, *(number + 1 for number in changes), len(files)]
        return pa.concat_arrays([record_ids(files[first], begin[first:last]) for first, last in pairwise(bounds)])
    scopes = pa.array([file.scope for file in files], pa.large_string())
    return pc.binary_join_element_wise(scopes, pa.array(begin, pa.uint64()).cast(pa.large_string()), _large("#"))


def incidence_array(occurrence: Int64, instance: Int64) -> pa.StructArray:
    """Return the items of column `incidence`."""
    return struct_array(INCIDENCE_TYPE, [occurrence.astype(np.uint32), instance.astype(np.uint32)])


def struct_array(type_: pa.DataType, values: list[npt.NDArray[np.generic]], mask: pa.Array | None = None) -> pa.Array:
    """Return a struct array of `type_` from the values of its fields; `mask` is true where an item is null."""
    fields = list(type_)
    children = [pa.array(v, f.type) for v, f in zip(values, fields, strict=True)]
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def labels_from(labels: pa.RecordBatch) -> LabelBuilder:
    """Return a builder that goes on where the label list `labels` ends; the codes in use stay as they are."""
    builder = LabelBuilder()
    for kind, label, relation, side in zip(*(column.to_pylist() for column in labels.columns), strict=True):
        if kind == LabelKind.ROLE:
            builder.role(Role(relation, side))
        else:
            builder.code(kind, label)
    return builder


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())
