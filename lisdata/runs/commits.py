"""Commit records: a unit is done when its record is there, and the files that it names are there whole."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from lisdata.atomic import write_atomically
from lisdata.errors import DamagedShardError, RunError
from lisdata.locks import hold_lock, is_locked
from lisdata.runs.job import COMMITS, PLAN, JsonDict
from lisdata.shards.manifest import check_inside, check_sizes, read_sealed, sealed

UNITS_LOCK = ".units.lock"
_LOG = logging.getLogger("lisdata")


@dataclass(frozen=True, slots=True)
class CommitUnit:
    """Runs one unit and writes its commit record: the unit is done when that file is there."""

    directory: Path
    plan: JsonDict
    run_unit: Callable[[Path, JsonDict, JsonDict], JsonDict]
    sidecars: dict[str, bytes] = field(default_factory=dict)

    def __call__(self, unit: JsonDict) -> None:
        """Run the unit; its files and then its commit are in place after that."""
        try:
            with hold_lock(self.directory, "another run", name=UNITS_LOCK, shared=True, wait=True):
                self._run_in(self.directory, unit)
        except OSError as error:
            if error.filename is not None:
                raise
            raise RunError(f"{self.directory}: unit {unit['name']}: {error}; what is done is kept") from error

    def is_at_home(self) -> bool:
        """Tell whether this machine sees the folder of this very run."""
        path = self.directory / PLAN
        return path.is_file() and path.read_bytes() == sealed(self.plan)

    def run_apart(self, unit: JsonDict) -> dict[str, bytes]:
        """Run the unit in scratch of this machine; return its files by name, the commit last."""
        with TemporaryDirectory(prefix="lisdata-unit-") as name:
            for sidecar, data in self.sidecars.items():
                write_atomically(check_inside(Path(name), sidecar), data)
            commit = self._run_in(Path(name), unit)
            path = commit_path(Path(), unit)
            return {file: (Path(name) / file).read_bytes() for file in (*commit["files"], path.as_posix())}

    def place(self, files: dict[str, bytes]) -> None:
        """Write the files of a unit that was run elsewhere, in their order."""
        for name, data in files.items():
            write_atomically(check_inside(self.directory, name), data)

    def _run_in(self, directory: Path, unit: JsonDict) -> JsonDict:
        commit = self.run_unit(directory, self.plan, unit)
        write_atomically(commit_path(directory, unit), sealed(commit))
        return commit


def await_units(directory: Path) -> None:
    """Wait until no unit is being run: workers of a run that was killed may outlive it for a moment."""
    if is_locked(directory, UNITS_LOCK):
        _LOG.warning("%s: units of an earlier run are still being run; waiting for their end", directory)
    with hold_lock(directory, "another run", name=UNITS_LOCK, wait=True):
        pass


def commit_path(directory: Path, unit: JsonDict) -> Path:
    """Return where the commit of a unit is."""
    return directory / COMMITS / f"{unit['name']}.json"


def read_commit(
    directory: Path, unit: JsonDict, check: Callable[[Path, JsonDict], None] = check_sizes
) -> JsonDict | None:
    """Return a unit's commit, or None when it must run (again): no record, or its files are not there whole."""
    path = commit_path(directory, unit)
    if not path.exists():
        return None
    try:
        commit = read_sealed(path)
        check(directory, commit)
    except DamagedShardError:
        return None
    return commit
