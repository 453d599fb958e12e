"""MDS folders as rows of tokens: the index is checked against the shards before any sample is taken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.errors import DamagedShardError, SchemaError
from lisdata.token_formats.column_choice import ColumnChoice, choose_columns
from lisdata.token_formats.formats import ImportOptions
from lisdata.token_formats.mds_index import MdsShard
from lisdata.token_formats.row_blocks import RowBlock
from lisdata.token_shards.schema import INPUT_IDS, KIND, RECORD_ID

_ROWS_AT_ONCE = 1 << 16
_LENGTH = re.compile("[0-9]{1,10}")  # a fixed shape of one axis
_INTEGERS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
# streaming's codes of the types of values, where a column does not say one
_VALUE_TYPES = {8: "uint8", 9: "int8", 16: "uint16", 17: "int16", 32: "uint32", 33: "int32", 64: "uint64", 65: "int64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MdsOptions(ImportOptions):
    """What an import of MDS can be told."""

    bytes_type: Literal["uint16", "int32", "int64"] | None = field(
        default=None, metadata={"help": "Take columns of plain bytes as integers of this type (LLM Foundry: int64)."}
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
    if kind != "ndarray" or len(details) > 2 or (details and details[0] not in _INTEGERS):
        return False
    return len(details) < 2 or _LENGTH.fullmatch(details[1]) is not None


def iter_rows(shards: list[MdsShard], columns: ColumnChoice, bytes_type: str | None) -> Iterator[RowBlock]:
    """Yield the rows of each shard; raise DamagedShardError or SchemaError at a sample that is not as it should be."""
    for shard in shards:
        data = memoryview(shard.read())
        begins = _begins(data, shard)
        for first in range(0, shard.num_samples, _ROWS_AT_ONCE):
            samples = pairwise(begins[first : first + _ROWS_AT_ONCE + 1].tolist())
            yield _block([data[begin:end] for begin, end in samples], first, shard, columns, bytes_type)


def _block(
    samples: list[memoryview], first: int, shard: MdsShard, columns: ColumnChoice, bytes_type: str | None
) -> RowBlock:
    """Return the rows of samples of a shard, of which they are those from `first` on."""
    values: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in columns.arrays}
    kinds: list[int] = []
    ids: list[str] = []
    for number, data in enumerate(samples, first):
        where = f"{shard.path}: sample {number}"
        sample = _split(data, shard, where)
        for name, stored in columns.arrays.items():
            values[name].append(_array(sample[stored], shard.encodings[stored], bytes_type, f"{where}, {stored}"))
        if len({len(arrays[-1]) for arrays in values.values()}) > 1:
            raise SchemaError(f"{where}: expected arrays of one length; name the columns to take")
        if columns.has_kind:
            kinds.append(_byte(sample[KIND], f"{where}, {KIND}"))
        if columns.has_record_id:
            ids.append(_text(sample[RECORD_ID], where))
    return RowBlock(
        offsets=np.concatenate(([0], np.cumsum([len(array) for array in values[INPUT_IDS]], dtype=np.int64))),
        columns={name: np.concatenate(arrays) for name, arrays in values.items()},
        kinds=np.array(kinds, np.uint8) if columns.has_kind else None,
        record_ids=pa.array(ids, pa.large_string()) if columns.has_record_id else None,
    )


def _begins(data: memoryview, shard: MdsShard) -> npt.NDArray[np.int64]:
    """Return where each sample begins, and where the last one ends."""
    head = 8 + 4 * shard.num_samples
    found = int(np.frombuffer(data, "<u4", 1)[0]) if len(data) >= head else None
    if found != shard.num_samples:
        raise DamagedShardError(f"{shard.path}: expected {shard.num_samples} samples, found {found}")
    begins = np.frombuffer(data, "<u4", shard.num_samples + 1, 4).astype(np.int64)
    if begins[0] < head or begins[-1] != len(data) or (np.diff(begins) < 0).any():
        raise DamagedShardError(f"{shard.path}: expected samples that follow one another to its end")
    return begins


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
    length = int(details[1]) if len(details) == 2 else None
    if kind == "ndarray" and length is None:
        num_axes, size = (data[0] >> 2, 1 << (data[0] & 3)) if len(data) else (0, 0)
        if num_axes != 1:
            raise SchemaError(f"{where}: expected an array of one axis, found {num_axes}")
        length, data = int.from_bytes(data[1 : 1 + size], "little"), data[1 + size :]
    if len(data) % np.dtype(type_).itemsize or length not in (None, len(data) // np.dtype(type_).itemsize):
        raise DamagedShardError(f"{where}: expected {length} values of {type_}, found {len(data)} bytes")
    return np.frombuffer(data, np.dtype(type_).newbyteorder("<"))


def _byte(data: memoryview, where: str) -> int:
    if len(data) != 1:
        raise DamagedShardError(f"{where}: expected 1 byte, found {len(data)}")
    return int(data[0])


def _text(data: memoryview, where: str) -> str:
    try:
        return bytes(data).decode()
    except UnicodeDecodeError as error:
        raise DamagedShardError(f"{where}: column {RECORD_ID}: {error}") from error
