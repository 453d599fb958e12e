"""The bytes of many spans of a block as one Arrow column."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.kernels.arrays import binary_array

Int64 = npt.NDArray[np.int64]


def cut_spans(data: bytes, begins: Int64, ends: Int64) -> pa.LargeBinaryArray:
    """Return data[begin:end] for each span; spans are not empty, ascending and apart."""
    borders = np.zeros(len(data) + 1, np.int8)
    borders[begins] += 1
    borders[ends] -= 1
    letters = np.frombuffer(data, np.uint8)[np.cumsum(borders[:-1], dtype=np.int8) > 0]
    return binary_array(np.concatenate(([0], np.cumsum(ends - begins))), letters, pa.large_binary())
