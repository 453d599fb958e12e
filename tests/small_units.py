"""A run of small units, and ways to disturb it.

As a program: small_units.py FOLDER NUM_UNITS WORKERS [SECONDS [RANK WORLD]].
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lisdata.errors import BadRecordError, Place
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
    """Write a unit's file, aside first; where `plan` names a folder `log`, note there that the unit began.

    `plan["seconds"]` is how long each unit takes; with `patient` the units of that name wait for the first to begin.
    """
    name = unit["name"]
    while name in plan.get("patient", ()) and not (Path(plan["log"]) / plan["units"][0]["name"]).exists():
        time.sleep(0.01)
    if "log" in plan:
        with (Path(plan["log"]) / name).open("a") as stream:
            stream.write(f"{os.getpid()}\n")
    path = directory / "data" / f"{name}.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(name.encode() * 100)
    time.sleep(0 if name in plan.get("patient", ()) else plan.get("seconds", 0))
    if name in plan.get("disturbed", ()):
        _disturb(plan["how"], Path(plan["log"]) / name)
    temporary.replace(path)
    return {"unit": name, "size": path.stat().st_size, "files": {f"data/{path.name}": file_entry(path)}}


def _disturb(how: str, log: Path) -> None:
    """Do what `how` says; with "once " before it only the first time that the unit runs."""
    if how.startswith("once ") and len(log.read_text().split()) > 1:
        return
    how = how.removeprefix("once ")
    if how == "raise":
        place = Place("x.txt", line=3)
        raise BadRecordError(place, expected="good", found="bad", begin=0, end=1)
    if how == "fill":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if how == "exit":
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)


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
