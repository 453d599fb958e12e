"""Where an export goes: one file or a folder of files, each written aside and renamed when whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lisdata.errors import ExportError
from lisdata.shards import InputInfo

_COMPRESSION_SUFFIXES = (".gz", ".bz2", ".zst")


def target_paths(target: Path, files: tuple[InputInfo, ...]) -> list[Path]:
    """Return the path that each of `files` is written to.

    One file goes to `target` itself unless that is a folder; else each goes to its name below `target`, without a
    compression suffix. ExportError for a name that leads out of the folder, and for two files of one name.
    """
    if len(files) == 1 and not target.is_dir():
        return [target]
    paths: list[Path] = []
    for info in files:
        name = info.name
        if info.compression is not None:
            name = next((name.removesuffix(s) for s in _COMPRESSION_SUFFIXES if name.endswith(s)), name)
        parts = Path(name).parts
        if not parts or Path(name).is_absolute() or ".." in parts:
            raise ExportError(f"{info.name!r}: expected a name inside the folder {target}")
        paths.append(target / name)
        if paths[-1] in paths[:-1]:
            raise ExportError(f"{paths[-1]}: two inputs of the dataset have this name: export them one by one")
    return paths


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a stream whose bytes become `path` when the block ends well, and leave nothing when it does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as stream:
            yield stream
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
