"""A local cache of datasets at URLs: files are known by the hash that their manifest names, and checked by it.

    datasets/<sha256 of the manifest>/   a dataset like any other; its manifest is put there last
    objects/<sha256>                     its files again (hard links), so that datasets share what they have in common
    locks/                               who fetches, and who uses, which dataset

A killed process leaves files that are whole, and temporary ones that the next one removes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lisdata.errors import DamagedShardError, PlanError, SchemaError
from lisdata.shards.manifest import MANIFEST, check_inside, file_entry
from lisdata.storage.folders import Folder, write_blocks
from lisdata.storage.leases import hold_while_running, locked, locked_if_free

FOLDER_VARIABLE, LIMIT_VARIABLE = "LISDATA_CACHE", "LISDATA_CACHE_GIB"
_SHA256 = re.compile("[0-9a-f]{64}")
_GIBIBYTE = 1 << 30
_DEFAULT_GIB = 64.0
_NUM_THREADS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """A folder that holds at most `max_bytes` of datasets; those least lately opened make room for others."""

    folder: Path
    max_bytes: int

    @classmethod
    def from_environment(cls) -> Cache:
        """Return the cache at $LISDATA_CACHE (~/.cache/lisdata) of $LISDATA_CACHE_GIB (64), else raise ValueError."""
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        text = os.environ.get(LIMIT_VARIABLE, str(_DEFAULT_GIB))
        try:
            max_bytes = int(float(text) * _GIBIBYTE)
        except (ValueError, OverflowError):
            raise ValueError(f"expected a number of GiB in {LIMIT_VARIABLE}, got {text!r}") from None
        return cls(folder=Path(os.environ.get(FOLDER_VARIABLE) or home / "lisdata"), max_bytes=max_bytes)

    def fetch(self, url: str) -> Path:
        """Return the folder of the dataset at `url` as it is there now, all of its files fetched and hashed.

        It stays until this process ends, whatever others fetch. DamagedShardError for files that are not those of the
        manifest, PlanError where they are more than the cache may hold.
        """
        remote = Folder.of(url)
        found = remote.read_manifest()
        if found is None:
            raise DamagedShardError(f"{url}: expected a dataset, found no {MANIFEST}")
        data, body = found
        _check_files(remote.name, body["files"])
        key = hashlib.sha256(data).hexdigest()
        view = self.folder / "datasets" / key
        hold_while_running(self._lock(key, "use"))
        if not _is_whole(view, body):
            with locked(self._lock(key, "fetch")):
                if not _is_whole(view, body):
                    self._fetch_files(remote, body["files"], view)
                    write_blocks(view / MANIFEST, [data])
        return view

    def _lock(self, key: str, purpose: str) -> Path:
        return self.folder / "locks" / f"{key}.{purpose}"

    def _fetch_files(self, remote: Folder, files: dict[str, dict[str, Any]], view: Path) -> None:
        for leftover in view.rglob(".*.tmp"):
            leftover.unlink()
        missing = {name: entry for name, entry in files.items() if not _has_size(view / name, entry)}
        self._make_room(sum(entry["size"] for entry in missing.values()), remote.name)
        with ThreadPoolExecutor(_NUM_THREADS) as pool:
            tasks = [pool.submit(self._fetch_file, remote, name, entry, view) for name, entry in missing.items()]
            try:
                for task in tasks:
                    task.result()
            finally:
                for task in tasks:
                    task.cancel()

    def _fetch_file(self, remote: Folder, name: str, entry: dict[str, Any], view: Path) -> None:
        target, shared = check_inside(view, name), self.folder / "objects" / entry["sha256"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        with suppress(OSError):  # links only save space: none there, or none possible
            os.link(shared, target)
            if file_entry(target) == entry:
                return
            shared.unlink()  # it was changed since
            target.unlink()
        write_blocks(target, remote.checked_blocks(name, entry))
        target.chmod(0o444)
        shared.parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            os.link(target, shared)

    def _make_room(self, num_bytes: int, who: str) -> None:
        """Remove datasets that nobody uses, the least lately opened first, until `num_bytes` more fit."""
        if num_bytes > self.max_bytes:
            raise PlanError(
                f"{who}: expected at most the {self.max_bytes} bytes that the cache may hold, found {num_bytes}; "
                f"{LIMIT_VARIABLE} sets it"
            )
        views = (self.folder / "datasets").iterdir() if (self.folder / "datasets").is_dir() else ()
        locks = {view: self._lock(view.name, "use") for view in views}
        for view in sorted(locks, key=lambda view: _time_of(locks[view])):
            if self._num_bytes() + num_bytes <= self.max_bytes:
                return
            with locked_if_free(locks[view]) as is_free:
                if is_free:
                    shutil.rmtree(view)
            self._drop_unshared()
        if self._num_bytes() + num_bytes > self.max_bytes:
            raise PlanError(
                f"{who}: expected room for {num_bytes} bytes in {self.folder}, found it full of datasets in use; "
                f"{LIMIT_VARIABLE} sets how many GiB it may hold"
            )

    def _num_bytes(self) -> int:
        """Return the bytes of all files, those with several names once."""
        found = {}
        for path in self.folder.rglob("*"):
            with suppress(FileNotFoundError):  # others remove files too
                status = path.stat()
                if path.is_file():
                    found[status.st_ino] = status.st_size
        return sum(found.values())

    def _drop_unshared(self) -> None:
        for path in (self.folder / "objects").glob("*"):
            with suppress(FileNotFoundError):
                if path.stat().st_nlink == 1:
                    path.unlink()


def _check_files(url: str, files: dict[str, dict[str, Any]]) -> None:
    """Raise SchemaError for what could name, or hide, another file of the cache; the names themselves are checked."""
    for name, entry in files.items():
        if not _SHA256.fullmatch(entry["sha256"]):
            raise SchemaError(f"{url}/{MANIFEST}: {name}: expected a sha256 in hex, found {entry['sha256']!r}")
        if name == MANIFEST:
            raise SchemaError(f"{url}/{MANIFEST}: expected other files than itself, found {name}")


def _is_whole(view: Path, body: dict[str, Any]) -> bool:
    return (view / MANIFEST).is_file() and all(_has_size(view / name, entry) for name, entry in body["files"].items())


def _has_size(path: Path, entry: dict[str, Any]) -> bool:
    return path.is_file() and path.stat().st_size == entry["size"]


def _time_of(lock: Path) -> float:
    return lock.stat().st_mtime if lock.exists() else 0.0
