"""`merge`: datasets made apart become one; parts are taken over byte for byte, contents meet by key."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lisdata.atomic import sync_path
from lisdata.errors import PlanError
from lisdata.paths import StrPath
from lisdata.shards.collisions import refuse_collisions
from lisdata.shards.dataset import IncidenceDataset, Part
from lisdata.shards.manifest import INCIDENCE_FORMAT, PART_TABLES, write_manifest
from lisdata.shards.repeats import find_repeats
from lisdata.shards.same_as import same_as_names
from lisdata.shards.table_keys import scopes_in_several

_LOG = logging.getLogger("lisdata")


def merge_datasets(sources: Sequence[StrPath], to: StrPath) -> dict[str, Any]:
    """Write the parts of `sources`, in order, as one dataset at `to` and return its manifest.

    Raises PlanError for structures that two datasets share, told by record ids (they would be there twice), and
    KeyCollisionError when one key stands for two contents. The dataset is made in a folder beside `to` and renamed when
    whole, so that a merge that was killed is simply done again. A warning of the logger "lisdata" names each table
    whose rows come from two datasets: rows of one key become one there.
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
    _tell_tables_that_meet(datasets)
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


def _tell_tables_that_meet(datasets: list[IncidenceDataset]) -> None:
    for scope, numbers in scopes_in_several(datasets).items():
        where = ", ".join(str(datasets[number].path) for number in numbers)
        advice = "where they are other rows, convert with --namespace"
        _LOG.warning("rows of %s are in %s: equal keys show one content; %s", scope, where, advice)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    shutil.copyfile(source, temporary)
    with temporary.open("rb") as stream:
        os.fsync(stream.fileno())
    temporary.replace(target)
    sync_path(target.parent)


def _refuse_shared_inputs(datasets: list[IncidenceDataset]) -> None:
    """Refuse structures of one input that stand in two of the datasets; two shares of it have none in common."""
    for repeat in find_repeats(datasets):
        remedy = "--skip-repeats leaves them out"
        raise PlanError(f"{repeat}: its facts would be in the merged dataset twice ({remedy})")


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
