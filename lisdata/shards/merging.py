"""`merge`: datasets made apart become one; parts are taken over byte for byte, contents meet by key."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from lisdata.atomic import sync_path
from lisdata.errors import PlanError
from lisdata.shards.collisions import refuse_collisions
from lisdata.shards.dataset import IncidenceDataset, Part
from lisdata.shards.manifest import INCIDENCE_FORMAT, PART_TABLES, write_manifest
from lisdata.shards.same_as import same_as_names


def merge_datasets(sources: list[str | Path], to: str | Path) -> dict[str, Any]:
    """Write the parts of `sources`, in order, as one dataset at `to` and return its manifest.

    Raises PlanError for structures that two datasets share (they would be there twice), and KeyCollisionError when one
    key stands for two contents. The dataset is made in a folder beside `to` and renamed when whole,
    so that a merge that was killed is simply done again.
    """
    target = Path(to)
    if any(target.resolve().is_relative_to(Path(source).resolve()) for source in sources):
        raise PlanError(f"{target}: expected a folder outside the datasets to merge")
    if target.exists() and any(target.iterdir()):
        raise PlanError(f"{target}: expected a new or empty folder to merge into, found files in it")
    datasets = [IncidenceDataset(source) for source in sources]
    _refuse_shared_inputs(datasets)
    _refuse_shared_parts(datasets)
    refuse_collisions([part for dataset in datasets for part in dataset.parts])
    merged: dict[str, Any] = {
        "format": INCIDENCE_FORMAT,
        "origins": [],
        "inputs": [],
        "parts": [],
        "counts": {},
        "kinds": {},
        "report": {},
        "files": {},
    }
    making = target.with_name(f".{target.name}.merging")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    for dataset in datasets:
        _take_over(dataset, making, merged)
    body = write_manifest(making, merged)
    if target.exists():
        target.rmdir()
    making.rename(target)
    sync_path(target.parent)
    return body


def _take_over(dataset: IncidenceDataset, target: Path, merged: dict[str, Any]) -> None:
    first_file, first_origin = len(merged["inputs"]), len(merged["origins"])
    merged["origins"].extend(dataset.manifest["origins"])
    for entry in dataset.manifest["inputs"]:
        merged["inputs"].append(entry | {"origin": entry["origin"] + first_origin})
    for entry in dataset.manifest["parts"]:
        name = f"part-{len(merged['parts']):05d}-000"
        numbers = {"first_file": entry["first_file"] + first_file, "inputs": [i + first_file for i in entry["inputs"]]}
        merged["parts"].append(entry | {"name": name} | numbers)
        for table in PART_TABLES:
            old, new = f"{table}/{entry['name']}.arrow", f"{table}/{name}.arrow"
            _copy(dataset.path / old, target / new)
            merged["files"][new] = dataset.manifest["files"][old]
    for name, entry in dataset.manifest["files"].items():
        if name.startswith("rejects/"):
            new = f"rejects/{first_origin:03d}-{name.removeprefix('rejects/')}"
            _copy(dataset.path / name, target / new)
            merged["files"][new] = entry
    for name in same_as_names(dataset.manifest["files"]):
        new = f"same_as/part-{len(same_as_names(merged['files'])):05d}.arrow"
        _copy(dataset.path / name, target / new)
        merged["files"][new] = dataset.manifest["files"][name]
    for total in ("counts", "kinds", "report"):
        for name, count in dataset.manifest.get(total, {}).items():
            merged[total][name] = merged[total].get(name, 0) + count


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    shutil.copyfile(source, temporary)
    with temporary.open("rb") as stream:
        os.fsync(stream.fileno())
    temporary.replace(target)
    sync_path(target.parent)


def _refuse_shared_inputs(datasets: list[IncidenceDataset]) -> None:
    seen: dict[str, str] = {}
    for dataset in datasets:
        for info in dataset.inputs:
            here = f"{info.name} of {dataset.path}"
            if info.scope in seen and info.records["converted"]:
                raise PlanError(f"{here} is {seen[info.scope]} again: its facts would be in the merged dataset twice")
            seen[info.scope] = here


def _refuse_shared_parts(datasets: list[IncidenceDataset]) -> None:
    """Refuse what was made in memory, so has no inputs, and stands in two of the datasets."""
    seen: dict[tuple[str, ...], Part] = {}
    for dataset in datasets:
        for part in dataset.parts:
            hashes = (dataset.manifest["files"][f"{table}/{part.name}.arrow"]["sha256"] for table in PART_TABLES)
            other = seen.setdefault(tuple(hashes), part)
            if other is not part and part.counts["structures"]:
                where, again = other.path("structures"), part.path("structures")
                raise PlanError(f"{again} is {where} again: its structures would be in the merged dataset twice")
