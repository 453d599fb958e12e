"""Grids back to .npy files: the same values, dtype, byte order and memory order."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from lisdata.converters.grids import split_grid_label
from lisdata.errors import ExportError
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.structure import Structure


@dataclass(frozen=True, slots=True)
class NpyExporter:
    """Writes one .npy file for each input; its array is equal, and its bytes where NumPy wrote the input.

    A header of another length than NumPy writes is counted as a loss, and so are files that the conversion rejected.
    """

    name: str = "npy"
    summary: str = "NumPy arrays (.npy)"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the arrays that came from `files`."""
        losses: Counter[str] = Counter()
        written: list[Path] = []
        for info, path in zip(files, target_paths(target, files, dataset.inputs), strict=True):
            losses["rejected records"] += info.records.get("rejected", 0)
            for number, structure in enumerate(dataset.iter_structures(info.index)):
                if number:
                    raise ExportError(f"{info.name}: expected one array for a .npy file, found more")
                size = _write_array(path, structure_to_array(structure))
                losses["header layouts"] += size != structure.source[2] - structure.source[1]
                written.append(path)
        return ExportReport(files=tuple(written), num_records=len(written), losses=dict(+losses))


def structure_to_array(structure: Structure) -> npt.NDArray[Any]:
    """Return the array that a grid holds, in the memory order and with the named fields of its source."""
    if structure.tensor is None:
        raise ExportError(f"{structure.record_id}: expected a grid, found a {structure.kind.label}")
    _, extra = split_grid_label(structure.instances[0].label)
    array = structure.tensor
    if "descr" in extra:
        array = array.view(np.lib.format.descr_to_dtype(_descr_from_json(extra["descr"])))
    return np.asfortranarray(array) if extra.get("fortran_order") else array


def _descr_from_json(descr: Any) -> Any:
    """Return NumPy's description of a dtype with its tuples, which JSON wrote as lists."""
    if not isinstance(descr, list):
        return descr
    fields: list[tuple[Any, ...]] = []
    for name, kind, *shape in descr:
        title_and_name = tuple(name) if isinstance(name, list) else name
        fields.append((title_and_name, _descr_from_json(kind), *(tuple(extents) for extents in shape)))
    return fields


def _write_array(path: Path, array: npt.NDArray[Any]) -> int:
    with replacing(path) as stream:
        write_npy(stream, array)
        return stream.tell()


def write_npy(stream: IO[bytes], array: npt.NDArray[Any]) -> None:
    """Write an array as NumPy does; nothing is ever pickled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "format 2.0 needs NumPy >= 1.9": it came from such a file
        np.lib.format.write_array(stream, array, allow_pickle=False)


NPY = NpyExporter()
