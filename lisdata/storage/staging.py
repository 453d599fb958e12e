"""A folder that appears whole, under its name, or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lisdata.atomic import sync_path
from lisdata.locks import hold_lock


@contextmanager
def staged_folder(target: Path, who: str) -> Iterator[Path]:
    """Give a new folder to write to; at the end it takes the place of `target`, at an error it is removed.

    Raises PlanError when somebody else writes the same `target`; `who` is they, in the words of that error. What a
    killed process left is removed by the next one.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = target.with_name(f".{target.name}.staged")
    try:
        with hold_lock(staging, who):
            yield from _make(target, staging)
    finally:
        with suppress(OSError):  # somebody else has begun
            staging.rmdir()


def _make(target: Path, staging: Path) -> Iterator[Path]:
    making, old = staging / "new", staging / "old"
    _sweep(target, making, old)
    making.mkdir()
    try:
        yield making
        for path in sorted(making.rglob("*")):
            sync_path(path)
        if target.exists():
            target.rename(old)
        making.rename(target)
        sync_path(target.parent)
    finally:
        _sweep(target, making, old)


def _sweep(target: Path, making: Path, old: Path) -> None:
    """Remove what was made; what stood at `target` goes back where it was stopped between the two renames."""
    if old.exists() and not target.exists():
        old.rename(target)
    for leftover in (making, old):
        shutil.rmtree(leftover, ignore_errors=True)
