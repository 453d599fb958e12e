"""Where an export goes: one file or a folder of files, each written aside and renamed when whole."""

from __future__ import annotations

import fcntl
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from lisdata.decompression import without_compression
from lisdata.errors import ExportError
from lisdata.shards import InputInfo

_TEMPORARY = ".lisdata-export-{}.tmp"

Parts = tuple[str, ...]


def target_paths(
    target: Path, files: Sequence[InputInfo], inputs: Sequence[InputInfo] | None = None, *, suffix: str = ""
) -> list[Path]:
    """Return the path that each of `files`, which are among the dataset's `inputs`, is written to.

    One file goes to `target` itself unless that is a folder; else each goes below `target` by `folder_paths`.
    """
    if len(files) == 1 and not target.is_dir():
        return [target]
    return folder_paths(target, files, files if inputs is None else inputs, suffix=suffix)


def folder_paths(
    target: Path, files: Sequence[InputInfo], inputs: Sequence[InputInfo], *, suffix: str = ""
) -> list[Path]:
    """Return the paths below the folder `target` that `target_names` gives.

    ExportError for a name that leads out of the folder, by itself or through a link.
    """
    names = target_names(inputs, suffix=suffix)
    for info in files:
        if info.index not in names:
            raise ExportError(f"{info.name!r}: expected a name inside the folder {target}")
    paths = [target / names[info.index] for info in files]
    whole = target.resolve()
    for folder in sorted({path.parent for path in paths}):
        if not folder.resolve().is_relative_to(whole):
            raise ExportError(f"{folder}: expected a folder inside {target}, found a link to {folder.resolve()}")
    return paths


def target_names(inputs: Sequence[InputInfo], *, suffix: str = "") -> dict[int, str]:
    """Return the name of each input's file below a folder, by the input's index: no two alike, none another's folder.

    It is the input's name without the suffix of its compression and with `suffix` behind it; where that is taken it
    is 2/NAME, else 3/NAME ... Of inputs that want one name, the one that is called so has it, then the first; one whose
    name is a folder of another's has to give way. A name that leads out of the folder has no entry.
    """
    wanted = {info.index: parts for info in inputs if (parts := _wanted_parts(info, suffix))}
    called = {info.index: PurePosixPath(info.name + suffix).parts for info in inputs}
    folders = {folder for parts in wanted.values() for folder in _folders(parts)}
    order = sorted(wanted, key=lambda index: (wanted[index] in folders, wanted[index] != called[index], index))
    taken: set[Parts] = set()
    taken_folders: set[Parts] = set()
    last_copy: dict[Parts, int] = {}
    names: dict[int, str] = {}
    for index in order:
        parts = wanted[index]
        for copy in count(last_copy.get(parts, 0) + 1):
            found = parts if copy == 1 else (str(copy), *parts)
            if found not in taken and found not in taken_folders and taken.isdisjoint(_folders(found)):
                break
        last_copy[parts] = copy
        taken.add(found)
        taken_folders.update(_folders(found))
        names[index] = "/".join(found)
    return names


def memory_path(target: Path, *, suffix: str = "") -> Path:
    """Return the path of the one file of a dataset that was made in memory, so has no inputs."""
    return target / f"structures{suffix}" if target.is_dir() else target


def moved_names(inputs: Sequence[InputInfo], *, suffix: str = "") -> dict[int, tuple[str, str]]:
    """Return the name that an input would have had alone and the name that it has, for each that had to give way."""
    moved: dict[int, tuple[str, str]] = {}
    names = target_names(inputs, suffix=suffix)
    for info in inputs:
        alone = "/".join(_wanted_parts(info, suffix))
        if alone and names[info.index] != alone:
            moved[info.index] = (alone, names[info.index])
    return moved


def _wanted_parts(info: InputInfo, suffix: str) -> Parts:
    """Return the parts of the name that an input's file should have; none where it would lead out of the folder."""
    name = info.name
    if info.compression is not None:
        stem = without_compression(name)
        name = stem if stem and not stem.endswith("/") else name
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name:
        return ()
    return path.with_name(path.name + suffix).parts


def _folders(parts: Parts) -> list[Parts]:
    return [parts[:length] for length in range(1, len(parts))]


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a stream whose bytes become `path` when the block ends well, and leave nothing when it does not.

    What a killed process leaves is found by `sweep_leftovers`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(_TEMPORARY.format(secrets.token_hex(8)))
    try:
        with temporary.open("xb") as stream:
            with suppress(OSError):  # some network file systems have no locks: there, leftovers stay
                fcntl.flock(stream, fcntl.LOCK_EX)
            yield stream
            stream.flush()
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sweep_leftovers(folders: Iterable[Path]) -> None:
    """Remove from `folders` what exports that were killed left there, and nothing of one that is at work."""
    for folder in folders:
        for path in folder.glob(_TEMPORARY.format("*")):
            with suppress(OSError), path.open("rb") as stream:  # locked, gone, or not ours
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
