"""Runs units as tasks of Ray, on a cluster that is there or on one started here; lost workers mean another try."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from lisdata.engines.deaths import Deaths
from lisdata.engines.inline import JsonDict, RunUnit, TravellingRun, UnitDone, seconds_of
from lisdata.errors import RunError

OBJECT_STORE_BYTES = 128 << 20  # of a cluster started here, whose tasks put files right in their place


def run_on_ray(run: RunUnit, units: list[JsonDict], *, workers: int, address: str | None) -> Iterator[UnitDone]:
    """Run every unit as a task of one CPU and yield each when it is done, in any order.

    Nodes that do not see the folder of the run give the files of their units back, to be placed from here. Without
    `address` a cluster of `workers` CPUs is started here and ends with the run. The first error of a unit ends
    the run; the unit of a worker or node that is lost is run again, a few times at most, then RunError is raised.
    """
    ray = _import_ray()
    with _cluster(ray, workers, address):
        task = ray.remote(num_cpus=1, max_retries=0)(_run_task)  # tries are counted here, so that each is told
        shared, most = ray.put(run), 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting, deaths = deque(units), Deaths("Ray worker")
        running: dict[Any, JsonDict] = {}
        while waiting or running:
            while len(running) < most and waiting:
                unit = waiting.popleft()
                running[task.remote(shared, unit)] = unit
            (done, *_), _ = ray.wait(list(running))
            unit = running.pop(done)
            outcome = _outcome(ray, done, unit)
            if outcome is None:
                deaths.add([unit])
                waiting.appendleft(unit)
                continue
            if outcome.files and isinstance(run, TravellingRun):
                run.place(outcome.files)
            yield UnitDone(unit=unit, seconds=outcome.seconds, tries=deaths.tries(unit))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """How long a unit took, and its files where the node does not see the run's folder."""

    seconds: float
    files: dict[str, bytes]


def _run_task(run: RunUnit, unit: JsonDict) -> _Outcome:
    files: dict[str, bytes] = {}
    if isinstance(run, TravellingRun) and not run.is_at_home():
        seconds = seconds_of(lambda unit: files.update(run.run_apart(unit)), unit)
    else:
        seconds = seconds_of(run, unit)
    return _Outcome(seconds=seconds, files=files)


def _outcome(ray: Any, done: Any, unit: JsonDict) -> _Outcome | None:
    """Return what a task gave, or None when its worker was lost; raise the error of the unit."""
    lost = ray.exceptions
    try:
        return cast(_Outcome, ray.get(done))
    except (lost.WorkerCrashedError, lost.OutOfMemoryError, lost.NodeDiedError, lost.ObjectLostError):
        return None
    except lost.RayError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, BaseException) and not isinstance(cause, lost.RayError):
            raise cause from None
        first_line, *_ = str(cause or error).splitlines()
        raise RunError(f"unit {unit['name']}: Ray cannot run it: {first_line}") from error


@contextmanager
def _cluster(ray: Any, workers: int, address: str | None) -> Iterator[None]:
    """Join the cluster at `address`, or start one, and leave it at the end; one that the program is in stays."""
    if ray.is_initialized():
        yield
        return
    own = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
    try:
        # what workers print is not passed on: it could command the terminal
        ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **({} if address else own))
    except (ConnectionError, ValueError) as error:
        raise RunError(f"no Ray cluster at {address or 'this machine'}: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else a warning a start about GPUs
    try:
        import ray
    except ImportError as error:
        raise RunError('the engine ray needs Ray: pip install "lisdata[ray]"') from error
    return ray
