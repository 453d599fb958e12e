"""Locks on what a cache holds: users share one until their process ends, and what is in use is not removed."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Descriptors that this process holds until it ends: mapped files must stay for worker processes to open again.
_HELD: dict[Path, int] = {}


def hold_while_running(path: Path) -> None:
    """Share the lock `path` until this process ends, and note the time there."""
    if path not in _HELD:
        descriptor = _open(path)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        if path in _HELD:  # another thread was first
            os.close(descriptor)
        else:
            _HELD[path] = descriptor
    os.utime(path)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock `path` alone, after all others that do."""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock `path` alone if nobody has it, and tell whether that is so."""
    descriptor = _open(path)
    is_free = False
    try:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_free = True
        yield is_free
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
