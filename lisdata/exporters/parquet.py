"""Rows of a table back to Parquet: cells, types, NULLs, metadata, row groups and compression as they were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from lisdata.errors import ExportError
from lisdata.exporters.arrow_columns import Facts, RowGroup, export_row_groups
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
        return export_row_groups(dataset, target, files, "parquet", _write_file)


def _write_file(stream: BinaryIO, first: RowGroup, others: Iterator[RowGroup], info: InputInfo) -> int:
    num_rows = 0
    try:
        writer = _new_writer(stream, first.schema, first.facts)
    except (pa.ArrowException, OSError) as error:  # OSError: a decimal of negative scale
        raise ExportError(f"{info.name}: expected types that Parquet has, found {error}") from error
    with writer:
        for group in chain([first], others):
            if group.num_rows or "group" in group.facts:  # a group may be empty, and is counted all the same
                table = pa.Table.from_batches(group.batches, group.schema)
                writer.write_table(table, row_group_size=max(1, group.num_rows))
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
