"""The index of an MDS folder, and the bytes of the shards that it names, each checked against the other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import xxhash

from lisdata.decompression import MAX_EXPANSION, SMALL_EXPANSION_BYTES, decompressed
from lisdata.errors import DamagedShardError, SchemaError
from lisdata.json_shape import COUNT, MapOf, find_mismatch
from lisdata.shards.manifest import check_linked_inside

MAX_SHARD_BYTES = 2**32 - 1  # offsets are uint32
_FILE = {"basename": str, "bytes": COUNT, "hashes": MapOf(str)}
_INDEX = {
    "version": int,
    "shards": [
        {
            "format": str,
            "version": int,
            "column_names": [str],
            "column_encodings": [str],
            "column_sizes": [(COUNT, None)],
            "compression": (str, None),
            "raw_data": _FILE,
            "zip_data": (_FILE, None),
            "samples": COUNT,
        }
    ],
}
_HASHES: dict[str, Callable[[bytes], Any]] = {
    "sha1": hashlib.sha1,
    "sha256": hashlib.sha256,
    "md5": hashlib.md5,
    "xxh64": xxhash.xxh64,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MdsShard:
    """One shard as the index describes it; `encodings` are of all columns, in the order that samples have them."""

    path: Path
    encodings: dict[str, str]
    sizes: tuple[int | None, ...]
    num_samples: int
    num_bytes: int
    stored: Path
    num_stored_bytes: int
    hashes: dict[Path, dict[str, str]]

    def read(self) -> bytes:
        """Return the shard's bytes, unpacked; raise DamagedShardError where they are not as the index says.

        No more is held than the index says, and no more of a compressed shard than lisdata takes of any file.
        """
        data = self._stored_bytes()
        if self.stored != self.path:
            self._check_expansion(len(data))
            data = self._unpacked()
            self._check(self.path, data)
        return data

    def _stored_bytes(self) -> bytes:
        try:
            size = self.stored.stat().st_size
            if size != self.num_stored_bytes:
                raise DamagedShardError(f"{self.stored}: expected {self.num_stored_bytes} bytes, found {size}")
            data = self.stored.read_bytes()
        except (FileNotFoundError, IsADirectoryError):
            raise DamagedShardError(f"{self.stored}: expected this file, found none") from None
        self._check(self.stored, data)
        return data

    def _unpacked(self) -> bytes:
        with decompressed(self.stored.open("rb"), "zstd", str(self.stored)) as stream:
            data = stream.read(self.num_bytes + 1)
            if len(data) <= self.num_bytes:
                stream.read(1)  # raises what ended it, if that was damage
        if len(data) != self.num_bytes:
            found = "more" if len(data) > self.num_bytes else len(data)
            raise DamagedShardError(f"{self.path}: expected {self.num_bytes} bytes, found {found}")
        return data

    def _check_expansion(self, size: int) -> None:
        limit = max(SMALL_EXPANSION_BYTES, MAX_EXPANSION * size)
        if self.num_bytes > limit:
            raise DamagedShardError(
                f"{self.stored}: expected at most {limit} bytes when decompressed, found an index that says "
                f"{self.num_bytes}; unpacked by zstd beforehand it is read"
            )

    def _check(self, path: Path, data: bytes) -> None:
        for name, expected in self.hashes.get(path, {}).items():
            if name in _HASHES and _HASHES[name](data).hexdigest() != expected:
                raise DamagedShardError(f"{path}: expected {name} {expected}, found another")


def read_index(folder: Path) -> list[MdsShard]:
    """Return the shards of a folder; raise DamagedShardError or SchemaError for what cannot be read, or is unsafe."""
    path = folder / "index.json"
    try:
        index = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise DamagedShardError(f"{path}: expected this file, found none") from None
    except orjson.JSONDecodeError as error:
        raise DamagedShardError(f"{path}: expected JSON, found {error}") from error
    problem = find_mismatch(index, _INDEX)
    if problem is not None or not index["shards"]:
        raise DamagedShardError(f"{path}: {problem or 'expected at least one shard, found none'}")
    shards = [_shard(folder, entry) for entry in index["shards"]]
    if len({shard.path for shard in shards}) != len(shards):
        raise DamagedShardError(f"{path}: expected each shard once, found one more than once")
    for shard in shards:
        if (shard.encodings, shard.sizes) != (shards[0].encodings, shards[0].sizes):
            raise SchemaError(f"{shard.path}: expected the columns of {shards[0].path.name}, found others")
    return shards


def _shard(folder: Path, entry: dict[str, Any]) -> MdsShard:
    raw, packed, compression = entry["raw_data"], entry["zip_data"], entry["compression"]
    path = check_linked_inside(folder, raw["basename"])
    names, encodings, sizes = entry["column_names"], entry["column_encodings"], entry["column_sizes"]
    if entry["format"] != "mds" or entry["version"] != 2:
        raise SchemaError(f"{path}: expected MDS of version 2, found {entry['format']} of {entry['version']}")
    if not len(set(names)) == len(names) == len(encodings) == len(sizes):
        raise SchemaError(
            f"{path}: expected columns of different names, each with its encoding and size, found {names}"
        )
    for file in (raw, packed):
        if file is not None and file["bytes"] > MAX_SHARD_BYTES:
            raise SchemaError(f"{path}: expected at most {MAX_SHARD_BYTES} bytes, found {file['bytes']} in the index")
    if compression is not None and compression.split(":")[0] != "zstd":
        raise SchemaError(f"{path}: expected no compression, or zstd, found {compression}")
    is_raw_there = path.is_file() or packed is None
    stored = path if is_raw_there else check_linked_inside(folder, packed["basename"])
    hashes = {path: raw["hashes"]} | ({} if packed is None else {folder / packed["basename"]: packed["hashes"]})
    return MdsShard(
        path=path,
        encodings=dict(zip(names, encodings, strict=True)),
        sizes=tuple(sizes),
        num_samples=entry["samples"],
        num_bytes=raw["bytes"],
        stored=stored,
        num_stored_bytes=raw["bytes"] if is_raw_there else packed["bytes"],
        hashes=hashes,
    )
