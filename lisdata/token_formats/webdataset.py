"""WebDataset: tar files of samples, a member a column, as the library `webdataset` reads them."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from lisdata.errors import ExportError
from lisdata.registry import ExportReport
from lisdata.token_formats.row_blocks import RowBlock, iter_blocks
from lisdata.token_shards import TokenDataset
from lisdata.token_shards.schema import KIND, RECORD_ID

SHARD_BYTES = 1 << 28  # of members; a shard ends with the sample that reaches it


class WebDatasetFormat:
    """`shard-000000.tar` ...: `N.COLUMN.npy` a column, and `N.row.json` with kind and record id where stored."""

    name = "webdataset"
    summary = "WebDataset tar files of .npy: all columns"

    def export(self, dataset: TokenDataset, target: Path) -> ExportReport:
        """Write shards of about 256 MiB; the same bytes each time."""
        for name in dataset.schema.names:
            if not name or not name.replace("_", "").isalnum():
                raise ExportError(f"expected columns named by letters, digits and _ in WebDataset, found {name!r}")
        files: list[Path] = []
        samples = (sample for block in iter_blocks(dataset) for sample in _iter_samples(block))
        number, is_done = 0, False
        while not is_done:
            files.append(target / f"shard-{len(files):06d}.tar")
            number, is_done = _write_shard(files[-1], samples, number)
        return ExportReport(files=tuple(files), num_records=len(dataset), losses={})


WEBDATASET = WebDatasetFormat()


def _iter_samples(block: RowBlock) -> Iterator[dict[str, bytes]]:
    """Yield the members of each sample, by the end of their names."""
    for row in range(block.num_rows):
        begin, end = int(block.offsets[row]), int(block.offsets[row + 1])
        sample = {f"{name}.npy": _encode_array(values[begin:end]) for name, values in block.columns.items()}
        facts: dict[str, Any] = {}
        if block.kinds is not None:
            facts[KIND] = int(block.kinds[row])
        if block.record_ids is not None:
            facts[RECORD_ID] = block.record_ids[row].as_py()
        yield sample | ({"row.json": orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)} if facts else {})


def _encode_array(values: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, values, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def _write_shard(path: Path, samples: Iterator[dict[str, bytes]], number: int) -> tuple[int, bool]:
    """Write samples, numbered from `number`, until the shard is full; return the next number and whether they ended."""
    size = 0
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for sample in samples:
            for end, data in sample.items():
                member = tarfile.TarInfo(f"{number:012d}.{end}")  # of no time and no owner
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
                size += len(data)
            number += 1
            if size >= SHARD_BYTES:
                return number, False
    return number, True
