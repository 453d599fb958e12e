"""SQL databases: all tables with the keys that they declare, rows of exact typed cells."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import orjson
import pyarrow as pa

from lisdata.errors import BadRecordError, Place, SchemaError
from lisdata.inputs import InputSlice
from lisdata.records import RowRecords, TableSchema
from lisdata.registry import Reject
from lisdata.sources.arrow_rows import BATCH_BYTES, bad_file, row_ends
from lisdata.sources.namespaces import NAMESPACE_HELP, check_namespace
from lisdata.sources.random_access import MAX_COPY_MIB, local_path
from lisdata.sources.sql_cells import spell_column
from lisdata.sources.sql_schema import SqlTable, TableReadError, referenced_columns, resolve_keys
from lisdata.sources.sql_sqlite import SqliteDatabase, UndecodableText, find_cut, find_unfinished, open_sqlite
from lisdata.sources.sql_urls import is_database, register

register()  # so that a run finds databases among its inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlOptions:
    """Options of source sql."""

    table: tuple[str, ...] = field(default=(), metadata={"help": "Only this table; all of them by default."})
    views: bool = field(default=False, metadata={"help": "Read views as well: their SQL is run."})
    namespace: str | None = field(default=None, metadata={"help": NAMESPACE_HELP})
    max_copy_mib: int = field(
        default=MAX_COPY_MIB, metadata={"help": "Largest temporary copy of a file that is compressed or remote."}
    )

    def __post_init__(self) -> None:
        check_namespace(self.namespace)


@dataclass(frozen=True, slots=True)
class SqlSource:
    """Reads SQLite's files, never writing to them, and other databases by URL (postgresql://host/name) by SQLAlchemy.

    A cell has the type that it is stored as (integer, number, text, bytes), whatever its column declares; text in a
    column of dates or times that is spelled so has that type.
    """

    name: str = "sql"
    summary: str = "SQL databases (SQLite files, others by URL): all tables with their keys, exact typed cells, NULLs"
    suffixes: tuple[str, ...] = (".sqlite", ".sqlite3", ".db", ".db3")
    converter: str = "tables"
    exporter: str = "sqlite"
    splits: bool = False
    options_type: type[SqlOptions] = SqlOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: SqlOptions) -> int:
        """Raise ValueError: a database is never cut."""
        raise ValueError(f"a database is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: SqlOptions, reject: Reject) -> Iterator[RowRecords]:
        """Yield the rows of one table after another.

        A row with text that is not UTF-8 is a bad record; so is the rest of a table that is damaged, and a file that
        is no database, or only a part of one.
        """
        if is_database(piece.file.path):
            from lisdata.sources.sql_alchemy import DatabaseByUrl, connected

            with connected(piece.file.path) as by_url:
                yield from _DatabaseReader(piece, options, reject, DatabaseByUrl(by_url)).read()
            return
        with local_path(piece.file, options.max_copy_mib) as path:
            unfinished = find_unfinished(path)
            if unfinished is not None:
                reject(bad_file(piece, "a database that no program is writing to", unfinished))
                return
            try:
                connection = open_sqlite(path)
            except sqlite3.Error as error:
                reject(bad_file(piece, "an SQLite database", str(error)))
                return
            with closing(connection):
                cut = find_cut(path)
                if cut is not None:
                    reject(bad_file(piece, "a whole SQLite database", cut))
                    return
                yield from _DatabaseReader(piece, options, reject, SqliteDatabase(connection)).read()


class Database(Protocol):
    """A database whose tables can be read."""

    def read_tables(self, *, with_views: bool) -> tuple[list[SqlTable], dict[str, int]]:
        """Return the tables as declared, and what else there is, by name, counted."""

    def read_facts(self) -> dict[str, Any]:
        """Return what is kept of it beside its tables."""

    def count_dangling(self, table: SqlTable, known: Collection[str]) -> int:
        """Return how many keys of a table refer to rows that are not there."""

    def iter_rows(self, table: SqlTable, batch_bytes: int) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
        """Yield (number of the first, rows); TableReadError where they cannot be read."""


@dataclass(slots=True)
class _DatabaseReader:
    """Reads tables; rows are numbered through the whole database."""

    piece: InputSlice
    options: SqlOptions
    reject: Reject
    database: Database
    others: dict[str, int] = field(default_factory=dict)
    ordinal: int = 0
    offset: int = 0

    def read(self) -> Iterator[RowRecords]:
        """Yield the rows of the tables that were asked for."""
        declared, self.others = self.database.read_tables(with_views=self.options.views)
        tables = resolve_keys(declared)
        definitions = {table.name: table.to_json() for table in declared}
        counts, facts = dict(self.others), self.database.read_facts()
        if not tables and self.others and not self.options.table:
            self._reject_without_tables()
        for table in _choose(tables, self.options.table, self.piece.file.name):
            counts["dangling_foreign_keys"] = self.database.count_dangling(table, definitions)
            schema = table.schema(referenced_columns(tables, table.name), namespace=self.options.namespace)
            maker = _TableRows(table, schema, definitions[table.name], facts)
            yield from self._read_table(maker, counts)
            counts = {}

    def _reject_without_tables(self) -> None:
        """Reject a database of which all is left out: there is no record that could carry the counts."""
        found = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(self.others.items()))
        size = max(self.piece.file.size, 0)
        place = Place(self.piece.file.name)
        expected = "a table (--views reads views as well)"
        self.reject(BadRecordError(place, expected=expected, found=found, begin=0, end=size))

    def _read_table(self, maker: _TableRows, counts: dict[str, int]) -> Iterator[RowRecords]:
        maker.facts["left_out"] = tuple(f"{count} {name}" for name, count in sorted(self.others.items()))
        table = maker.table
        first = 0
        try:
            for begin, rows in self.database.iter_rows(table, BATCH_BYTES):
                yield self._records(maker, begin, rows, {} if begin else counts)
                first = begin + len(rows)
            if not first:
                yield self._records(maker, 0, [], counts)
        except TableReadError as error:
            place = Place(f"{self.piece.file.name}[{table.name}]", line=first + 1)
            data = orjson.dumps({"table": table.name, "first_row": first}, option=orjson.OPT_APPEND_NEWLINE)
            expected = "rows that can be read"
            self.reject(BadRecordError(place, expected=expected, found=str(error), begin=0, end=0, data=data))

    def _records(
        self, maker: _TableRows, first: int, rows: list[tuple[Any, ...]], counts: dict[str, int]
    ) -> RowRecords:
        kept = self._decodable(maker.table, first, rows)
        numbers = np.array(kept, np.int64) + self.ordinal
        self.ordinal += len(rows)
        cells, types = maker.cells(rows if len(kept) == len(rows) else [rows[row] for row in kept])
        end = row_ends(cells, self.offset)
        start, self.offset = self.offset, int(end[-1]) if len(end) else self.offset + 1
        return RowRecords(
            file=self.piece.file,
            table=maker.schema,
            cells=pa.RecordBatch.from_arrays(cells, names=list(maker.schema.columns)),
            ordinal=numbers.astype(np.uint64),
            begin=np.concatenate(([start], end[:-1])).astype(np.uint64)[: len(end)],
            end=end,
            dialect={"begin": start, "end": start, **maker.facts},
            cell_types=types,
            counts=counts,
        )

    def _decodable(self, table: SqlTable, first: int, rows: list[tuple[Any, ...]]) -> list[int]:
        """Return the rows whose texts are all UTF-8; the others are rejected."""
        kept: list[int] = []
        for number, row in enumerate(rows):
            bad = next((column for column, value in enumerate(row) if type(value) is UndecodableText), None)
            if bad is None:
                kept.append(number)
                continue
            place = Place(f"{self.piece.file.name}[{table.name}]", line=first + number + 1)
            expected = f"text in UTF-8 in column {table.columns[bad].name!r}"
            self.reject(
                BadRecordError(
                    place, expected=expected, found=repr(row[bad].data[:40]), begin=0, end=0, data=_shown(row)
                )
            )
        return kept


class _TableRows:
    """Spells the rows of one table."""

    def __init__(self, table: SqlTable, schema: TableSchema, definition: str, facts: dict[str, Any]) -> None:
        self.table, self.schema = table, schema
        self.facts: dict[str, Any] = {"format": "sql", "definition": definition, "type": schema.types, **facts}

    def cells(self, rows: list[tuple[Any, ...]]) -> tuple[list[pa.Array], dict[str, pa.DictionaryArray]]:
        """Return the texts of each column, and the types of cells where these are not the column's."""
        columns = list(zip(*rows, strict=True)) or [()] * len(self.table.columns)
        cells: list[pa.Array] = []
        types: dict[str, pa.DictionaryArray] = {}
        for values, column, usual in zip(columns, self.table.columns, self.schema.types, strict=True):
            texts, of_cells = spell_column(values, usual, column.time_type)
            cells.append(texts)
            if of_cells is not None:
                types[column.name] = of_cells
        return cells, types


def _choose(tables: Sequence[SqlTable], names: tuple[str, ...], file_name: str) -> Sequence[SqlTable]:
    known = {table.name.lower(): table for table in tables}
    for name in names:
        if name.lower() not in known:
            has = ", ".join(table.name for table in tables)
            raise SchemaError(f"{file_name}: expected one of the tables {has or '(none)'}, found {name!r}")
    return [known[name.lower()] for name in names] if names else tables


def _shown(row: tuple[Any, ...]) -> bytes:
    """Return a row as JSON, bytes in hexadecimal."""
    values = [
        {"hex": value.data.hex() if isinstance(value, UndecodableText) else value.hex()}
        if isinstance(value, UndecodableText | bytes)
        else value
        for value in row
    ]
    return orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE)


SQL = SqlSource()
