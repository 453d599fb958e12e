"""MDS folders as rows of tokens: the index is checked against the shards before any sample is taken."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import xxhash

from lisdata.decompression import decompressed
from lisdata.errors import DamagedShardError, SchemaError
from lisdata.json_shape import COUNT, MapOf, find_mismatch
from lisdata.shards.manifest import check_inside
from lisdata.token_formats.column_choice import ColumnChoice, choose_columns
from lisdata.token_formats.formats import ImportOptions
from lisdata.token_formats.row_blocks import RowBlock
from lisdata.token_shards.schema import INPUT_IDS, KIND, RECORD_ID

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
_INTEGERS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
# streaming's codes of the types of values, where a column does not say one
_VALUE_TYPES = {8: "uint8", 9: "int8", 16: "uint16", 17: "int16", 32: "uint32", 33: "int32", 64: "uint64", 65: "int64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MdsOptions(ImportOptions):
    """What an import of MDS can be told."""

    bytes_type: Literal["uint16", "int32", "int64"] | None = field(
        default=None, metadata={"help": "Take columns of plain bytes as integers of this type (LLM Foundry: int64)."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MdsShard:
    """One shard as the index describes it; `encodings` are of all columns, in the order that samples have them."""

    path: Path
    encodings: dict[str, str]
    sizes: tuple[int | None, ...]
    num_samples: int
    num_bytes: int
    stored: Path
    hashes: dict[Path, dict[str, str]]

    def read(self) -> bytes:
        """Return the shard's bytes, unpacked; raise DamagedShardError where they are not as the index says."""
        data = self._stored_bytes()
        if self.stored != self.path:
            with decompressed(self.stored.open("rb"), "zstd", str(self.stored), limit=self.num_bytes + 1) as stream:
                data = stream.read(self.num_bytes + 1)
            self._check(self.path, data)
        if len(data) != self.num_bytes:
            raise DamagedShardError(f"{self.path}: expected {self.num_bytes} bytes, found {len(data)}")
        return data

    def _stored_bytes(self) -> bytes:
        try:
            data = self.stored.read_bytes()
        except FileNotFoundError:
            raise DamagedShardError(f"{self.stored}: expected this file, found none") from None
        self._check(self.stored, data)
        return data

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
    for shard in shards:
        if (shard.encodings, shard.sizes) != (shards[0].encodings, shards[0].sizes):
            raise SchemaError(f"{shard.path}: expected the columns of {shards[0].path.name}, found others")
    return shards


def _shard(folder: Path, entry: dict[str, Any]) -> MdsShard:
    raw, packed, compression = entry["raw_data"], entry["zip_data"], entry["compression"]
    path = check_inside(folder, raw["basename"])
    names, encodings, sizes = entry["column_names"], entry["column_encodings"], entry["column_sizes"]
    if entry["format"] != "mds" or entry["version"] != 2 or not len(set(names)) == len(encodings) == len(sizes):
        raise SchemaError(f"{path}: expected MDS of version 2, found {entry['format']} of {entry['version']}")
    if compression is not None and compression.split(":")[0] != "zstd":
        raise SchemaError(f"{path}: expected no compression, or zstd, found {compression}")
    is_raw_there = path.is_file() or packed is None
    stored = path if is_raw_there else check_inside(folder, packed["basename"])
    hashes = {path: raw["hashes"]} | ({} if packed is None else {folder / packed["basename"]: packed["hashes"]})
    return MdsShard(
        path=path,
        encodings=dict(zip(names, encodings, strict=True)),
        sizes=tuple(sizes),
        num_samples=entry["samples"],
        num_bytes=raw["bytes"],
        stored=stored,
        hashes=hashes,
    )


def find_columns(shard: MdsShard, options: MdsOptions, origin: str) -> ColumnChoice:
    """Choose the columns of integers; raise SchemaError where those asked for are not such."""
    encodings = shard.encodings
    return choose_columns(
        list(encodings),
        [name for name, encoding in encodings.items() if _is_integers(encoding, options)],
        options,
        has_kind=encodings.get(KIND) == "uint8",
        has_record_id=encodings.get(RECORD_ID) == "str",
        origin=origin,
        describe=lambda name: encodings[name] + (" (--bytes-type takes them)" if encodings[name] == "bytes" else ""),
    )


def _is_integers(encoding: str, options: MdsOptions) -> bool:
    kind, *details = encoding.split(":")
    if kind == "bytes":
        return options.bytes_type is not None
    return kind == "ndarray" and (not details or details[0] in _INTEGERS) and len(details) < 3


def iter_rows(shards: list[MdsShard], columns: ColumnChoice, bytes_type: str | None) -> Iterator[RowBlock]:
    """Yield the rows of each shard; raise DamagedShardError or SchemaError at a sample that is not as it should be."""
    for shard in shards:
        if shard.num_samples:
            yield _block(shard, columns, bytes_type)


def _block(shard: MdsShard, columns: ColumnChoice, bytes_type: str | None) -> RowBlock:
    data = memoryview(shard.read())
    begins = _begins(data, shard)
    values: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in columns.arrays}
    kinds: list[int] = []
    ids: list[str] = []
    for number, (begin, end) in enumerate(pairwise(begins)):
        where = f"{shard.path}: sample {number}"
        sample = _split(data[begin:end], shard, where)
        for name, stored in columns.arrays.items():
            values[name].append(_array(sample[stored], shard.encodings[stored], bytes_type, f"{where}, {stored}"))
        if len({len(arrays[-1]) for arrays in values.values()}) > 1:
            raise SchemaError(f"{where}: expected arrays of one length; name the columns to take")
        if columns.has_kind:
            kinds.append(sample[KIND][0])
        if columns.has_record_id:
            ids.append(_text(sample[RECORD_ID], where))
    return RowBlock(
        offsets=np.concatenate(([0], np.cumsum([len(array) for array in values[INPUT_IDS]], dtype=np.int64))),
        columns={name: np.concatenate(arrays) for name, arrays in values.items()},
        kinds=np.array(kinds, np.uint8) if columns.has_kind else None,
        record_ids=pa.array(ids, pa.large_string()) if columns.has_record_id else None,
    )


def _begins(data: memoryview, shard: MdsShard) -> list[int]:
    head = 8 + 4 * shard.num_samples
    found = int(np.frombuffer(data, "<u4", 1)[0]) if len(data) >= head else None
    if found != shard.num_samples:
        raise DamagedShardError(f"{shard.path}: expected {shard.num_samples} samples, found {found}")
    begins = np.frombuffer(data, "<u4", shard.num_samples + 1, 4).astype(np.int64)
    if begins[0] < head or begins[-1] != len(data) or (np.diff(begins) < 0).any():
        raise DamagedShardError(f"{shard.path}: expected samples that follow one another to its end")
    found_begins: list[int] = begins.tolist()
    return found_begins


def _split(sample: memoryview, shard: MdsShard, where: str) -> dict[str, memoryview]:
    """Return the bytes of each column of a sample."""
    at = 4 * shard.sizes.count(None)
    variable = iter(np.frombuffer(sample[:at], "<u4").tolist() if len(sample) >= at else ())
    found = {}
    for name, fixed in zip(shard.encodings, shard.sizes, strict=True):
        size = next(variable, -1) if fixed is None else fixed
        if size < 0 or at + size > len(sample):
            raise DamagedShardError(f"{where}: expected {size} bytes of column {name}, found {len(sample) - at}")
        found[name] = sample[at : at + size]
        at += size
    if at != len(sample):
        raise DamagedShardError(f"{where}: expected {at} bytes, found {len(sample)}")
    return found


def _array(data: memoryview, encoding: str, bytes_type: str | None, where: str) -> npt.NDArray[Any]:
    """Return the integers of a column, of one axis."""
    kind, *details = encoding.split(":")
    type_ = bytes_type if kind == "bytes" else details[0] if details else None
    if type_ is None:
        code = data[0] if len(data) else None
        if code not in _VALUE_TYPES:
            raise SchemaError(f"{where}: expected an array of integers, found one of code {code}")
        type_, data = _VALUE_TYPES[code], data[1:]
    length: int | None = None
    if kind == "ndarray" and len(details) < 2:
        num_axes, size = (data[0] >> 2, 1 << (data[0] & 3)) if len(data) else (0, 0)
        if num_axes != 1:
            raise SchemaError(f"{where}: expected an array of one axis, found {num_axes}")
        length, data = int.from_bytes(data[1 : 1 + size], "little"), data[1 + size :]
    if len(data) % np.dtype(type_).itemsize or length not in (None, len(data) // np.dtype(type_).itemsize):
        raise DamagedShardError(f"{where}: expected {length} values of {type_}, found {len(data)} bytes")
    return np.frombuffer(data, np.dtype(type_).newbyteorder("<"))


def _text(data: memoryview, where: str) -> str:
    try:
        return bytes(data).decode()
    except UnicodeDecodeError as error:
        raise DamagedShardError(f"{where}: column {RECORD_ID}: {error}") from error
