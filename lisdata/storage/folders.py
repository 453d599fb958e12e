"""Folders of a dataset's files, local or at any URL of fsspec: read and written file by file, hashed on the way."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from lisdata.atomic import sync_path
from lisdata.errors import DamagedShardError, PlanError
from lisdata.paths import StrPath
from lisdata.shards.manifest import MANIFEST, parse_manifest

BLOCK_BYTES = 8 << 20
_MAX_MANIFEST_BYTES = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder `name` (a path or URL) as fsspec knows it: a file system, and the folder's path there."""

    name: str
    files: Any
    root: str

    @classmethod
    def of(cls, path: StrPath) -> Folder:
        """Return the folder at a path or URL; raise PlanError for a kind of URL that nothing here reads."""
        name = os.fspath(path).rstrip("/") or "/"
        try:
            files, root = fsspec.core.url_to_fs(name)
        except (ImportError, ValueError) as error:
            hint = ' (pip install "lisdata[s3]")' if name.startswith("s3") else ""
            raise PlanError(f"{name}: expected a URL that fsspec can open, found {error}{hint}") from error
        return cls(name=name, files=files, root=root.rstrip("/"))

    def is_inside(self, other: Folder) -> bool:
        """Tell whether this is a folder below another."""
        if self.files is not other.files:
            return False
        inner, outer = self.root, other.root
        if isinstance(self.files, LocalFileSystem):
            inner, outer = os.path.realpath(inner), os.path.realpath(outer)
        return inner.startswith(f"{outer.rstrip('/')}/")

    def path(self, name: str) -> str:
        """Return the path of one of the files in its file system."""
        return f"{self.root}/{name}"

    def blocks(self, name: str) -> Iterator[bytes]:
        """Yield a file's bytes in pieces; raise DamagedShardError where there is no such file."""
        try:
            with self.files.open(self.path(name), "rb") as stream:
                while block := stream.read(BLOCK_BYTES):
                    yield block
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise DamagedShardError(f"{self.name}/{name}: expected this file, found none") from None

    def read_manifest(self) -> tuple[bytes, dict[str, Any]] | None:
        """Return the manifest's bytes and body, checked before any name in it is used; None where there is none.

        PlanError where the place cannot be reached.
        """
        if not self.files.isfile(self.path(MANIFEST)):
            self._refuse_unreachable()
            return None
        data = bytearray()
        for block in self.blocks(MANIFEST):
            data += block
            if len(data) > _MAX_MANIFEST_BYTES:
                raise DamagedShardError(f"{self.name}/{MANIFEST}: expected at most {_MAX_MANIFEST_BYTES} bytes")
        return bytes(data), parse_manifest(bytes(data), f"{self.name}/{MANIFEST}")

    def _refuse_unreachable(self) -> None:
        """Raise PlanError where a manifest seems not to be there, but nobody could look."""
        if isinstance(self.files, LocalFileSystem):
            return
        try:
            self.files.info(self.path(MANIFEST))
        except _connection_errors() as error:
            # HTTP's takes all that goes wrong for a missing file, and keeps what it was.
            cause = error.__cause__ if isinstance(error, FileNotFoundError) else error
            if isinstance(cause, _connection_errors()) and not isinstance(cause, FileNotFoundError):
                raise PlanError(f"{self.name}: expected a place that can be reached, found {cause}") from error

    def checked_blocks(self, name: str, entry: dict[str, Any]) -> Iterator[bytes]:
        """Yield a file's bytes; raise DamagedShardError where they are more than, or other than, its entry says."""
        digest, size = hashlib.sha256(), 0
        for block in self.blocks(name):
            size += len(block)
            if size > entry["size"]:
                raise DamagedShardError(f"{self.name}/{name}: expected {entry['size']} bytes, found more")
            digest.update(block)
            yield block
        if size != entry["size"]:
            raise DamagedShardError(f"{self.name}/{name}: expected {entry['size']} bytes, found {size}")
        if digest.hexdigest() != entry["sha256"]:
            raise DamagedShardError(f"{self.name}/{name}: expected sha256 {entry['sha256']}, found another")

    def has(self, name: str) -> bool:
        """Tell whether there is something of this name."""
        return bool(self.files.exists(self.path(name)))

    def problems(self, files: dict[str, dict[str, Any]]) -> Iterator[str]:
        """Yield what is wrong with each file that is not as its entry says, all of its bytes read."""
        for name, entry in files.items():
            try:
                for _ in self.checked_blocks(name, entry):
                    pass
            except DamagedShardError as error:
                yield str(error)

    def holds(self, name: str, entry: dict[str, Any]) -> bool:
        """Tell whether a file is there with the bytes that its entry says; they are read only if the size is right."""
        try:
            if self.files.info(self.path(name))["size"] != entry["size"]:
                return False
            for _ in self.checked_blocks(name, entry):
                pass
        except (DamagedShardError, FileNotFoundError, NotADirectoryError):
            return False
        return True

    def write(self, name: str, blocks: Iterable[bytes]) -> None:
        """Write a file: on this machine whole or not at all, elsewhere as its file system does."""
        if isinstance(self.files, LocalFileSystem):
            write_blocks(Path(self.path(name)), blocks)
            return
        with self.files.open(self.path(name), "wb") as stream:
            for block in blocks:
                stream.write(block)


def _connection_errors() -> tuple[type[Exception], ...]:
    """Return what file systems raise when they cannot be reached; those of libraries exist only once these are used."""
    libraries = (("aiohttp", "ClientError"), ("botocore.exceptions", "BotoCoreError"))
    found = [getattr(sys.modules[module], name) for module, name in libraries if module in sys.modules]
    return (OSError, *found)


def write_blocks(path: Path, blocks: Iterable[bytes]) -> None:
    """Write a local file aside, bring it to the disk, and rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as stream:
            for block in blocks:
                stream.write(block)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_path(path.parent)
