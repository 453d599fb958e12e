"""A run of small units, and ways to disturb it.

As a program: small_units.py FOLDER NUM_UNITS WORKERS [SECONDS [RANK WORLD]].
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disturbed_units import write_unit

from lisdata.runs import Job, run_job, run_share
from lisdata.runs.commits import CommitUnit
from lisdata.shards.manifest import file_entry

JsonDict = dict[str, Any]


def make_job(directory: Path, num_units: int = 6, *, facts: JsonDict | None = None, **plan: Any) -> Job:
    """Return a job whose unit n writes the file data/n; `plan` says more of the plan and of how units are disturbed."""
    units = [{"name": f"{number:05d}", "weight": number + 1} for number in range(num_units)]
    return Job(
        directory=directory,
        plan={"format": "lisdata-test", "inputs": [], "units": units} | plan,
        run_unit=run_unit,
        fold=fold,
        facts={"inputs": []} if facts is None else facts,
        sidecars={"notes/about.txt": b"six small units\n"},
    )


def run_unit(directory: Path, plan: JsonDict, unit: JsonDict) -> JsonDict:
    """Write a unit's file as `disturbed_units.write_unit` does, and return its commit."""
    path = write_unit(directory, plan, unit)
    return {"unit": unit["name"], "size": path.stat().st_size, "files": {f"data/{path.name}": file_entry(path)}}


@dataclass(frozen=True)
class Stranger(CommitUnit):
    """Runs units as on a machine that does not see the folder."""

    def is_at_home(self) -> bool:
        return False

    def __call__(self, unit: JsonDict) -> None:
        raise AssertionError("expected to be run apart")


def fold(plan: JsonDict, commits: list[JsonDict]) -> JsonDict:
    """Return the manifest's body."""
    return {"format": plan["format"], "parts": [], "sizes": [commit["size"] for commit in commits]}


if __name__ == "__main__":
    folder, num_units, workers, *rest = sys.argv[1:]
    slow = {"seconds": float(rest[0])} if rest else {}
    job = make_job(Path(folder), int(num_units), **slow)
    if rest[1:]:
        run_share(job, rank=int(rest[1]), world=int(rest[2]), workers=int(workers))
    else:
        run_job(job, workers=int(workers))
