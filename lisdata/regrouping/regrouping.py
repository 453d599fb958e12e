"""`regroup`: the facts of a dataset of triples sorted by subject or graph, so that each has one structure.

Two runs, one after the other. The first divides the facts among partitions by the key of their subject (graph) and
lies in a folder of scratch inside the target; the second makes each partition's structures.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Literal, get_args

from lisdata.conversion import ConvertConfig, Paths, convert, plan_conversion
from lisdata.engines import Engine, EngineName
from lisdata.errors import PlanError, RunError
from lisdata.input_paths import DATASET_MARK
from lisdata.locks import LOCK, hold_lock
from lisdata.paths import StrPath
from lisdata.regrouping.jobs import SPILLS, RegroupJobs, fold_again, fold_spills, plan_jobs
from lisdata.runs import PLAN, RUN, JsonDict, OnProgress, Share, finish_shares, run_job, run_share
from lisdata.runs.plans import OTHER_FOLDER, START_OVER
from lisdata.runs.ranks import await_shares
from lisdata.settings import build_settings
from lisdata.shards import IncidenceDataset
from lisdata.shards.manifest import MANIFEST, read_manifest
from lisdata.sources.rdf_grouping import Grouping
from lisdata.storage import everywhere

SortBy = Literal["subject", "graph"]
Compression = Literal["zstd", "none"]

MEMORY_MIB = 1024
UNSORTED = ".unsorted"
"""Scratch inside the target: a conversion in the order of its files."""


def regroup(
    dataset: StrPath,
    to: StrPath,
    *,
    by: SortBy = "subject",
    group_by: str | None = None,
    memory_mib: int = MEMORY_MIB,
    compression: Compression = "zstd",
    workers: int = 1,
    engine: EngineName = "process",
    ray_address: str | None = None,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
) -> JsonDict:
    """Write the triples of `dataset`, sorted by subject (or graph), as a dataset at `to`; return its manifest's body.

    `group_by` says what of the sorted triples one structure holds (default: `by`, so one structure a subject over all
    inputs), as the RDF sources' option does. A subject whose facts do not fit `memory_mib` (of each worker) has several
    structures. Every instance keeps its place in its source, so that an export is as it was. A run that was stopped
    goes on where it was; a finished one returns at once. Raises PlanError for a dataset that holds anything else.

    Neither `workers` nor `engine` changes a byte. The nodes of a Ray cluster at `ray_address` must see `to`, which
    holds the scratch.
    """
    spread = Engine(name=engine, ray_address=ray_address)
    jobs = _plan(dataset, to, by, group_by, memory_mib, compression, {"workers": workers, "engine": engine})
    if fresh:
        _start_over(Path(to))
    if not (jobs.regroup.directory / MANIFEST).exists():
        run_job(jobs.spill, workers=workers, engine=spread, on_progress=on_progress)
    body = run_job(jobs.regroup, workers=workers, engine=spread, on_progress=on_progress)
    shutil.rmtree(jobs.spill.directory, ignore_errors=True)
    return body


def regroup_share(
    dataset: StrPath,
    to: StrPath,
    *,
    rank: int,
    world: int,
    by: SortBy = "subject",
    group_by: str | None = None,
    memory_mib: int = MEMORY_MIB,
    compression: Compression = "zstd",
    workers: int = 1,
    on_progress: OnProgress | None = None,
) -> Share:
    """Regroup as rank `rank` (from 0) of `world`, in a folder `to` that all ranks see; see `regroup`.

    All ranks divide the facts among partitions before any can sort one: each waits for the others, as long as one of
    them is at work or may be about to start. The rank that ends last writes the manifest; what came of this one, and
    which ranks are not done yet, is returned.
    """
    jobs = _plan(dataset, to, by, group_by, memory_mib, compression, {"workers": workers})
    spread: dict[str, Any] = {"rank": rank, "world": world, "workers": workers, "on_progress": on_progress}
    if not (jobs.regroup.directory / MANIFEST).exists():
        share = run_share(jobs.spill, **spread)
        if share.manifest is None:
            share = await_shares(jobs.spill, share, done=jobs.regroup.directory / MANIFEST)
        if share.missing:
            return share
    share = run_share(jobs.regroup, **spread)
    if share.manifest is not None:
        shutil.rmtree(jobs.spill.directory, ignore_errors=True)
    return share


def finish(to: StrPath) -> JsonDict:
    """Write the manifest of a regrouping by ranks whose units are all done, and return its body.

    Raises RunError, naming the ranks that have units to do, when some are not done, be it in the first of its stages.
    """
    target = Path(to)
    if in_first_stage(target):
        _refuse_first_stage(target)
    body = finish_shares(target, fold_again(target))
    shutil.rmtree(target / SPILLS, ignore_errors=True)
    return body


def in_first_stage(target: Path) -> bool:
    """Tell whether a regrouping in a folder has not yet divided its facts, or has gone no further than that."""
    return (target / SPILLS / PLAN).exists() and not (target / PLAN).exists()


def _refuse_first_stage(target: Path) -> None:
    """Raise RunError that says what is left of the first of two stages; nothing can be finished before the second."""
    try:
        finish_shares(target / SPILLS, fold_spills)
    except RunError as error:
        raise RunError(f"{error} (in the first of two stages of regroup, which divides the facts)") from error
    raise RunError(
        f"{target}: its facts are divided, the first of two stages, but not sorted: start the ranks again, or the same "
        "command without --rank, which does what is left"
    )


def _plan(
    dataset: StrPath, to: StrPath, by: str, group_by: str | None, memory_mib: int, compression: str, facts: JsonDict
) -> RegroupJobs:
    _check(by, group_by or by, memory_mib, compression)
    source, target = IncidenceDataset(dataset), Path(to)
    inside = target.resolve()
    if inside.is_relative_to(source.path.resolve()) or source.path.resolve() == inside:
        raise PlanError(f"{target}: expected a folder outside the dataset {source.path}")
    settings = {"by": by, "group_by": group_by or by, "memory_mib": memory_mib, "compression": compression}
    return plan_jobs(source, everywhere(dataset), target, settings, facts)


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


def _finished(target: Path, planned: JsonDict, sorted_as: JsonDict) -> JsonDict:
    """Return the manifest of a sorted conversion that is there; PlanError unless it is this one."""
    body = read_manifest(target)
    origin: JsonDict = next(iter(body.get("origins", ())), {})
    wanted = {name: planned[name] for name in ("source", "options", "converter_options")} | {"sorted": sorted_as}
    inputs = [(entry["scope"], entry["name"], entry["size"]) for entry in planned["inputs"]]
    found = [(entry["scope"], entry["name"], entry["size"]) for entry in body.get("inputs", ())]
    if found != inputs or any(origin.get(name) != value for name, value in wanted.items()):
        raise PlanError(f"{target}: holds another dataset", remedies=(OTHER_FOLDER, START_OVER))
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
