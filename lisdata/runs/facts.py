"""`run.json`: times, paths, workers and what each unit took, which stand outside the promise of equal bytes."""

from __future__ import annotations

import logging
import os
import platform
import time
from collections.abc import Iterable
from pathlib import Path

from lisdata.atomic import write_atomically
from lisdata.engines import UnitDone
from lisdata.runs.job import RUN, JsonDict
from lisdata.shards.manifest import read_sealed, sealed

_LOG = logging.getLogger("lisdata")


def read_facts(directory: Path) -> JsonDict:
    """Return what run.json holds; nothing where there is none."""
    return read_sealed(directory / RUN) if (directory / RUN).exists() else {}


def begin_facts(directory: Path, facts: JsonDict) -> None:
    """Write the facts of a run that begins, with its time."""
    write_atomically(directory / RUN, sealed(facts | {"started": _now()}))


def note_units(directory: Path, done: Iterable[UnitDone]) -> None:
    """Add what each unit took to the facts."""
    facts = read_facts(directory)
    units = {one.unit["name"]: {"seconds": round(one.seconds, 3), "tries": one.tries} for one in done}
    if units:
        write_atomically(directory / RUN, sealed(facts | {"units": facts.get("units", {}) | units}))


def note_world(directory: Path, world: int) -> None:
    """Add of how many ranks a run is now; warn where they were another number before."""
    facts = read_facts(directory)
    if facts.get("world") != world:
        if "world" in facts:
            _LOG.warning(
                "%s: begun by %d ranks (--world), goes on by %d: all are to be started with the same number",
                directory,
                facts["world"],
                world,
            )
        write_atomically(directory / RUN, sealed(facts | {"world": world}))


def end_facts(directory: Path) -> None:
    """Add that the run is finished, and when."""
    facts = read_facts(directory) | {"finished": _now(), "python": platform.python_version()}
    write_atomically(directory / RUN, sealed(facts))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) + f" pid {os.getpid()}"
