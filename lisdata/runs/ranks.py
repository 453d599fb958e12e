"""Shares of a run: rank I of N does each N-th unit in a folder that all see; whoever finds all done folds.

No rank talks to another: plan, units and commits in the folder are all that they share, so a scheduler (Slurm, a job
array, a shell loop) may start them when and where it likes, and start a lost one again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from lisdata.engines import PROCESSES, Engine
from lisdata.errors import RunError
from lisdata.locks import hold_lock, is_locked
from lisdata.runs.commits import read_commit
from lisdata.runs.facts import note_world, read_facts
from lisdata.runs.job import PLAN, Job, JsonDict, OnProgress
from lisdata.runs.plans import adopt_plan
from lisdata.runs.running import check_workers, fold_run, run_pending, write_sidecars
from lisdata.shards.manifest import MANIFEST, read_manifest, read_sealed

SETUP_LOCK = ".setup.lock"
PATIENCE = 60.0  # seconds
_SECONDS_BETWEEN_LOOKS = 0.2
_MOST_NAMED_RANKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RankState:
    """How many units a rank has still to do, and whether it is at work."""

    rank: int
    num_missing: int
    is_running: bool

    def __str__(self) -> str:
        state = "at work" if self.is_running else "not running"
        return f"rank {self.rank}: {self.num_missing} {'unit' if self.num_missing == 1 else 'units'} ({state})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What came of one rank's share: the manifest's body where all ranks are done, else the ranks that are not."""

    rank: int
    world: int
    num_units: int
    manifest: JsonDict | None
    missing: tuple[RankState, ...]


def run_share(
    job: Job,
    *,
    rank: int,
    world: int,
    workers: int = 1,
    engine: Engine = PROCESSES,
    on_progress: OnProgress | None = None,
) -> Share:
    """Do the units of rank `rank` (from 0) of `world`; write the manifest too when the other ranks are done.

    Ranks may come and go in any order, and `world` may be another at the next start. Raises PlanError when this rank
    is at work already, or the folder holds another run or other files.
    """
    check_workers(workers)
    if not 0 <= rank < world:
        raise ValueError(f"expected a rank from 0 to below its world size, got {rank=}, {world=}")
    directory, units = job.directory, job.plan["units"]
    own = units[rank::world]
    with (
        hold_lock(directory, "another run (without ranks)", shared=True),
        hold_lock(directory, f"another rank {rank}", name=_rank_lock(rank)),
    ):
        with hold_lock(directory, "another rank", name=SETUP_LOCK, wait=True):
            finished = adopt_plan(job)
            if finished is None:
                write_sidecars(job)
                note_world(directory, world)
        if finished is None:
            run_pending(job, own, workers, engine, on_progress)
            finished = _fold_if_complete(job)
    missing = () if finished is not None else _ranks_missing(directory, units, world)
    return Share(rank=rank, world=world, num_units=len(own), manifest=finished, missing=missing)


def await_shares(job: Job, share: Share, *, done: Path) -> Share:
    """Wait until all units of `job` are done, or `done` is there, and return what came of it then.

    It is waited as long as a rank that has units to do is at work, and PATIENCE seconds for one that is about to start.
    """
    seen = time.monotonic()
    while not done.exists():
        if (body := _fold_if_complete(job)) is not None:
            return replace(share, manifest=body, missing=())
        missing = _ranks_missing(job.directory, job.plan["units"], share.world)
        if any(state.is_running for state in missing):
            seen = time.monotonic()
        elif missing and time.monotonic() - seen > PATIENCE:
            return replace(share, missing=missing)
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    return replace(share, missing=())


def finish_shares(directory: Path, fold: Callable[[JsonDict, list[JsonDict]], JsonDict]) -> JsonDict:
    """Write the manifest of a run whose units are all done, and return its body; no input is read.

    Raises RunError, naming the ranks and how many units each has to do, when some are not done.
    """
    plan = read_sealed(directory / PLAN)
    with hold_lock(directory, "another run (without ranks)", shared=True):
        body = _fold_if_complete(Job(directory=directory, plan=plan, run_unit=_no_unit, fold=fold, facts={}))
    if body is None:
        world = read_facts(directory).get("world", 1)
        missing = _ranks_missing(directory, plan["units"], world)
        raise RunError(f"{directory}: {describe_missing(missing)}")
    return body


def describe_missing(missing: tuple[RankState, ...]) -> str:
    """Say which ranks have units to do, and what to do about those that are gone."""
    named = "; ".join(str(state) for state in missing[:_MOST_NAMED_RANKS])
    more = f"; and {len(missing) - _MOST_NAMED_RANKS} ranks more" if len(missing) > _MOST_NAMED_RANKS else ""
    remedy = "the last to end writes the manifest"
    if any(not state.is_running for state in missing):
        remedy += "; start ranks that were lost again, or the same command without --rank, which does what is left"
    return f"not done yet: {named}{more}; {remedy}"


def _fold_if_complete(job: Job) -> JsonDict | None:
    """Write the manifest if every unit is done and nobody has yet; return its body, or None where units are missing."""
    if not _is_complete(job):
        return None
    with hold_lock(job.directory, "another rank", name=SETUP_LOCK, wait=True):
        if (job.directory / MANIFEST).exists():
            return read_manifest(job.directory)
        return fold_run(job)


def _is_complete(job: Job) -> bool:
    return all(read_commit(job.directory, unit) is not None for unit in job.plan["units"])


def _ranks_missing(directory: Path, units: list[JsonDict], world: int) -> tuple[RankState, ...]:
    missing = Counter(number % world for number, unit in enumerate(units) if read_commit(directory, unit) is None)
    return tuple(
        RankState(rank=rank, num_missing=missing[rank], is_running=is_locked(directory, _rank_lock(rank)))
        for rank in sorted(missing)
    )


def _rank_lock(rank: int) -> str:
    return f".rank-{rank}.lock"


def _no_unit(directory: Path, plan: JsonDict, unit: JsonDict) -> JsonDict:
    raise RunError(f"{directory}: unit {unit['name']} is not done")
