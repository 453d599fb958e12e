"""Small units and ways to disturb them, in a module that worker processes import in no time."""

from __future__ import annotations

import errno
import os
import signal
import time
from pathlib import Path
from typing import Any

from lisdata.errors import BadRecordError, Place

JsonDict = dict[str, Any]


def write_unit(directory: Path, plan: JsonDict, unit: JsonDict) -> Path:
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
    return path


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
