"""Brings a run to its end, from wherever an earlier one stopped."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from lisdata.atomic import write_atomically
from lisdata.engines import PROCESSES, Engine, UnitDone, run_units
from lisdata.errors import DamagedShardError
from lisdata.locks import hold_lock
from lisdata.runs.commits import CommitUnit, await_units, commit_path, read_commit
from lisdata.runs.facts import end_facts, note_units
from lisdata.runs.folders import clear, sweep
from lisdata.runs.job import COMMITS, PLAN, Job, JsonDict, OnProgress, Progress
from lisdata.runs.plans import adopt_plan
from lisdata.runs.replanning import replace_plan
from lisdata.shards.manifest import check_hashes, check_inside, file_entry, write_manifest

SECONDS_BETWEEN_NOTES = 30.0
FACTS_LOCK = ".run.lock"


def run_job(
    job: Job,
    *,
    workers: int = 1,
    engine: Engine = PROCESSES,
    fresh: bool = False,
    replan: bool = False,
    on_progress: OnProgress | None = None,
) -> JsonDict:
    """Bring a run to its end, from wherever an earlier one stopped, and return the manifest's body.

    `fresh` removes what an earlier run left, `replan` all but the units whose inputs are as they were. Raises PlanError
    when the folder holds another run or other files.
    """
    check_workers(workers)
    directory = job.directory
    with hold_lock(directory, "another run"):
        await_units(directory)
        if fresh:
            clear(directory)
        if replan:
            replace_plan(job)
        finished = adopt_plan(job)
        if finished is not None:
            return finished
        sweep(directory)
        write_sidecars(job)
        run_pending(job, job.plan["units"], workers, engine, on_progress)
        return fold_run(job)


def check_workers(workers: int) -> None:
    """Raise ValueError for fewer than one worker."""
    if workers < 1:
        raise ValueError(f"expected at least one worker, got {workers=}")


def write_sidecars(job: Job) -> None:
    """Write the files that stand before any unit runs."""
    for name, data in job.sidecars.items():
        write_atomically(check_inside(job.directory, name), data)


def run_pending(job: Job, units: list[JsonDict], workers: int, engine: Engine, on_progress: OnProgress | None) -> None:
    """Run those of `units` that are not done, and note in run.json what each took."""
    pending = [unit for unit in units if read_commit(job.directory, unit, check_hashes) is None]
    weight, left = sum(unit["weight"] for unit in units), sum(unit["weight"] for unit in pending)
    progress = Progress(
        num_units=len(units), num_done=len(units) - len(pending), weight=weight, weight_done=weight - left
    )
    notes, tell = _Notes(job.directory), on_progress or (lambda _: None)
    tell(progress)
    run = CommitUnit(job.directory.absolute(), job.plan, job.run_unit, job.sidecars)
    try:
        for done in run_units(run, pending, workers=workers, engine=engine):
            notes.add(done)
            progress = progress.after(done)
            tell(progress)
    except BaseException:
        with suppress(OSError, DamagedShardError):  # the error that led here is the one to report
            notes.write()
        raise
    notes.write()
    if pending and job.check_inputs is not None:
        job.check_inputs()


class _Notes:
    """Writes what units took to run.json, now and then."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._waiting, self._written = directory, list[UnitDone](), time.monotonic()

    def add(self, done: UnitDone) -> None:
        """Take in what a unit took."""
        self._waiting.append(done)
        if time.monotonic() - self._written > SECONDS_BETWEEN_NOTES:
            self.write()

    def write(self) -> None:
        """Write what was taken in."""
        with hold_lock(self._directory, "another rank", name=FACTS_LOCK, wait=True):
            note_units(self._directory, self._waiting)
        self._waiting, self._written = [], time.monotonic()


def fold_run(job: Job) -> JsonDict:
    """Write the manifest, all units being done, and return its body."""
    commits = []
    for unit in job.plan["units"]:
        commit = read_commit(job.directory, unit)
        if commit is None:
            raise DamagedShardError(f"{commit_path(job.directory, unit)}: expected the commit of a finished unit")
        commits.append(commit)
    body = job.fold(job.plan, commits)
    files = {name: entry for commit in commits for name, entry in commit["files"].items()}
    files |= body.get("files", {})
    for name in (PLAN, *job.sidecars, *(f"{COMMITS}/{unit['name']}.json" for unit in job.plan["units"])):
        files[name] = file_entry(job.directory / name)
    body = body | {"files": files}
    with hold_lock(job.directory, "another rank", name=FACTS_LOCK, wait=True):  # which may still note its last unit
        end_facts(job.directory)
        sweep(job.directory)
    return write_manifest(job.directory, body)
