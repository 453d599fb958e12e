"""Parquet: typed columns read row group by row group, exact cells, the schema kept for the way back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lisdata.errors import BadRecordError, Place, SchemaError
from lisdata.inputs import InputSlice
from lisdata.records import RowRecords
from lisdata.registry import Reject
from lisdata.sources.arrow_rows import (
    BATCH_BYTES,
    BATCH_ROWS,
    ColumnarOptions,
    RowMaker,
    bad_file,
    schema_text,
    table_of,
)
from lisdata.sources.random_access import local_path

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

# A row's begin has its row group's number in the upper bits and where it begins in the group in the lower ones: so rows
# are named alike in whatever units a file is read.
_GROUP_SHIFT = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetOptions(ColumnarOptions):
    """Options of source parquet."""


@dataclass(frozen=True, slots=True)
class ParquetSource:
    """Reads Parquet files in batches of rows; a big file is cut between row groups.

    A cell's text is exact for its type (see `arrow_cells`): the type itself is in the schema, which is kept.
    """

    name: str = "parquet"
    summary: str = "Parquet tables: exact typed cells, nested ones as JSON, NULLs, column metadata"
    suffixes: tuple[str, ...] = (".parquet", ".pq")
    converter: str = "tables"
    exporter: str = "parquet"
    splits: bool = True
    options_type: type[ParquetOptions] = ParquetOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: ParquetOptions) -> int:
        """Return where the first row group at or after `wanted` begins; a damaged file is not cut."""
        end = piece.file.size if piece.end is None else piece.end
        if piece.file.compression is not None:  # its footer is read first, so each unit would decompress all
            return end
        with ExitStack() as stack:
            try:
                begins = _group_begins(_open(piece, options, stack))
            except (pa.ArrowException, OSError):
                return end
        return min((begin for begin in begins if wanted <= begin < end), default=end)

    def read(self, piece: InputSlice, options: ParquetOptions, reject: Reject) -> Iterator[RowRecords]:
        """Yield the rows of the row groups that begin in `piece`.

        A value that is none of its type (text that is not UTF-8) makes a bad record of its row; a damaged row group is
        one for all its rows that were not yet read, and so is a file that is not Parquet or has two columns of a name.
        """
        with ExitStack() as stack:
            try:
                file = _open(piece, options, stack)
                table = table_of(file.schema_arrow, piece.file, options)
            except SchemaError as error:
                reject(bad_file(piece, "columns that can be a table", str(error)))
                return
            except (pa.ArrowException, OSError) as error:
                reject(bad_file(piece, "a Parquet file", str(error)))
                return
            facts = {"format": "parquet", "arrow_schema": schema_text(file.schema_arrow), **_describe(file)}
            yield from _read_groups(file, piece, RowMaker(file=piece.file, table=table, facts=facts, reject=reject))


def _open(piece: InputSlice, options: ParquetOptions, stack: ExitStack) -> ParquetFile:
    """Open a file, a remote one that is not compressed where it is; what is read goes through a small buffer."""
    from pyarrow.parquet import ParquetFile

    if piece.file.compression is None and not piece.file.is_local:
        source: Any = stack.enter_context(piece.file.open())
    else:
        source = stack.enter_context(local_path(piece.file, options.max_copy_mib))
    file = ParquetFile(source, buffer_size=1 << 20, page_checksum_verification=True)
    stack.callback(file.close)
    return file


def _group_begins(file: ParquetFile) -> list[int]:
    """Return the byte at which each row group begins."""
    begins: list[int] = []
    for group in range(file.num_row_groups):
        first = file.metadata.row_group(group).column(0)
        offsets = (
            first.dictionary_page_offset,
            first.data_page_offset,
        )  # 0 or None where a group without rows has none
        begins.append(min((n for n in offsets if n), default=begins[-1] if begins else 0))
    return begins


def _describe(file: ParquetFile) -> dict[str, Any]:
    """Return what an export needs to write such a file: compression of columns, the old form of timestamps."""
    facts: dict[str, Any] = {"version": file.metadata.format_version}
    physical = {file.metadata.schema.column(n).physical_type for n in range(len(file.metadata.schema))}
    facts["int96"] = "INT96" in physical
    if file.num_row_groups:
        group = file.metadata.row_group(0)
        leaves = [group.column(number) for number in range(group.num_columns)]
        facts["compression"] = tuple(f"{leaf.compression} {leaf.path_in_schema}" for leaf in leaves)
    return facts


def _read_groups(file: ParquetFile, piece: InputSlice, maker: RowMaker) -> Iterator[RowRecords]:
    begins = _group_begins(file)
    if not begins:
        yield maker.rows(pa.RecordBatch.from_pylist([], file.schema_arrow))
    ends = [*begins, piece.file.size][1:]
    first_row = 0
    for group, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        num_rows = file.metadata.row_group(group).num_rows
        if begin >= piece.begin and (piece.end is None or begin < piece.end):
            maker.ordinal, maker.offset = first_row, group << _GROUP_SHIFT
            try:
                yield from _read_group(file, group, maker)
            except (pa.ArrowException, OSError) as error:
                expected = f"row group {group} with rows {first_row} to {first_row + num_rows - 1}"
                place = Place(piece.file.name, offset=begin)
                maker.reject(BadRecordError(place, expected=expected, found=str(error), begin=begin, end=end))
        first_row += num_rows


def _read_group(file: ParquetFile, group: int, maker: RowMaker) -> Iterator[RowRecords]:
    about = file.metadata.row_group(group)
    if not about.num_rows:
        yield maker.rows(pa.RecordBatch.from_pylist([], file.schema_arrow), group=group + 1)
        return
    size = max(1, min(BATCH_ROWS, about.num_rows * BATCH_BYTES // max(1, about.total_byte_size)))
    for batch in file.iter_batches(batch_size=size, row_groups=[group], use_threads=False):
        yield maker.rows(batch, group=group + 1)


PARQUET = ParquetSource()
