"""What a run does, and how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lisdata.engines import UnitDone

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
    PlanError where an input no longer holds what a unit read. `unit_inputs(plan, unit)` returns what of the plan's
    inputs decides a unit's output, by their number: a run that has it can be planned anew. `check_inputs` is called
    when units have run: it raises PlanError where an input changed meanwhile.
    """

    directory: Path
    plan: JsonDict
    run_unit: Callable[[Path, JsonDict, JsonDict], JsonDict]
    fold: Callable[[JsonDict, list[JsonDict]], JsonDict]
    facts: JsonDict
    sidecars: dict[str, bytes] = field(default_factory=dict)
    check_commit: Callable[[JsonDict], None] | None = None
    unit_inputs: Callable[[JsonDict, JsonDict], dict[int, JsonDict]] | None = None
    check_inputs: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is; weights are bytes of source, and `last` is the unit that was just done."""

    num_units: int
    num_done: int
    weight: int
    weight_done: int
    last: UnitDone | None = None

    def after(self, done: UnitDone) -> Progress:
        """Return how far the run is after one more unit."""
        weight_done = self.weight_done + done.unit["weight"]
        return replace(self, num_done=self.num_done + 1, weight_done=weight_done, last=done)


OnProgress = Callable[[Progress], None]
