"""Structures of any kind as JSON lines: one `Structure.to_dict` a line, keys sorted, no spaces, UTF-8."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.exporters.targets import memory_path, replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.shards.dataset import Part
from lisdata.structure import Structure

_LINE = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


@dataclass(frozen=True, slots=True)
class StructuresExporter:
    """Writes what the archive holds, whatever its source.

    A dataset made in memory has no inputs: all its structures go to the target. In a folder, each input's file has its
    name and `.jsonl`. Contents that no structure shows have no line; they are counted as a loss.
    """

    name: str = "structures"
    summary: str = "Structures as JSON lines, from any source"
    suffix: str = ".jsonl"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write a line a structure."""
        indices: list[int | None] = [info.index for info in files]
        paths = target_paths(target, files, dataset.inputs, suffix=self.suffix)
        if not files:
            indices, paths = [None], [memory_path(target, suffix=self.suffix)]
        num_records = 0
        for path, index in zip(paths, indices, strict=True):
            num_records += _write_lines(path, dataset.iter_structures(index))
        num_isolated = count_isolated(dataset.parts)
        losses = {"contents in no structure": num_isolated} if num_isolated else {}
        return ExportReport(files=tuple(paths), num_records=num_records, losses=losses)


def _write_lines(path: Path, structures: Iterator[Structure]) -> int:
    num_lines = 0
    with replacing(path) as stream:
        for structure in structures:
            stream.write(orjson.dumps(structure.to_dict(), option=_LINE))
            num_lines += 1
    return num_lines


def count_isolated(parts: tuple[Part, ...]) -> int:
    """Return how many contents no occurrence shows and no instance is named by, in any of the parts."""
    unseen, seen = [], []
    for part in parts:
        keys = part.contents["key"].combine_chunks()
        is_used = np.zeros(len(keys), bool)
        for batch in part.iter_batches("structures", ("tau", "instance_handle")):
            for column in batch.columns:
                is_used[np.asarray(column.flatten().drop_null())] = True
        seen.append(keys.filter(pa.array(is_used)))
        unseen.append(keys.filter(pa.array(~is_used)))
    if not unseen:
        return 0
    candidates = pc.unique(pa.chunked_array(unseen))
    return len(candidates) - int(pc.sum(pc.is_in(candidates, pa.chunked_array(seen))).as_py() or 0)


STRUCTURES = StructuresExporter()
