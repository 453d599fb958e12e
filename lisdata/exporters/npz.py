"""Grids back to .npz files: the arrays of each input by name, in their order, with dtype, byte and memory order."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from lisdata.converters.grids import split_grid_label
from lisdata.errors import ExportError
from lisdata.exporters.arrays import structure_to_array, write_npy
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo


@dataclass(frozen=True, slots=True)
class NpzExporter:
    """Writes one .npz file for each input, its members stored as `numpy.savez` stores them.

    Names, order and arrays are equal to the input's; how a zip packed them is not kept. Rejected members are losses.
    """

    name: str = "npz"
    summary: str = "NumPy archives (.npz)"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the arrays that came from `files`."""
        losses: Counter[str] = Counter()
        written: list[Path] = []
        num_records = 0
        for info, path in zip(files, target_paths(target, files, dataset.inputs), strict=True):
            rejected = info.records.get("rejected", 0)
            losses["rejected records"] += rejected
            if rejected and not info.records.get("converted", 0):
                continue
            num_records += _write_archive(path, _iter_arrays(dataset, info))
            written.append(path)
        return ExportReport(files=tuple(written), num_records=num_records, losses=dict(+losses))


def _iter_arrays(dataset: IncidenceDataset, info: InputInfo) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    seen: set[str] = set()
    for structure in dataset.iter_structures(info.index):
        array = structure_to_array(structure)
        name, _ = split_grid_label(structure.instances[0].label)
        if name in seen:
            raise ExportError(f"{structure.record_id}: expected arrays of different names, found {name!r} again")
        seen.add(name)
        yield name, array


def _write_archive(path: Path, arrays: Iterator[tuple[str, npt.NDArray[Any]]]) -> int:
    """Write the arrays and return how many; members have one date, so that the bytes are the same each time."""
    count = 0
    with replacing(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays:
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                write_npy(member, array)
            count += 1
    return count


NPZ = NpzExporter()
