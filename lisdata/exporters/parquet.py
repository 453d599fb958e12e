"""Rows of a table back to Parquet: cells, types, NULLs, metadata, row groups and compression as they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from lisdata.errors import ExportError
from lisdata.exporters.arrow_columns import Facts, RowGroup, iter_row_groups
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetWriter

_WRITTEN_CODECS = ("SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4")


@dataclass(frozen=True, slots=True)
class ParquetExporter:
    """Writes one Parquet file for each input; of a source without types all columns are text.

    Bytes are not those of the input (encodings and statistics are the writer's). Losses are rejected records.
    """

    name: str = "parquet"
    summary: str = "Parquet tables"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the rows that came from `files`."""
        suffix = "" if all(info.source == "parquet" for info in files) else ".parquet"
        paths = target_paths(target, files, dataset.inputs, suffix=suffix)
        losses: Counter[str] = Counter()
        num_records = 0
        written: list[Path] = []
        for info, path in zip(files, paths, strict=True):
            losses["rejected records"] += info.records.get("rejected", 0)
            groups = iter_row_groups(dataset, info)
            first = next(groups, None)
            if first is None:  # the file was rejected: its columns are not known
                continue
            with replacing(path) as stream:
                num_records += _write_file(stream, first, groups, info)
            written.append(path)
        return ExportReport(files=tuple(written), num_records=num_records, losses=dict(+losses))


def _write_file(stream: BinaryIO, first: RowGroup, others: Iterator[RowGroup], info: InputInfo) -> int:
    num_rows = 0
    try:
        writer = _new_writer(stream, first.schema, first.facts)
    except (pa.ArrowException, OSError) as error:  # OSError: a decimal of negative scale
        raise ExportError(f"{info.name}: expected types that Parquet has, found {error}") from error
    with writer:
        for group in chain([first], others):
            if group.num_rows:
                table = pa.Table.from_batches(group.batches, group.schema)
                writer.write_table(table, row_group_size=group.num_rows)
            num_rows += group.num_rows
    return num_rows


def _new_writer(stream: BinaryIO, schema: pa.Schema, facts: Facts) -> ParquetWriter:
    from pyarrow.parquet import ParquetWriter

    codecs = dict(entry.split(" ", 1)[::-1] for entry in facts.get("compression", ()))
    compression: Any = {path: codec if codec in _WRITTEN_CODECS else "NONE" for path, codec in codecs.items()}
    return ParquetWriter(
        stream,
        schema,
        compression=compression or "ZSTD",
        version=facts.get("version", ["2.6"])[0],
        use_deprecated_int96_timestamps="int96" in facts,
    )


PARQUET = ParquetExporter()
