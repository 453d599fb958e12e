"""Column `position` as it is stored: null where all positions of a structure are 0, as in most facts.

In memory the zeros are written out: nothing else knows of the short form.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

POSITION, SIGMA = "position", "sigma"


def stored_positions(positions: pa.LargeListArray) -> pa.LargeListArray:
    """Return the column as null where no structure of the batch has a position but 0, else as it is."""
    if len(positions) == positions.null_count or np.asarray(positions.flatten()).any():
        return positions
    return pa.nulls(len(positions), positions.type)


def read_positions(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch that has the columns `position` and `sigma` with the zeros that were left out."""
    positions, sigma = batch.column(POSITION), batch.column(SIGMA)
    if positions.null_count == sigma.null_count:
        return batch
    offsets = np.asarray(sigma.offsets)
    lengths = np.diff(offsets)
    values = np.zeros(int(lengths.sum()), np.int64)
    is_stored = np.asarray(positions.is_valid())
    values[np.repeat(is_stored, lengths)] = np.asarray(positions.flatten())
    mask = sigma.is_null() if sigma.null_count else None
    whole = pa.LargeListArray.from_arrays(
        pa.array(offsets - offsets[0]), pa.array(values), type=positions.type, mask=mask
    )
    return batch.set_column(batch.schema.get_field_index(POSITION), batch.schema.field(POSITION), whole)
