"""Which engine runs the units of a plan; each gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from lisdata.engines.inline import JsonDict, RunUnit, UnitDone, run_here
from lisdata.engines.pool import run_in_processes

EngineName = Literal["process", "ray"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Processes of this machine, or tasks of Ray: on a cluster at `ray_address`, else on one that is started here."""

    name: EngineName = "process"
    ray_address: str | None = None

    def __post_init__(self) -> None:
        if self.name not in ("process", "ray"):
            raise ValueError(f"expected an engine of process, ray, got {self.name!r}")
        if self.ray_address is not None and self.name != "ray":
            raise ValueError(f"expected the engine ray for {self.ray_address=}, got {self.name!r}")


PROCESSES = Engine()


def run_units(run: RunUnit, units: list[JsonDict], *, workers: int, engine: Engine = PROCESSES) -> Iterator[UnitDone]:
    """Run every unit and yield each when it is done, in any order; one worker of the engine process works right here.

    The first error of a unit ends the run. A unit whose worker dies is run again a few times, then RunError is raised.
    """
    if engine.name == "ray":
        from lisdata.engines.ray_tasks import run_on_ray

        return run_on_ray(run, units, workers=workers, address=engine.ray_address)
    if workers == 1 or len(units) <= 1:
        return run_here(run, units)
    return run_in_processes(run, units, workers=workers)
