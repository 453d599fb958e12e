"""Runs: a frozen plan, idempotent units, a commit record for each, and a manifest folded from the commits, last.

A run that was killed at any moment and started again gives the same bytes as one never killed; `run.json` (times,
paths, workers) stands outside that promise.
"""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lisdata.atomic import write_atomically
from lisdata.engines import run_units
from lisdata.errors import DamagedShardError, PlanError, RunError
from lisdata.inputs import DATASET_MARK
from lisdata.locks import LOCK, hold_lock
from lisdata.shards.manifest import (
    MANIFEST,
    check_hashes,
    check_inside,
    check_sizes,
    file_entry,
    read_manifest,
    read_sealed,
    sealed,
    write_manifest,
)

JsonDict = dict[str, Any]
PLAN, RUN, COMMITS = "plan.json", "run.json", "commits"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a run does.

    `plan` is JSON with "units" (a list of dicts with a "name" and a "weight" in bytes) and whatever decides the output;
    it holds no time, absolute path or worker count. `run_unit(directory, plan, unit)` writes the unit's files (aside,
    then renamed) and returns its commit, a dict with "files" (name -> size and hash); it is picklable. `fold(plan,
    commits)` returns the manifest's body from the commits in unit order. `sidecars` (name -> bytes) are files of the
    dataset that stand before any unit runs. `facts` goes to run.json; its "inputs" say where each lies and when it
    changed. When these are other than at the start, `check_commit` is called with what was done before: it raises
    PlanError where an input no longer holds what a unit read.
    """

    directory: Path
    plan: JsonDict
    run_unit: Callable[[Path, JsonDict, JsonDict], JsonDict]
    fold: Callable[[JsonDict, list[JsonDict]], JsonDict]
    facts: JsonDict
    sidecars: dict[str, bytes] = field(default_factory=dict)
    check_commit: Callable[[JsonDict], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is; weights are bytes of source."""

    num_units: int
    num_done: int
    weight: int
    weight_done: int


OnProgress = Callable[[Progress], None]


def run_job(job: Job, *, workers: int = 1, fresh: bool = False, on_progress: OnProgress | None = None) -> JsonDict:
    """Bring a run to its end, from wherever an earlier one stopped, and return the manifest's body.

    `fresh` removes what an earlier run left. Raises PlanError when the folder holds another run or other files.
    """
    if workers < 1:
        raise ValueError(f"expected at least one worker, got {workers=}")
    directory = job.directory
    with hold_lock(directory, "another run"):
        if fresh:
            _clear(directory)
        finished = _adopt_plan(job)
        if finished is not None:
            return finished
        _sweep(directory)
        for name, data in job.sidecars.items():
            write_atomically(check_inside(directory, name), data)
        _run_pending(job, workers, on_progress)
        return _finish(job)


def _run_pending(job: Job, workers: int, on_progress: OnProgress | None) -> None:
    units = job.plan["units"]
    pending = [unit for unit in units if _read_commit(job.directory, unit, check_hashes) is None]
    done = {unit["name"] for unit in units} - {unit["name"] for unit in pending}
    total = sum(unit["weight"] for unit in units)

    def report() -> None:
        if on_progress is not None:
            weight = sum(unit["weight"] for unit in units if unit["name"] in done)
            on_progress(Progress(num_units=len(units), num_done=len(done), weight=total, weight_done=weight))

    report()
    for unit in run_units(_CommitUnit(job.directory, job.plan, job.run_unit), pending, workers=workers):
        done.add(unit["name"])
        report()


@dataclass(frozen=True, slots=True)
class _CommitUnit:
    """Runs one unit and writes its commit record: the unit is done when that file is there."""

    directory: Path
    plan: JsonDict
    run_unit: Callable[[Path, JsonDict, JsonDict], JsonDict]

    def __call__(self, unit: JsonDict) -> None:
        try:
            commit = self.run_unit(self.directory, self.plan, unit)
            write_atomically(_commit_path(self.directory, unit), sealed(commit))
        except OSError as error:
            if error.filename is not None:
                raise
            raise RunError(f"{self.directory}: unit {unit['name']}: {error}; what is done is kept") from error


def _commit_path(directory: Path, unit: JsonDict) -> Path:
    return directory / COMMITS / f"{unit['name']}.json"


def _read_commit(
    directory: Path, unit: JsonDict, check: Callable[[Path, JsonDict], None] = check_sizes
) -> JsonDict | None:
    """Return a unit's commit, or None when it must run (again): no record, or its files are not there whole."""
    path = _commit_path(directory, unit)
    if not path.exists():
        return None
    try:
        commit = read_sealed(path)
        check(directory, commit)
    except DamagedShardError:
        return None
    return commit


def _adopt_plan(job: Job) -> JsonDict | None:
    """Write the plan, or check that the one that stands there is the same; return the manifest when all is done."""
    path = job.directory / PLAN
    if not path.exists():
        strangers = [p.name for p in job.directory.iterdir() if not p.name.startswith(".") and p.name != RUN]
        if strangers:
            raise PlanError(
                f"{job.directory}: expected a new or empty folder, found {', '.join(sorted(strangers)[:5])}"
            )
        write_atomically(job.directory / RUN, sealed(job.facts | {"started": _now()}))
        write_atomically(path, sealed(job.plan))
        return None
    found = read_sealed(path)
    if sealed(found) != sealed(job.plan):
        raise PlanError(f"{path}: {_difference(found, job.plan)}; choose another folder, or --fresh to start over")
    _refuse_changed_inputs(job)
    if (job.directory / MANIFEST).exists():
        body = read_manifest(job.directory)
        check_sizes(job.directory, body)
        return body
    return None


def _refuse_changed_inputs(job: Job) -> None:
    """Refuse to go on from units that read other bytes than the inputs hold now.

    The plan's digests don't cover all of a large file, so what was read is compared when a path or time differs.
    """
    if job.check_commit is None or _read_facts(job.directory).get("inputs") == job.facts.get("inputs"):
        return
    for unit in job.plan["units"]:
        commit = _read_commit(job.directory, unit)
        if commit is not None:
            job.check_commit(commit)


def _read_facts(directory: Path) -> JsonDict:
    return read_sealed(directory / RUN) if (directory / RUN).exists() else {}


def _difference(found: JsonDict, wanted: JsonDict, prefix: str = "") -> str:
    """Say the first setting, or input, in which two plans differ."""
    for name in sorted({*found, *wanted}):
        old, new = found.get(name), wanted.get(name)
        if name == "inputs" and old and new:
            changed = next((pair for pair in zip(old, new, strict=False) if pair[0] != pair[1]), None)
            if changed is not None:
                return f"the run in this folder has the input {_named(changed[0])}, this one {_named(changed[1])}"
            old, new = len(old), len(new)
        if isinstance(old, list) and isinstance(new, list):
            old, new = dict(enumerate(old)), dict(enumerate(new))
        if old != new and isinstance(old, dict) and isinstance(new, dict):
            return _difference(old, new, f"{prefix}{name}.")
        if old != new:
            return f"the run in this folder has {prefix}{name} = {repr(old)[:200]}, this one {repr(new)[:200]}"
    return "the run in this folder has another plan"


def _named(entry: JsonDict) -> str:
    return f"{entry.get('name')} ({entry.get('size')} bytes, digest {entry.get('digest')})"


def _finish(job: Job) -> JsonDict:
    commits = []
    for unit in job.plan["units"]:
        commit = _read_commit(job.directory, unit)
        if commit is None:
            raise DamagedShardError(f"{_commit_path(job.directory, unit)}: expected the commit of a finished unit")
        commits.append(commit)
    body = job.fold(job.plan, commits)
    files = {name: entry for commit in commits for name, entry in commit["files"].items()}
    files |= body.get("files", {})
    for name in (PLAN, *job.sidecars, *(f"{COMMITS}/{unit['name']}.json" for unit in job.plan["units"])):
        files[name] = file_entry(job.directory / name)
    body = body | {"files": files}
    facts = _read_facts(job.directory) | {"finished": _now(), "python": platform.python_version()}
    write_atomically(job.directory / RUN, sealed(facts))
    _sweep(job.directory)
    return write_manifest(job.directory, body)


def _sweep(directory: Path) -> None:
    """Remove temporary files that a killed run left."""
    for path in directory.rglob(".*.tmp"):
        path.unlink(missing_ok=True)


def _clear(directory: Path) -> None:
    """Remove an earlier run; refuse a folder that is not one of lisdata's.

    What says that it is one goes last, so that a run killed here can be started again.
    """
    names = {p.name for p in directory.iterdir() if p.name not in (LOCK, RUN) and not p.name.endswith(".tmp")}
    marks = [name for name in (MANIFEST, PLAN) if _is_own(directory / name)]
    if names and not marks:
        raise PlanError(f"{directory}: not a dataset of lisdata, so --fresh does not empty it")
    early = marks[:-1]
    for name in (*early, *sorted(names.difference(marks)), *marks[-1:]):
        path = directory / name
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _is_own(path: Path) -> bool:
    """Tell whether this is a plan or manifest of lisdata, be it damaged, and not just any file of that name."""
    return path.is_file() and DATASET_MARK in path.read_bytes()


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) + f" pid {os.getpid()}"
