"""The index of handles: which instance of which row a content names."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.schema import HANDLES


def handles_of(structures: pa.RecordBatch, contents: pa.Table, first_row: int) -> pa.RecordBatch:
    """Return a row of HANDLES for each named instance of a batch whose rows are numbered from `first_row`.

    `contents` has the content that each `instance_handle` is the number of.
    """
    handles = structures.column("instance_handle")
    lengths = np.asarray(pc.list_value_length(handles).fill_null(0))
    flat = handles.flatten()
    row = np.repeat(np.arange(len(handles)) + first_row, lengths)
    instance = np.arange(len(flat)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    present = np.flatnonzero(np.asarray(flat.is_valid()))
    keys = contents.column("key").take(flat.take(pa.array(present))).combine_chunks()
    arrays = [keys, pa.array(row[present].astype(np.uint64)), pa.array(instance[present].astype(np.uint32))]
    return pa.RecordBatch.from_arrays(arrays, schema=HANDLES)


def sort_handles(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return the index as it stands in a part: sorted by key, then row, then instance."""
    handles = pa.Table.from_batches(batches, HANDLES).combine_chunks()
    order = pc.sort_indices(handles, sort_keys=[(name, "ascending") for name in HANDLES.names])
    return handles.take(order)
