"""Locks on folders, so that two processes never write to one at once, or only those that share the work."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from lisdata.errors import PlanError

LOCK = ".lock"


@contextmanager
def hold_lock(
    directory: Path, who: str, *, name: str = LOCK, shared: bool = False, wait: bool = False
) -> Iterator[None]:
    """Hold the lock `name` of `directory`, which is made if need be; raise PlanError when somebody else holds it.

    `who` writes there too, in the words of the error: "another run". A `shared` lock lets in others that share it;
    `wait` waits for its turn instead of raising. The system lets the lock of a dead process go.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    how = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
    while True:
        with path.open("a+") as stream:  # NFS lets only readers share, and only writers hold it alone
            try:
                fcntl.flock(stream, how)
            except BlockingIOError:
                raise PlanError(f"{directory}: {who} is writing here") from None
            if not _is_file_of(stream, path):
                continue  # whoever held it removed it between our two steps
            try:
                yield
            finally:
                with suppress(BlockingIOError):  # the last to leave removes it
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink(missing_ok=True)
            return


def is_locked(directory: Path, name: str) -> bool:
    """Tell whether somebody holds the lock `name`, shared or alone."""
    with suppress(FileNotFoundError), (directory / name).open("r+") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _is_file_of(stream: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False
