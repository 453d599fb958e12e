"""What a run clears away: files that were left half written, and whole runs of its own."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from lisdata.errors import PlanError
from lisdata.input_paths import DATASET_MARK
from lisdata.locks import LOCK, hold_lock
from lisdata.runs.job import PLAN, RUN
from lisdata.shards.manifest import MANIFEST


def sweep(directory: Path) -> None:
    """Remove temporary files, and locks, that killed runs left."""
    for path in directory.rglob(".*.tmp"):
        path.unlink(missing_ok=True)
    for path in directory.glob(".*.lock"):
        with suppress(PlanError), hold_lock(directory, "another", name=path.name):
            pass  # who leaves last removes it


def clear(directory: Path) -> None:
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
