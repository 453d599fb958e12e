"""Grids to structures: one instance an array, every cell an implied incidence of it (row-major positions)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from lisdata.records import GridRecords
from lisdata.schema import StructureKind
from lisdata.structure_batch import StructureBatch, StructureBuilder

_LABEL = re.compile(r"((?:[^:]|::)*)(?::(\{.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridOptions:
    """Grids have no options."""


@dataclass(frozen=True, slots=True)
class GridsConverter:
    """Makes a structure of each array: its shape and its values, in row-major order.

    Arrays that begin at one byte of a file (an image and its palette) have numbered record ids.
    """

    name: str = "grids"
    options_type: type[GridOptions] = GridOptions

    def convert(self, records: GridRecords, options: GridOptions) -> StructureBatch:
        """Return one structure an array."""
        builder = StructureBuilder()
        seen: dict[int, int] = {}
        notes = records.notes or ({},) * records.num_records
        for row, (name, array, note) in enumerate(zip(records.names, records.arrays, notes, strict=True)):
            begin, end = int(records.begin[row]), int(records.end[row])
            copy = seen[begin] = seen.get(begin, -1) + 1
            record_id = f"{records.file.scope}#{begin}" + (f".{copy}" if copy else "")
            builder.begin(StructureKind.GRID, record_id, file=records.file.index, begin=begin, end=end)
            builder.instance(grid_label(name, array, note))
            builder.grid(array.shape, plain_values_dtype(array.dtype).str, array.tobytes(order="C"))
            builder.end()
        return builder.finish()


def plain_values_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype a tensor is stored in: a record's named fields are kept in the label, its bytes as they are."""
    return dtype if dtype.names is None else np.dtype((np.void, dtype.itemsize))


def grid_label(name: str, array: npt.NDArray[Any], note: dict[str, Any] | None = None) -> str:
    """Return the label of an array's instance.

    It is the name, each ':' in it doubled, and for what a shape and plain values do not say, ':' and JSON: `note`,
    {"fortran_order": true} for column-major storage, {"descr": ...} (NumPy's description) for named fields.
    """
    extra = dict(note or {})
    if array.dtype.names is not None:
        extra["descr"] = np.lib.format.dtype_to_descr(array.dtype)
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        extra["fortran_order"] = True
    spelled = name.replace(":", "::")
    return f"{spelled}:{orjson.dumps(extra).decode()}" if extra else spelled


def split_grid_label(label: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the further facts that `grid_label` put into a label; ValueError where it did not make it."""
    found = _LABEL.fullmatch(label)
    extra = orjson.loads(found[2]) if found and found[2] else {}
    if found is None or not isinstance(extra, dict):
        raise ValueError(f"expected NAME or NAME:{{...}} as the label of a grid, found {label!r}")
    return found[1].replace("::", ":"), extra


GRIDS = GridsConverter()
