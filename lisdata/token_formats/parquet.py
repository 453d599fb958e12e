"""Parquet files with a list of integers a row and column."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lisdata.errors import DamagedShardError, SchemaError
from lisdata.registry import ExportReport
from lisdata.token_formats.arrow_tables import find_columns, iter_rows
from lisdata.token_formats.column_choice import ColumnChoice
from lisdata.token_formats.formats import ImportOptions
from lisdata.token_formats.row_blocks import ForeignRows
from lisdata.token_shards import TokenDataset

_ROWS_AT_ONCE = 1 << 12


class ParquetFormat:
    """`part-00000.parquet` ... : all columns, one file a part of the dataset."""

    name = "parquet"
    summary = "Parquet files (zstd): all columns"
    options_type = ImportOptions

    def export(self, dataset: TokenDataset, target: Path) -> ExportReport:
        """Write one file a part; a row group is a record batch of the part."""
        names = {str(dataset.path / name): part["name"] for part in dataset.manifest["parts"] for name in part["files"]}
        batches: dict[str, list[pa.RecordBatch]] = {place: [] for place in names}
        for batch, place in zip(dataset.segments.owners, dataset.segments.places, strict=True):
            batches[place].append(batch)
        files: list[Path] = []
        schema = dataset.schema.to_arrow()
        for place, name in names.items():
            files.append(target / f"{name}.parquet")
            with pq.ParquetWriter(files[-1], schema, compression="zstd", write_page_checksum=True) as writer:
                for batch in batches[place]:
                    writer.write_batch(batch, row_group_size=max(batch.num_rows, 1))
        return ExportReport(files=tuple(files), num_records=len(dataset), losses={})

    def open(self, source: Path, options: ImportOptions) -> ForeignRows:
        """Open a file, or all `.parquet` files of a folder in the order of their names."""
        paths = sorted(source.glob("*.parquet")) if source.is_dir() else [source]
        if not paths:
            raise DamagedShardError(f"{source}: expected files called *.parquet, found none")
        schemas = [_open(path).schema_arrow for path in paths]
        columns = find_columns(schemas[0], options, str(paths[0]))
        for path, schema in zip(paths, schemas, strict=True):
            if not schema.remove_metadata().equals(schemas[0].remove_metadata()):
                raise SchemaError(f"{path}: expected the columns of {paths[0].name}, found others")
        num_rows = sum(_open(path).metadata.num_rows for path in paths)
        return ForeignRows(
            origin=str(source),
            columns=tuple(columns.arrays),
            iter_blocks=lambda: iter_rows(_iter_batches(paths, columns), columns, str(source)),
            has_kind=columns.has_kind,
            has_record_id=columns.has_record_id,
            losses=columns.losses(num_rows),
        )


PARQUET = ParquetFormat()


def _open(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, memory_map=True, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise DamagedShardError(f"{path}: expected a Parquet file, found {error}") from error


def _iter_batches(paths: list[Path], columns: ColumnChoice) -> Iterator[pa.RecordBatch]:
    for path in paths:
        file = _open(path)
        try:
            yield from file.iter_batches(_ROWS_AT_ONCE, columns=columns.stored)
        except (pa.ArrowException, OSError) as error:
            raise DamagedShardError(f"{path}: {error}") from error
