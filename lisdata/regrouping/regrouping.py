"""`regroup`: the facts of a dataset of triples sorted by subject or graph, so that each has one structure.

Two runs, one after the other. The first divides the facts among partitions by the key of their subject (graph) and
lies in a folder of scratch inside the target; the second makes each partition's structures.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import lisdata
from lisdata.conversion import ConvertConfig, Paths, convert, plan_conversion
from lisdata.errors import PlanError
from lisdata.exporters.input_ordinals import FIRST_ORDINAL, room_for_ordinals
from lisdata.inputs import DATASET_MARK, MEBIBYTE
from lisdata.locks import LOCK, hold_lock
from lisdata.regrouping.spills import SPILL_FORMAT, spill_part
from lisdata.regrouping.units import BYTES_A_FACT, regroup_unit
from lisdata.runs import PLAN, RUN, Job, JsonDict, OnProgress, run_job
from lisdata.settings import build_settings
from lisdata.shards import IncidenceDataset
from lisdata.shards.manifest import INCIDENCE_FORMAT, MANIFEST, PART_TABLES, file_entry, read_manifest
from lisdata.sources.rdf_grouping import Grouping

SortBy = Literal["subject", "graph"]
Compression = Literal["zstd", "none"]

MEMORY_MIB = 1024
SPILLS, UNSORTED = ".spills", ".unsorted"
"""Folders of scratch inside the target: facts divided among partitions, and a conversion in the order of its files."""

_FILLED = 0.5  # how full of what fits a partition is on average


def regroup(
    dataset: str | Path,
    to: str | Path,
    *,
    by: SortBy = "subject",
    group_by: str | None = None,
    memory_mib: int = MEMORY_MIB,
    compression: Compression = "zstd",
    workers: int = 1,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
) -> JsonDict:
    """Write the triples of `dataset`, sorted by subject (or graph), as a dataset at `to`; return its manifest's body.

    `group_by` says what of the sorted triples one structure holds (default: `by`, so one structure a subject over all
    inputs), as the RDF sources' option does. A subject whose facts do not fit `memory_mib` (of each worker) has several
    structures. Every instance keeps its place in its source, so that an export is as it was. A run that was stopped
    goes on where it was; a finished one returns at once. Raises PlanError for a dataset that holds anything else.
    """
    _check(by, group_by or by, memory_mib, compression)
    source, target = IncidenceDataset(dataset), Path(to)
    inside = target.resolve()
    if inside.is_relative_to(source.path.resolve()) or source.path.resolve() == inside:
        raise PlanError(f"{target}: expected a folder outside the dataset {source.path}")
    settings = {"by": by, "group_by": group_by or by, "memory_mib": memory_mib, "compression": compression}
    plan = _plan(source, settings)
    if fresh:
        _start_over(target)
    if not (target / MANIFEST).exists():
        _spill(source, target / SPILLS, plan, workers=workers, on_progress=on_progress)
    job = Job(
        directory=target,
        plan=plan,
        run_unit=partial(regroup_unit, source.path, target / SPILLS),
        fold=partial(_fold, source.manifest),
        facts={"dataset": str(source.path), "workers": workers},
    )
    body = run_job(job, workers=workers, on_progress=on_progress)
    shutil.rmtree(target / SPILLS, ignore_errors=True)
    return body


def convert_sorted(
    source: str,
    paths: Paths,
    to: str | Path,
    *,
    sort_by: SortBy = "subject",
    memory_mib: int = MEMORY_MIB,
    workers: int = 1,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> JsonDict:
    """Convert files of triples as `convert` does and regroup the dataset, which is scratch; return the manifest's body.

    Option `group_by` of the source says what of the sorted triples one structure holds. A run that was stopped goes on
    where it was.
    """
    config = build_settings(ConvertConfig, {"source": source} | settings, "convert")
    target = Path(to)
    _, planned = plan_conversion(config, paths, target)
    group_by = check_sorting(planned, sort_by, memory_mib=memory_mib, compression=config.compression)
    if fresh:
        _start_over(target)
    if (target / MANIFEST).exists():
        return _finished(target, planned, {"by": sort_by, "group_by": group_by, "memory_mib": memory_mib})
    unsorted = target / UNSORTED
    convert(source, paths, unsorted, workers=workers, on_progress=on_progress, **settings)
    body = regroup(
        unsorted,
        target,
        by=sort_by,
        group_by=group_by,
        memory_mib=memory_mib,
        compression=config.compression,
        workers=workers,
        on_progress=on_progress,
    )
    shutil.rmtree(unsorted, ignore_errors=True)
    return body


def check_sorting(planned: JsonDict, sort_by: str, *, memory_mib: int = MEMORY_MIB, compression: str = "zstd") -> str:
    """Return what one structure of a planned conversion will hold; ValueError where its facts cannot be sorted so."""
    if planned["converter"] != "triples":
        raise ValueError(f"source {planned['source']} makes no triples, so they cannot be sorted by {sort_by}")
    group_by: str = planned["options"]["group_by"]
    _check(sort_by, group_by, memory_mib, compression)
    return group_by


def _check(by: str, group_by: str, memory_mib: int, compression: str) -> None:
    if by not in get_args(SortBy):
        raise ValueError(f"expected to sort by one of {', '.join(get_args(SortBy))}, got {by!r}")
    if memory_mib < 1:
        raise ValueError(f"expected a memory of at least 1 MiB, got {memory_mib=}")
    if compression not in get_args(Compression):
        raise ValueError(f"expected a compression of {', '.join(get_args(Compression))}, got {compression!r}")
    Grouping(group_by)


def _plan(source: IncidenceDataset, settings: JsonDict) -> JsonDict:
    """Return the plan: all that decides the output, and nothing of where the dataset lies."""
    num_facts = source.manifest["counts"].get("instances", 0)
    wanted = num_facts * BYTES_A_FACT / (_FILLED * settings["memory_mib"] * MEBIBYTE)
    num_partitions = 1 + int(wanted)
    entries = [{k: e[k] for k in ("name", "size", "digest", "scope", "compression")} for e in source.manifest["inputs"]]
    files = source.manifest["files"]
    beside = [name for name in files if name.startswith(("rejects/", "same_as/"))]
    sizes = [sum(files[f"{table}/{part.name}.arrow"]["size"] for table in PART_TABLES) for part in source.parts]
    weight = sum(sizes) // num_partitions
    units: list[JsonDict] = [{"name": f"{n:05d}", "weight": weight, "partition": n} for n in range(num_partitions)]
    if beside:
        weight = sum(files[name]["size"] for name in beside)
        units.append({"name": "beside", "weight": weight, "copies": sorted(beside)})
    return settings | {
        "format": INCIDENCE_FORMAT,
        "lisdata": lisdata.__version__,
        "dataset": file_entry(source.path / MANIFEST)["sha256"],
        "inputs": entries,
        "spilled": [part.name for part in source.parts],
        "units": units,
    }


def _spill(
    source: IncidenceDataset, directory: Path, plan: JsonDict, *, workers: int, on_progress: OnProgress | None
) -> None:
    files = source.manifest["files"]
    weights = {name: files[f"structures/{name}.arrow"]["size"] for name in plan["spilled"]}
    spill = {
        "format": SPILL_FORMAT,
        "lisdata": plan["lisdata"],
        "dataset": plan["dataset"],
        "by": plan["by"],
        "partitions": sum("partition" in unit for unit in plan["units"]),
        "units": [{"name": name, "weight": weight} for name, weight in weights.items()],
    }
    job = Job(
        directory=directory,
        plan=spill,
        run_unit=partial(spill_part, source.path),
        fold=_fold_spills,
        facts={},
    )
    run_job(job, workers=workers, on_progress=on_progress)


def _fold_spills(plan: JsonDict, commits: list[JsonDict]) -> JsonDict:
    return {"format": SPILL_FORMAT}


def _fold(manifest: JsonDict, plan: JsonDict, commits: list[JsonDict]) -> JsonDict:
    """Return the new manifest's body: what the old one says of the inputs, and the sums of the commits."""
    room = room_for_ordinals(len(manifest["inputs"]))
    sorted_as = {name: plan[name] for name in ("by", "group_by", "memory_mib")}
    kept: JsonDict = {name: manifest[name] for name in ("report", "on_error") if name in manifest}
    parts = [part for commit in commits for part in commit["parts"]]
    totals: dict[str, dict[str, int]] = {"counts": {}, "kinds": {}}
    for total, part in ((total, part) for part in parts for total in totals):
        for name, count in part[total].items():
            totals[total][name] = totals[total].get(name, 0) + count
    return {
        **kept,
        **totals,
        "format": INCIDENCE_FORMAT,
        "lisdata": plan["lisdata"],
        "origins": [origin | {"sorted": sorted_as} for origin in manifest["origins"]],
        "inputs": [entry | {FIRST_ORDINAL: index * room} for index, entry in enumerate(manifest["inputs"])],
        "parts": parts,
    }


def _finished(target: Path, planned: JsonDict, sorted_as: JsonDict) -> JsonDict:
    """Return the manifest of a sorted conversion that is there; PlanError unless it is this one."""
    body = read_manifest(target)
    origin: JsonDict = next(iter(body.get("origins", ())), {})
    wanted = {name: planned[name] for name in ("source", "options", "converter_options")} | {"sorted": sorted_as}
    inputs = [(entry["scope"], entry["name"], entry["size"]) for entry in planned["inputs"]]
    found = [(entry["scope"], entry["name"], entry["size"]) for entry in body.get("inputs", ())]
    if found != inputs or any(origin.get(name) != value for name, value in wanted.items()):
        raise PlanError(f"{target}: holds another dataset; choose another folder, or --fresh to start over")
    for folder in (SPILLS, UNSORTED):
        shutil.rmtree(target / folder, ignore_errors=True)
    return body


def _start_over(target: Path) -> None:
    """Remove what an earlier run left in `target`; PlanError for a folder that is not one of lisdata's."""
    with hold_lock(target, "another run"):
        names = {path.name for path in target.iterdir() if path.name not in (LOCK, RUN)}
        marks = [target / name for name in (MANIFEST, PLAN, f"{SPILLS}/{PLAN}", f"{UNSORTED}/{PLAN}")]
        own = [path for path in marks if path.is_file() and DATASET_MARK in path.read_bytes()]
        if names and not own:
            raise PlanError(f"{target}: not a dataset of lisdata, so --fresh does not empty it")
        last = own[-1].relative_to(target).parts[0] if own else ""
        for name in sorted(names, key=lambda name: (name == last, name)):
            path = target / name
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
