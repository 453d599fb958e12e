"""Locks on folders, so that two processes never write to one at once."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from lisdata.errors import PlanError

LOCK = ".lock"


@contextmanager
def hold_lock(directory: Path, who: str) -> Iterator[None]:
    """Hold the lock of `directory`, which is made if need be; raise PlanError when somebody else holds it.

    `who` writes there too, in the words of the error: "another run". The system lets the lock of a dead process go.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / LOCK
    while True:
        with path.open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise PlanError(f"{directory}: {who} is writing here") from None
            if not _is_file_of(stream, path):
                continue  # whoever held it removed it between our two steps
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _is_file_of(stream: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False
