"""Megatron's indexed datasets: `.bin` holds token ids end to end, `.idx` says where sequences and documents begin.

An index is the magic bytes, version 1, a code of the integer type, the counts of sequences and of document bounds,
then sequence lengths (int32), their begins in bytes (int64) and document bounds (int64: sequence numbers, from 0 to
the count of sequences); a dataset of several modes ends with a mode (int8) a sequence.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from lisdata.errors import DamagedShardError, ExportError, SchemaError
from lisdata.registry import ExportReport
from lisdata.token_formats.row_blocks import ForeignRows, Int64, RowBlock, iter_blocks, losses_of
from lisdata.token_shards import TokenDataset
from lisdata.token_shards.schema import INPUT_IDS

MAGIC = b"MMIDIDX\x00\x00"
_HEADER = struct.Struct("<9sQBQQ")
# In the order in which the narrowest is looked for; Megatron has no uint32.
_CODES = {"uint8": 1, "int8": 2, "uint16": 8, "int16": 3, "int32": 4, "int64": 5}
_MAX_LENGTH = 2**31 - 1
_TOKENS_PER_BLOCK = 1 << 22
_NAME = "tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class MegatronOptions:
    """How sequences become rows; the only column is that of token ids."""

    rows: Literal["sequence", "document"] = field(
        default="sequence", metadata={"help": "What becomes a row: each sequence, or all of a document end to end."}
    )
    vocab_size: int | None = field(
        default=None, metadata={"help": "Ids are below this; default: as the export noted, or as the ids show."}
    )


class MegatronFormat:
    """`tokens.bin` and `tokens.idx`: a sequence, and a document, a row; token ids alone."""

    name = "megatron"
    summary = "Megatron .bin and .idx: token ids alone"
    options_type = MegatronOptions

    def export(self, dataset: TokenDataset, target: Path) -> ExportReport:
        """Write `tokens.bin` and `tokens.idx`, in the narrowest type that Megatron has for the ids."""
        column = dataset.schema.column(INPUT_IDS)
        type_ = next(t for t in _CODES if np.iinfo(t).min <= column.minimum and column.maximum <= np.iinfo(t).max)
        lengths: list[Int64] = [np.empty(0, np.int64)]
        with (target / f"{_NAME}.bin").open("wb") as stream:
            for block in iter_blocks(dataset):
                stream.write(np.ascontiguousarray(block.columns[INPUT_IDS], type_).data)
                lengths.append(np.diff(block.offsets))
        _write_index(target / f"{_NAME}.idx", np.concatenate(lengths), type_)
        return ExportReport(
            files=(target / f"{_NAME}.bin", target / f"{_NAME}.idx"),
            num_records=len(dataset),
            losses=losses_of(dataset, kept=(INPUT_IDS,), keeps_rows=False),
        )

    def open(self, source: Path, options: MegatronOptions) -> ForeignRows:
        """Open the pair at `source`: a folder with one, either of the files, or what their names share."""
        path = _find_index(source)
        index = _read_index(path)
        losses: dict[str, int] = {}
        if options.rows == "sequence":
            losses["documents of other than one sequence"] = int(np.count_nonzero(np.diff(index.documents) != 1))
        losses["modes of sequences"] = index.num_modes
        return ForeignRows(
            origin=str(path),
            columns=(INPUT_IDS,),
            iter_blocks=partial(_iter_rows, path, index, options.rows),
            losses={name: count for name, count in losses.items() if count},
        )


MEGATRON = MegatronFormat()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    """What an `.idx` says: `bounds` are the N + 1 places (in tokens) where sequences begin and the last one ends."""

    type: str
    bounds: Int64
    documents: Int64
    num_modes: int


def _write_index(path: Path, lengths: Int64, type_: str) -> None:
    if len(lengths) and lengths.max() > _MAX_LENGTH:
        row = int(np.argmax(lengths))
        raise ExportError(f"row {row}: expected at most {_MAX_LENGTH} tokens in {path.name}, found {lengths[row]}")
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    with path.open("wb") as stream:
        stream.write(_HEADER.pack(MAGIC, 1, _CODES[type_], len(lengths), len(lengths) + 1))
        stream.write(lengths.astype("<i4").data)
        stream.write((bounds[:-1] * np.dtype(type_).itemsize).astype("<i8").data)
        stream.write(np.arange(len(lengths) + 1, dtype="<i8").data)


def _find_index(source: Path) -> Path:
    if source.is_dir():
        found = sorted(source.glob("*.idx"))
        if len(found) != 1:
            names = ", ".join(path.name for path in found) or "none"
            raise DamagedShardError(f"{source}: expected one .idx in the folder, found {names}")
        return found[0]
    path = source.with_suffix(".idx") if source.suffix in (".bin", ".idx") else source.with_name(f"{source.name}.idx")
    if not path.is_file():
        raise DamagedShardError(f"{path}: expected this file, found none")
    return path


def _read_index(path: Path) -> _Index:
    """Read an index; raise DamagedShardError or SchemaError where it does not fit itself or its `.bin`."""
    data = path.read_bytes()
    if len(data) < _HEADER.size or not data.startswith(MAGIC):
        raise DamagedShardError(f"{path}: expected an index that begins with {MAGIC!r}, found {data[: len(MAGIC)]!r}")
    _, version, code, num_sequences, num_bounds = _HEADER.unpack_from(data)
    types = {number: name for name, number in _CODES.items()}
    if version != 1 or code not in types:
        raise SchemaError(f"{path}: expected version 1 and a code of integers, found {version=}, {code=}")
    end = _HEADER.size + 12 * num_sequences + 8 * num_bounds
    num_modes = len(data) - end
    if num_modes not in (0, num_sequences):
        raise DamagedShardError(f"{path}: expected {end} bytes ({num_sequences} sequences), found {len(data)}")
    lengths, pointers, documents = _split(data, num_sequences, num_bounds)
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    size = np.dtype(types[code]).itemsize
    if (lengths < 0).any() or not np.array_equal(pointers, bounds[:-1] * size):
        raise DamagedShardError(f"{path}: expected sequences that follow one another from byte 0 on")
    if num_bounds < 1 or documents[0] != 0 or documents[-1] != num_sequences or (np.diff(documents) < 0).any():
        raise DamagedShardError(f"{path}: expected bounds of documents that rise from 0 to {num_sequences}")
    tokens = path.with_suffix(".bin")
    found = tokens.stat().st_size if tokens.is_file() else None
    if found != bounds[-1] * size:
        raise DamagedShardError(f"{tokens}: expected {bounds[-1] * size} bytes, found {found or 'none'}")
    return _Index(type=types[code], bounds=bounds, documents=documents, num_modes=num_modes)


def _split(data: bytes, num_sequences: int, num_bounds: int) -> tuple[Int64, Int64, Int64]:
    at = _HEADER.size
    lengths = np.frombuffer(data, "<i4", num_sequences, at).astype(np.int64)
    pointers = np.frombuffer(data, "<i8", num_sequences, at + 4 * num_sequences)
    return lengths, pointers, np.frombuffer(data, "<i8", num_bounds, at + 12 * num_sequences)


def _iter_rows(path: Path, index: _Index, rows: str) -> Iterator[RowBlock]:
    bounds = index.bounds if rows == "sequence" else index.bounds[index.documents]
    ids = _map_tokens(path.with_suffix(".bin"), index.type)
    begin = 0
    while begin < len(bounds) - 1:
        end = int(np.searchsorted(bounds, bounds[begin] + _TOKENS_PER_BLOCK))
        end = min(max(end, begin + 1), len(bounds) - 1)
        first, last = int(bounds[begin]), int(bounds[end])
        yield RowBlock(offsets=bounds[begin : end + 1] - first, columns={INPUT_IDS: ids[first:last]})
        begin = end


def _map_tokens(path: Path, type_: str) -> npt.NDArray[Any]:
    stored = np.dtype(type_).newbyteorder("<")
    return np.memmap(path, stored, "r") if path.stat().st_size else np.empty(0, stored)
