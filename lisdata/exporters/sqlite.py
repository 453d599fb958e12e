"""Rows of tables back to an SQLite database: declared types, keys, indexes, cells with their types and NULLs."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.errors import ExportError
from lisdata.exporters.conversion_losses import REJECTED, is_left_out
from lisdata.exporters.row_columns import RowColumns, TypedCells, iter_row_blocks
from lisdata.exporters.sqlite_definitions import create_indexes, create_table
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.sql_schema import SqlColumn, SqlTable
from lisdata.sources.sql_sqlite import NUMBERS, quote_name

_INT64 = range(-(2**63), 2**63)
_ENCODINGS = ("UTF-16le", "UTF-16be")


@dataclass(frozen=True, slots=True)
class SqliteExporter:
    """Writes one database for each input; tables of a source without declarations have columns without types.

    No SQL of the input is run: tables are made from their names, types and keys. Losses are what these do not say
    (CHECK constraints, collations, partial indexes, deferred keys, computed defaults, triggers, views), and values that
    SQLite has not.
    """

    name: str = "sqlite"
    summary: str = "SQLite databases"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the rows that came from `files`."""
        suffix = "" if all(info.source == "sql" for info in files) else ".sqlite"
        paths = target_paths(target, files, dataset.inputs, suffix=suffix)
        losses: Counter[str] = Counter()
        written: list[Path] = []
        num_records = 0
        for info, path in zip(files, paths, strict=True):
            losses[REJECTED] += info.records.get("rejected", 0)
            if is_left_out(dataset, info):
                continue
            with replacing(path) as stream, closing(sqlite3.connect(stream.name, isolation_level=None)) as connection:
                num_records += _write_database(connection, dataset, info, losses)
            written.append(path)
        return ExportReport(files=tuple(written), num_records=num_records, losses=dict(+losses))


def _write_database(
    connection: sqlite3.Connection, dataset: IncidenceDataset, info: InputInfo, losses: Counter[str]
) -> int:
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "foreign_keys = OFF"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("BEGIN")
    tables: dict[str, SqlTable] = {}
    num_rows = 0
    facts: dict[str, list[str]] | None = None
    try:
        for columns, rows in iter_row_blocks(dataset, info.index):
            if columns.dialects(rows)[0]:
                facts = columns.facts(int(rows[0]))
                if facts["table"][0] not in tables:
                    if not tables:
                        losses.update(_left_out(facts))
                        _write_facts(connection, facts)
                    table = tables[facts["table"][0]] = _table_of(facts)
                    connection.execute(create_table(table, losses))
                continue
            if facts is None:
                raise ExportError(
                    f"{info.name}: expected a structure that tells the columns before the rows, found none"
                )
            num_rows += _insert(connection, columns, rows, facts, losses)
        for table in tables.values():
            for statement in create_indexes(table):
                connection.execute(statement)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise ExportError(f"{info.name}: expected a table that SQLite can hold, found {error}") from error
    return num_rows


def _table_of(facts: dict[str, list[str]]) -> SqlTable:
    if "definition" in facts:
        return SqlTable.from_json(facts["definition"][0])
    return SqlTable(name=facts["table"][0], columns=tuple(SqlColumn(name=name) for name in facts["column"]))


def _write_facts(connection: sqlite3.Connection, facts: dict[str, list[str]]) -> None:
    """Write what the file says beside its tables; its encoding, as long as there are none."""
    for encoding in _ENCODINGS:
        if facts.get("text_encoding") == [encoding]:
            connection.execute(f"PRAGMA encoding = '{encoding}'")
    for name in NUMBERS:
        if name in facts:
            connection.execute(f"PRAGMA {name} = {int(facts[name][0])}")


def _left_out(facts: dict[str, list[str]]) -> dict[str, int]:
    counted = (text.split(" ", 1) for text in facts.get("left_out", ()))
    return {name.replace("_", " "): int(count) for count, name in counted}


def _insert(
    connection: sqlite3.Connection,
    columns: RowColumns,
    rows: np.ndarray[Any, Any],
    facts: dict[str, list[str]],
    losses: Counter[str],
) -> int:
    usual = facts.get("type", ["string"] * len(facts["column"]))
    values = [_values(cells, losses) for cells in columns.typed_cells(rows, facts["column"], usual)]
    places = ", ".join("?" * len(values))
    names = ", ".join(map(quote_name, facts["column"]))
    statement = f"INSERT INTO {quote_name(facts['table'][0])} ({names}) VALUES ({places})"
    connection.executemany(statement, zip(*values, strict=True))
    return len(values[0])


def _values(cells: TypedCells, losses: Counter[str]) -> list[Any]:
    """Return cells as SQLite's values, in one step where all are of one type."""
    present = np.unique(cells.types[np.asarray(cells.texts.is_valid())]).tolist()
    if len(present) > 1:
        texts, types = cells.texts.to_pylist(), cells.types.tolist()
        return [
            None if text is None else _value(text, cells.names[type_], losses)
            for text, type_ in zip(texts, types, strict=True)
        ]
    name = cells.names[present[0]] if present else "string"
    try:
        if name == "integer":
            return cells.texts.cast(pa.large_string()).cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]
        if name == "number":
            numbers = cells.texts.cast(pa.large_string()).cast(pa.float64())
            if not pc.any(pc.is_nan(numbers)).as_py():
                return numbers.to_pylist()  # type: ignore[no-any-return]
    except pa.ArrowInvalid:  # a number of another source, beyond 64 bits
        return [None if text is None else _value(text, name, losses) for text in cells.texts.to_pylist()]
    if name == "number":
        return [None if text is None else _value(text, name, losses) for text in cells.texts.to_pylist()]
    texts = cells.texts if name == "binary" else cells.texts.cast(pa.large_string())
    return texts.to_pylist()  # type: ignore[no-any-return]


def _value(text: bytes, type_: str, losses: Counter[str]) -> Any:
    if type_ == "binary":
        return text
    read = _READ.get(type_)
    if read is not None:
        try:
            value = read(text)
        except ValueError:
            value = None
        if value is not None and value == value and (type_ != "integer" or value in _INT64):  # SQLite has no NaN
            return value
        losses["numbers written as text"] += 1
    return text.decode()


_READ: dict[str, Callable[[bytes], Any]] = {"integer": int, "number": float}

SQLITE = SqliteExporter()
