"""Rows of a part with the contents and labels that they use, numbered anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.kernels.arrays import one_array
from lisdata.runs import JsonDict
from lisdata.schema import CONTENTS, LABELS
from lisdata.shards import Part
from lisdata.shards.writer import ShardWriter
from lisdata.structure_batch import StructureBatch

Bools = npt.NDArray[np.bool_]
Int64 = npt.NDArray[np.int64]

_OF_CONTENTS = ("tau", "instance_handle")
_OF_LABELS = ("instance_label", "sigma", "deprel")
_SYMBOLS = ("datatype", "language", "scope")


def iter_taken(part: Part, is_taken: Bools) -> Iterator[StructureBatch]:
    """Yield the structures of a part whose rows are marked, a batch of the part at a time, in order."""
    first = 0
    for batch in part.iter_batches("structures"):
        rows = np.flatnonzero(is_taken[first : first + batch.num_rows])
        first += batch.num_rows
        if len(rows):
            yield _with_own_tables(part, batch if len(rows) == batch.num_rows else batch.take(pa.array(rows)))


def write_taken(
    part: Part, is_taken: Bools, to: Path, *, compression: str | None = "zstd"
) -> tuple[JsonDict, JsonDict]:
    """Write the structures whose rows are marked as a part of that name; return its entry and those of its files."""
    writer = ShardWriter(to, part.name, compression=compression)
    try:
        for batch in iter_taken(part, is_taken):
            writer.append(batch)
        entry = writer.close()
    except BaseException:
        writer.abort()
        raise
    files = entry.pop("files")
    return entry | {"first_file": part.first_file, "inputs": [part.inputs.start, part.inputs.stop]}, files


def _with_own_tables(part: Part, structures: pa.RecordBatch) -> StructureBatch:
    used = _distinct(structures, _OF_CONTENTS)
    contents = _one_batch(part.contents.take(pa.array(used)), CONTENTS)
    used_labels = np.unique(np.concatenate([_distinct(structures, _OF_LABELS), _distinct(contents, _SYMBOLS)]))
    for names, rows in ((_OF_CONTENTS, used), (_OF_LABELS, used_labels)):
        structures = _renumbered(structures, names, rows)
    return StructureBatch(
        structures=structures,
        contents=_renumbered(contents, _SYMBOLS, used_labels),
        labels=_one_batch(part.labels.take(pa.array(used_labels)), LABELS),
    )


def _one_batch(table: pa.Table, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([one_array(column) for column in table.columns], schema=schema)


def _values(column: pa.Array) -> pa.Array:
    return column.flatten() if pa.types.is_large_list(column.type) else column


def _distinct(batch: pa.RecordBatch, names: tuple[str, ...]) -> Int64:
    found = [np.asarray(_values(batch.column(name)).drop_null()).astype(np.int64) for name in names]
    return np.unique(np.concatenate(found))


def _renumbered(batch: pa.RecordBatch, names: tuple[str, ...], used: Int64) -> pa.RecordBatch:
    """Return the batch with places in the sorted `used` for the values of some columns, lists or not."""
    for name in names:
        column = batch.column(name)
        if column.null_count < len(column):
            index = batch.schema.get_field_index(name)
            batch = batch.set_column(index, batch.schema.field(index), _renumbered_column(column, used))
    return batch


def _renumbered_column(column: pa.Array, used: Int64) -> pa.Array:
    values = _values(column)
    found = np.searchsorted(used, np.asarray(values.fill_null(0)).astype(np.int64))
    mask = None if values.null_count == 0 else np.asarray(values.is_null())
    numbers = pa.array(found.astype(values.type.to_pandas_dtype()), values.type, mask=mask)
    if not pa.types.is_large_list(column.type):
        return numbers
    sizes = np.asarray(column.value_lengths().fill_null(0))
    offsets = pa.array(np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), pa.int64())
    is_null = column.is_null() if column.null_count else None
    return pa.LargeListArray.from_arrays(offsets, numbers, type=column.type, mask=is_null)
