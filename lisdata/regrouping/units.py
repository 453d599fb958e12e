"""The units of a regrouping: a partition's structures, and what the dataset holds beside its parts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lisdata.atomic import sync_path
from lisdata.errors import RunError
from lisdata.exporters.input_ordinals import room_for_ordinals
from lisdata.inputs import MEBIBYTE
from lisdata.regrouping.partitions import Int64, StructureMaker, join_shares, sorted_by, with_facts
from lisdata.regrouping.spills import Share, iter_shares
from lisdata.shards import IncidenceDataset
from lisdata.shards.manifest import file_entry
from lisdata.shards.writer import ShardWriter
from lisdata.sources.rdf_grouping import Grouping

JsonDict = dict[str, Any]

BYTES_A_FACT = 900
"""About what a fact of a partition takes in memory, with its share of the contents."""

_LONG = 16  # a run is long that has one in so many of the facts that fit


def regroup_unit(source: str, spills: Path, directory: Path, plan: JsonDict, unit: JsonDict) -> JsonDict:
    """Write one partition's structures, or copy what the dataset at `source` has beside them; return the commit."""
    if "copies" in unit:
        folder = IncidenceDataset(source).path
        return {"unit": unit["name"], "parts": [], "files": _copy_files(folder, directory, unit["copies"])}
    if not spills.is_dir():
        raise RunError(f"{spills}: not seen by this machine; whoever regroups must see the folder that is written to")
    maker = StructureMaker(
        grouping=Grouping(plan["group_by"]),
        scopes=tuple(entry["scope"] for entry in plan["inputs"]),
        room=room_for_ordinals(len(plan["inputs"])),
    )
    parts: list[JsonDict] = []
    shares = iter_shares(spills, plan["spilled"], unit["partition"])
    for share, begins in _iter_sorted(shares, plan["by"], plan["memory_mib"] * MEBIBYTE // BYTES_A_FACT):
        writer = ShardWriter(
            directory,
            f"part-{unit['name']}-{len(parts):03d}",
            compression=None if plan["compression"] == "none" else plan["compression"],
        )
        try:
            for batch in maker.iter_batches(share, begins):
                writer.append(batch)
            files = np.asarray(share.facts.column("file"))
            parts.append(writer.close() | {"inputs": [int(files.min()), int(files.max()) + 1]})
        except BaseException:
            writer.abort()
            raise
    outputs = {name: entry for part in parts for name, entry in part.pop("files").items()}
    return {"unit": unit["name"], "parts": parts, "files": outputs}


def _iter_sorted(shares: Iterator[Share], by: str, limit: int) -> Iterator[tuple[Share, Int64]]:
    """Yield sorted facts and where their runs begin: whole runs, unless more than `limit` facts come together.

    Then long runs are cut where they are: they would not fit otherwise.
    """
    waiting: list[Share] = []
    num_facts, full = 0, limit
    for share in shares:
        waiting.append(share)
        num_facts += share.facts.num_rows
        if num_facts > full:
            found, begins = sorted_by(join_shares(waiting), by)
            is_long = np.repeat(np.diff(begins) >= max(1, limit // _LONG), np.diff(begins))
            if is_long.any():
                yield sorted_by(with_facts(found, np.flatnonzero(is_long)), by)
                found = with_facts(found, np.flatnonzero(~is_long))
            waiting, num_facts = [found], found.facts.num_rows
            full = max(limit, 2 * num_facts)
    if num_facts:
        yield sorted_by(join_shares(waiting), by)


def _copy_files(source: Path, directory: Path, names: list[str]) -> JsonDict:
    entries = {}
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        shutil.copyfile(source / name, temporary)
        sync_path(temporary)
        entries[name] = file_entry(temporary)
        temporary.replace(path)
        sync_path(path.parent)
    return entries
