"""Datasets at URLs: opened through a local cache, and copied from place to place."""

from __future__ import annotations

from pathlib import Path

from lisdata.paths import StrPath


def is_url(path: StrPath) -> bool:
    """Tell whether a path is the URL of a folder, such as s3://bucket/folder."""
    return isinstance(path, str) and "://" in path


def everywhere(path: StrPath) -> str:
    """Return a path that means the same in another process, or a URL as it is."""
    return str(path) if is_url(path) else str(Path(path).absolute())


def local_folder(path: StrPath) -> Path:
    """Return where the dataset at `path` lies on this machine: a URL's is fetched into the cache first."""
    if not is_url(path):
        return Path(path)
    from lisdata.storage.cache import Cache

    return Cache.from_environment().fetch(str(path))
