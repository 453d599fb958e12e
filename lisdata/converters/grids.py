"""Grids to structures: one instance an array, every cell an implied incidence of it (row-major positions)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from lisdata.records import GridRecords
from lisdata.schema import StructureKind
from lisdata.structure_batch import StructureBatch, StructureBuilder


@dataclass(frozen=True, slots=True, kw_only=True)
class GridOptions:
    """Grids have no options."""


@dataclass(frozen=True, slots=True)
class GridsConverter:
    """Makes a structure of each array: its shape and its values, in row-major order."""

    name: str = "grids"
    options_type: type[GridOptions] = GridOptions

    def convert(self, records: GridRecords, options: GridOptions) -> StructureBatch:
        """Return one structure an array."""
        builder = StructureBuilder()
        for row, (name, array) in enumerate(zip(records.names, records.arrays, strict=True)):
            begin, end = int(records.begin[row]), int(records.end[row])
            record_id = f"{records.file.scope}#{begin}"
            builder.begin(StructureKind.GRID, record_id, file=records.file.index, begin=begin, end=end)
            builder.instance(grid_label(name, array))
            builder.grid(array.shape, plain_values_dtype(array.dtype).str, array.tobytes(order="C"))
            builder.end()
        return builder.finish()


def plain_values_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype a tensor is stored in: a record's named fields are kept in the label, its bytes as they are."""
    return dtype if dtype.names is None else np.dtype((np.void, dtype.itemsize))


def grid_label(name: str, array: npt.NDArray[Any]) -> str:
    """Return the label of an array's instance.

    It is the name, and for what a shape and plain values do not say, ':' and JSON: {"fortran_order": true} for
    column-major storage, {"descr": ...} (NumPy's description) for named fields.
    """
    extra: dict[str, Any] = {}
    if array.dtype.names is not None:
        extra["descr"] = np.lib.format.dtype_to_descr(array.dtype)
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        extra["fortran_order"] = True
    return f"{name}:{orjson.dumps(extra).decode()}" if extra else name


GRIDS = GridsConverter()
