"""WebDataset: tar files of samples, a member a column, as the library `webdataset` reads them."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
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
_DIGITS = 12  # of a sample's number
_CHECKSUM = 148, 155  # where a header has it, in octal digits and NUL


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
    offsets = block.offsets.tolist()
    columns = [(f"{name}.npy", values.dtype, values) for name, values in block.columns.items()]
    kinds = None if block.kinds is None else block.kinds.tolist()
    ids = None if block.record_ids is None else block.record_ids.to_pylist()
    for row, (begin, end) in enumerate(pairwise(offsets)):
        sample = {
            name: _npy_header(type_, end - begin) + values[begin:end].tobytes() for name, type_, values in columns
        }
        facts: dict[str, Any] = {}
        if kinds is not None:
            facts[KIND] = kinds[row]
        if ids is not None:
            facts[RECORD_ID] = ids[row]
        yield sample | ({"row.json": orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)} if facts else {})


@lru_cache(maxsize=1 << 14)
def _npy_header(dtype: np.dtype[Any], length: int) -> bytes:
    """Return what stands before the values of an array in a .npy file."""
    stream = io.BytesIO()
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue()


def _write_shard(path: Path, samples: Iterator[dict[str, bytes]], number: int) -> tuple[int, bool]:
    """Write samples, numbered from `number`, until the shard is full; return the next number and whether they ended."""
    size, is_done = 0, True
    with path.open("wb") as stream:
        for sample in samples:
            for end, data in sample.items():
                stream.write(_member_header(number, end, len(data)) + data + bytes(-len(data) % tarfile.BLOCKSIZE))
                size += len(data)
            number += 1
            if size >= SHARD_BYTES:
                is_done = False
                break
        stream.write(bytes(2 * tarfile.BLOCKSIZE))
        stream.write(bytes(-stream.tell() % tarfile.RECORDSIZE))
    return number, is_done


def _member_header(number: int, end: str, size: int) -> bytes:
    """Return the header of member `NUMBER.END`, as tarfile writes it; that takes long for each of millions."""
    before, after, checksum = _header_parts(end, size)
    digits = b"%0*d" % (_DIGITS, number)
    return digits + before + b"%06o\0" % (checksum + sum(digits)) + after


@lru_cache(maxsize=1 << 14)
def _header_parts(end: str, size: int) -> tuple[bytes, bytes, int]:
    """Return what is before and behind the checksum in headers of such members, and it without the number's digits."""
    member = tarfile.TarInfo(f"{0:0{_DIGITS}d}.{end}")  # of no time and no owner
    member.size = size
    header = member.tobuf(tarfile.USTAR_FORMAT)
    begin, behind = _CHECKSUM
    return header[_DIGITS:begin], header[behind:], int(header[begin : behind - 1], 8) - _DIGITS * ord("0")
