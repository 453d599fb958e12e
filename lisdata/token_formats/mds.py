"""MosaicML's MDS: shards of samples with an `index.json`, as `streaming.StreamingDataset` reads them.

A shard is the number of samples N (uint32), where each begins and the last one ends (uint32, N + 1), the shard's
settings as JSON, then the samples: the sizes (uint32) of the columns that have no fixed one, then the columns' bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lisdata.errors import ExportError
from lisdata.registry import ExportReport
from lisdata.token_formats.mds_index import MAX_SHARD_BYTES, read_index
from lisdata.token_formats.mds_reading import MdsOptions, find_columns, iter_rows
from lisdata.token_formats.row_blocks import ForeignRows, RowBlock, iter_blocks
from lisdata.token_shards import TokenDataset
from lisdata.token_shards.schema import KIND, RECORD_ID

SHARD_BYTES = 1 << 26  # of samples; streaming's own choice


class MdsFormat:
    """`index.json` and `shard.00000.mds` ...: all columns, as arrays of the types that they are stored in."""

    name = "mds"
    summary = "MosaicML streaming (MDS): all columns"
    options_type = MdsOptions

    def export(self, dataset: TokenDataset, target: Path) -> ExportReport:
        """Write shards of about 64 MiB, and the index of them."""
        settings = _settings(dataset)
        head = json.dumps(settings, sort_keys=True).encode()
        shards: list[dict[str, Any]] = []
        for samples in _iter_shards(iter_blocks(dataset), settings["column_names"]):
            data = _encode_shard(samples, head)
            name = f"shard.{len(shards):05d}.mds"
            (target / name).write_bytes(data)
            raw = {"basename": name, "bytes": len(data), "hashes": {}}
            shards.append(settings | {"raw_data": raw, "samples": len(samples), "zip_data": None})
        (target / "index.json").write_text(json.dumps({"shards": shards, "version": 2}, sort_keys=True))
        files = (target / "index.json", *sorted(target.glob("*.mds")))
        return ExportReport(files=files, num_records=len(dataset), losses={})

    def open(self, source: Path, options: MdsOptions) -> ForeignRows:
        """Open a folder with an `index.json`, its shards raw or compressed by zstd; pickled columns are refused."""
        folder = source.parent if source.name == "index.json" else source
        shards = read_index(folder)
        columns = find_columns(shards[0], options, str(folder))
        return ForeignRows(
            origin=str(folder),
            columns=tuple(columns.arrays),
            iter_blocks=partial(iter_rows, shards, columns, options.bytes_type),
            has_kind=columns.has_kind,
            has_record_id=columns.has_record_id,
            losses=columns.losses(sum(shard.num_samples for shard in shards)),
        )


MDS = MdsFormat()


def _settings(dataset: TokenDataset) -> dict[str, Any]:
    """Return what both a shard and the index say; columns stand in the order of their names."""
    encodings = {column.name: f"ndarray:{column.type}" for column in dataset.schema.columns}
    if dataset.schema.kind is None:
        encodings[KIND] = "uint8"
    if dataset.schema.has_record_id:
        encodings[RECORD_ID] = "str"
    names = sorted(encodings)
    return {
        "column_encodings": [encodings[name] for name in names],
        "column_names": names,
        "column_sizes": [1 if encodings[name] == "uint8" else None for name in names],
        "compression": None,
        "format": "mds",
        "hashes": [],
        "size_limit": SHARD_BYTES,
        "version": 2,
    }


def _iter_shards(blocks: Iterator[RowBlock], names: list[str]) -> Iterator[list[bytes]]:
    """Yield the samples of each shard; there is at least one."""
    samples: list[bytes] = []
    size, is_first = 0, True
    for block in blocks:
        for sample in _encode_rows(block, names):
            if samples and size + len(sample) > SHARD_BYTES:
                yield samples
                samples, size, is_first = [], 0, False
            samples.append(sample)
            size += len(sample) + 4
    if samples or is_first:
        yield samples


def _encode_rows(block: RowBlock, names: list[str]) -> Iterator[bytes]:
    offsets = block.offsets.tolist()
    kinds = None if block.kinds is None else block.kinds.tobytes()
    ids = None if block.record_ids is None else [text.encode() for text in block.record_ids.to_pylist()]
    for row in range(block.num_rows):
        begin, end = offsets[row], offsets[row + 1]
        shape = _encode_shape(end - begin)
        sizes: list[int] = []
        data: list[bytes] = []
        for name in names:
            if name == KIND and kinds is not None:
                data.append(kinds[row : row + 1])
                continue
            is_id = name == RECORD_ID and ids is not None
            value = ids[row] if is_id and ids is not None else shape + block.columns[name][begin:end].tobytes()
            sizes.append(len(value))
            data.append(value)
        yield np.array(sizes, "<u4").tobytes() + b"".join(data)


def _encode_shape(length: int) -> bytes:
    """Return the shape of an array of one axis: the axes and the type of extents in a byte, then the extent."""
    code = next(code for code in range(4) if length < 1 << (8 << code))
    return bytes([1 << 2 | code]) + length.to_bytes(1 << code, "little")


def _encode_shard(samples: list[bytes], settings: bytes) -> bytes:
    begins = np.cumsum([8 + 4 * len(samples) + len(settings), *map(len, samples)], dtype=np.int64)
    if begins[-1] > MAX_SHARD_BYTES:
        raise ExportError(f"expected rows of at most {MAX_SHARD_BYTES} bytes in MDS, found one of {begins[-1]}")
    return b"".join([np.uint32(len(samples)).tobytes(), begins.astype("<u4").tobytes(), settings, *samples])
