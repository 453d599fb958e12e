"""What paths, globs and URLs stand for: the files of a folder that a source takes, and those that it leaves out."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from lisdata.decompression import without_compression
from lisdata.errors import PlanError

DATASET_MARK = b'"format": "lisdata-'  # in every plan and manifest of this project, even a damaged one
_MOST_SHOWN = 3
_LOG = logging.getLogger("lisdata.inputs")


def expand_path(path: str, suffixes: tuple[str, ...], exclude: str | None) -> list[tuple[str, str]]:
    """Return (name, path) of the files at a path, as `lisdata.inputs.find_inputs` takes them."""
    if not path:
        raise PlanError("expected a file or folder, got an empty path")
    fs, root = file_system(path)
    is_folder = fs.isdir(root)
    if is_folder:
        found = _files_below(fs, root)
    elif fs.exists(root):
        found = [(root.rsplit("/", 1)[-1], root)]
    elif any(c in path for c in "*?["):
        matches = sorted(m for m in fs.glob(root) if fs.isfile(m))
        found = [(m.rsplit("/", 1)[-1], m) for m in matches]
    else:
        raise PlanError(f"{path}: no such file or folder")
    if exclude is not None:
        is_excluded = _is_below(fs, exclude)
        found = [(name, p) for name, p in found if not is_excluded(p)]
    if is_folder:
        if left_out := tuple(name for name, _ in found if not _has_suffix(name, suffixes)):
            _tell_left_out(path, left_out, suffixes)
        found = [(name, p) for name, p in found if _has_suffix(name, suffixes)]
    is_local = _is_local(fs)
    return [(name, p if is_local else fs.unstrip_protocol(p)) for name, p in found]


def file_system(path: str) -> tuple[Any, str]:
    """Return the file system of a path or URL, and the path in it."""
    import fsspec  # a fifth of what a worker process imports, for what only the process that plans does
    from fsspec.implementations.local import LocalFileSystem

    if "://" not in path:  # names such as Foo::Bar.txt and file:x.txt are no URLs
        return LocalFileSystem(), os.path.abspath(os.path.expanduser(path)).replace(os.sep, "/")
    try:
        fs, root = fsspec.core.url_to_fs(path)
    except (ImportError, ValueError) as error:  # no such protocol, or its library is not installed
        raise PlanError(f"{path}: {error}") from error
    return fs, root


def _is_local(fs: Any) -> bool:
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(fs, LocalFileSystem)


def _files_below(fs: Any, root: str) -> list[tuple[str, str]]:
    """Return (name below the folder, path) of its files, sorted, but those that are hidden or of a dataset."""
    everything = fs.find(root)
    if _is_local(fs):
        everything = [p for p in everything if fs.isfile(p)]  # no pipes or devices
    datasets = tuple(p[: p.rindex("/") + 1] for p in everything if _is_mark_of_dataset(fs, p))
    named = [(p[len(root) :].lstrip("/"), p) for p in sorted(everything) if not p.startswith(datasets)]
    return [(name, p) for name, p in named if not any(part.startswith(".") for part in name.split("/"))]


def _has_suffix(name: str, suffixes: tuple[str, ...]) -> bool:
    return without_compression(name.lower()).endswith(suffixes)


@lru_cache(maxsize=64)  # a recipe is checked, then run; a sorted conversion is planned twice
def _tell_left_out(path: str, names: tuple[str, ...], suffixes: tuple[str, ...]) -> None:
    """Say, once a process, which files of a folder are not read."""
    count = "1 file is" if len(names) == 1 else f"{len(names):,} files are"
    more = f" and {len(names) - _MOST_SHOWN:,} more" if len(names) > _MOST_SHOWN else ""
    shown = ", ".join(names[:_MOST_SHOWN]) + more
    _LOG.info("%s: %s left out, for the name does not end in %s: %s", path, count, " or ".join(suffixes), shown)


def _is_below(fs: Any, folder: str) -> Callable[[str], bool]:
    """Return what tells whether a file lies in `folder`, by whatever names and links the two are reached."""
    other, root = file_system(folder)
    if fs.protocol != other.protocol:
        return lambda path: False
    if not _is_local(fs):
        return lambda path: path.startswith(root.rstrip("/") + "/")

    def whole(path: str) -> str:
        return os.path.join(os.path.normcase(os.path.realpath(path)), "")

    real_root = whole(root)
    return lambda path: whole(path).startswith(real_root)


def _is_mark_of_dataset(fs: Any, path: str) -> bool:
    """Tell whether a file is the plan or the manifest of a dataset of lisdata."""
    return path.endswith(("/plan.json", "/manifest.json")) and DATASET_MARK in fs.cat_file(path)
