"""Batches of Arrow tables as rows: exact cells, what the schema says, and the rows that are no valid data."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.errors import BadRecordError, Place, SchemaError
from lisdata.inputs import MEBIBYTE, InputFile, InputSlice
from lisdata.records import RowRecords, TableSchema
from lisdata.registry import Reject
from lisdata.sources.arrow_cells import check_type, spell_cells, type_name
from lisdata.sources.delimited import parse_foreign_key
from lisdata.sources.namespaces import NAMESPACE_HELP, check_namespace
from lisdata.sources.random_access import MAX_COPY_MIB

BATCH_BYTES = 8 * MEBIBYTE
BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnarOptions:
    """Options of sources whose files say what columns are, but not which are keys."""

    table: str | None = field(default=None, metadata={"help": "Name of the table; the file's name by default."})
    primary_key: tuple[str, ...] = field(default=(), metadata={"help": "Columns of the primary key."})
    foreign_key: tuple[str, ...] = field(
        default=(), metadata={"help": "Foreign keys: column=Table.column, a+b=Table.x+y for composite ones."}
    )
    namespace: str | None = field(default=None, metadata={"help": NAMESPACE_HELP})
    max_copy_mib: int = field(
        default=MAX_COPY_MIB, metadata={"help": "Largest temporary copy of a file that is compressed or remote."}
    )

    def __post_init__(self) -> None:
        if self.max_copy_mib < 1:
            raise ValueError(f"expected a copy of at least 1 MiB, got {self.max_copy_mib=}")
        for declared in self.foreign_key:
            parse_foreign_key(declared)
        check_namespace(self.namespace)


def table_of(schema: pa.Schema, file: InputFile, options: ColumnarOptions) -> TableSchema:
    """Return the table that a file of this schema holds; SchemaError for columns or keys that cannot be."""
    names = schema.names
    for number, name in enumerate(names):
        if name in names[:number]:
            raise SchemaError(f"expected each column name once, found {name!r} again")
        check_type(schema.field(number).type)
    if not names:
        raise SchemaError("expected at least one column, found none")
    table = options.table or PurePosixPath(file.name).name.split(".")[0] or file.name
    keys = tuple(map(parse_foreign_key, options.foreign_key))
    for column in (*options.primary_key, *(column for key in keys for column in key.columns)):
        if column not in names:
            raise SchemaError(f"{file.name}: expected keys of columns {', '.join(names)}, found {column!r}")
    return TableSchema(
        name=table,
        columns=tuple(names),
        types=tuple(type_name(column.type) for column in schema),
        primary_key=options.primary_key,
        foreign_keys=keys,
        namespace=options.namespace,
    )


def schema_text(schema: pa.Schema) -> str:
    """Return a schema, metadata included, as text (base64 of Arrow's own form)."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def schema_from_text(text: str) -> pa.Schema:
    """Undo `schema_text`."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


@dataclass(slots=True, kw_only=True)
class RowMaker:
    """Makes rows of batches, one after another; `ordinal` and `offset` say where the next batch begins."""

    file: InputFile
    table: TableSchema
    facts: dict[str, Any]
    reject: Reject
    ordinal: int = 0
    offset: int = 0

    def rows(self, batch: pa.RecordBatch, **facts: Any) -> RowRecords:
        """Return the rows of a batch but for those that are no valid data, which are rejected."""
        numbers = np.arange(batch.num_rows) + self.ordinal
        self.ordinal += batch.num_rows
        valid = self._valid_rows(batch, numbers)
        if len(valid) < batch.num_rows:
            batch, numbers = batch.take(pa.array(valid, pa.int64())), numbers[valid]
        cells = [spell_cells(column) for column in batch.columns]
        end = row_ends(cells, self.offset)
        begin = np.concatenate(([self.offset], end[:-1])).astype(np.uint64)[: len(end)]
        start = self.offset
        self.offset = int(end[-1]) if len(end) else start + 1  # so that no two batches begin at one offset
        return RowRecords(
            file=self.file,
            table=self.table,
            cells=pa.RecordBatch.from_arrays(cells, names=list(self.table.columns)),
            ordinal=numbers.astype(np.uint64),
            begin=begin,
            end=end,
            dialect={"begin": start, "end": start, **self.facts, **facts},
        )

    def _valid_rows(self, batch: pa.RecordBatch, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the rows that are valid, such as text in UTF-8; most batches are so as a whole."""
        if is_valid(batch):
            return np.arange(batch.num_rows)
        valid = np.array([is_valid(batch.slice(row, 1)) for row in range(batch.num_rows)], bool)
        for row in np.flatnonzero(~valid).tolist():
            place = Place(f"{self.file.name}[{self.table.name}]", line=int(numbers[row]) + 1)
            bad = next(n for n, column in enumerate(batch.columns) if not is_valid_column(column.slice(row, 1)))
            expected = f"a valid {batch.schema.field(bad).type} in column {batch.schema.field(bad).name!r}"
            data = orjson.dumps({"row": int(numbers[row])}, option=orjson.OPT_APPEND_NEWLINE)
            self.reject(BadRecordError(place, expected=expected, found="other bytes", begin=0, end=0, data=data))
        return np.flatnonzero(valid)


def bad_file(piece: InputSlice, expected: str, found: str) -> BadRecordError:
    """Return what says that a whole file cannot be read."""
    end = piece.file.size
    if piece.file.compression is not None:
        end = sum(len(block) for _, block in InputSlice(file=piece.file).chunks())
    return BadRecordError(Place(piece.file.name, offset=0), expected=expected, found=found, begin=0, end=end)


def is_valid(batch: pa.RecordBatch) -> bool:
    """Tell whether all values of a batch are valid: text in UTF-8, numbers and indices in their range."""
    return all(map(is_valid_column, batch.columns))


def is_valid_column(column: pa.Array) -> bool:
    """Tell whether all values of a column are valid."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def row_ends(cells: list[pa.Array], offset: int) -> npt.NDArray[np.uint64]:
    """Return where each row ends when its cells' texts, each with a separator, are written one after another."""
    sizes = np.full(len(cells[0]), len(cells), np.int64)
    for column in cells:
        sizes += np.asarray(pc.binary_length(column).fill_null(0))
    return (np.cumsum(sizes) + offset).astype(np.uint64)


def iter_slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield a batch in pieces of about BATCH_BYTES; a batch without rows as it is."""
    size = max(1, min(BATCH_ROWS, batch.num_rows * BATCH_BYTES // max(1, batch.get_total_buffer_size())))
    for begin in range(0, max(1, batch.num_rows), size):
        yield batch.slice(begin, size)
