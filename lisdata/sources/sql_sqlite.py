"""SQLite's files: tables with their keys from its own pragmas, rows in their order; opened for reading only."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lisdata.records import ForeignKey
from lisdata.sources.sql_constraint_names import QUOTED, ConstraintNames, read_constraint_names
from lisdata.sources.sql_schema import SqlColumn, SqlIndex, SqlKey, SqlTable, TableReadError

_MAX_ROWS = 1 << 15
_HEADER_BYTES = 100
_ROWID_NAMES = ("rowid", "_rowid_", "oid")
_VIRTUAL_COLUMN = 1
NUMBERS = ("user_version", "application_id")
"""What a program may have noted in the file, 0 where it has not."""
# Words of a table's SQL that say what is not kept; texts and names are blanked before they are looked for.
_LEFT_OUT = {
    "CHECK constraints": r"\bCHECK\s*\(",
    "collations": r"\bCOLLATE\b",
    "conflict clauses": r"\bON\s+CONFLICT\b",
    "deferred foreign keys": r"(?<!NOT\s)\bDEFERRABLE\s+INITIALLY\s+DEFERRED\b",
}


def open_sqlite(path: str) -> sqlite3.Connection:
    """Open a database file for reading, as a file that nobody changes; sqlite3.DatabaseError where it is none."""
    connection = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def find_unfinished(path: str) -> str | None:
    """Return what says that the file alone is not the whole database: a log that a program has left beside it."""
    for suffix, name in (("-wal", "write-ahead log"), ("-journal", "rollback journal")):
        beside = Path(path + suffix)
        if beside.is_file() and (size := beside.stat().st_size):
            return f"a {name} of {size} bytes beside it"
    return None


def find_cut(path: str) -> str | None:
    """Return what says that bytes of a database file are missing: SQLite reads NULL where a page is cut."""
    size = Path(path).stat().st_size
    with Path(path).open("rb") as stream:
        header = stream.read(_HEADER_BYTES)
    if not size:
        return None  # a database without tables
    if len(header) < _HEADER_BYTES:
        return f"{size} bytes, less than its header has"
    page_bytes = int.from_bytes(header[16:18], "big")
    page_bytes = 1 << 16 if page_bytes == 1 else page_bytes
    if not page_bytes or size % page_bytes:
        return f"{size} bytes, no whole number of its pages of {page_bytes}"
    num_pages = int.from_bytes(header[28:32], "big")
    is_counted = header[24:28] == header[92:96]  # old programs change the file and leave the count as it is
    if is_counted and num_pages * page_bytes > size:
        return f"{size // page_bytes} pages, fewer than the {num_pages} that its header counts"
    return None


def quote_name(name: str) -> str:
    """Return an identifier as SQL."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class UndecodableText:
    """A text cell that is not UTF-8."""

    data: bytes


@dataclass(frozen=True, slots=True)
class SqliteDatabase:
    """An SQLite database that is open."""

    connection: sqlite3.Connection

    def read_tables(self, *, with_views: bool) -> tuple[list[SqlTable], dict[str, int]]:
        """Return the tables as declared (foreign keys unresolved), and what else there is, by name, counted."""
        wanted = ("table", "view") if with_views else ("table",)
        tables: list[SqlTable] = []
        others: Counter[str] = Counter()
        listed = self.connection.execute("PRAGMA main.table_list").fetchall()
        for _, name, kind, _, without_rowid, is_strict in sorted(listed, key=lambda row: str(row[1])):
            if name.lower().startswith("sqlite_"):
                continue
            if kind in wanted:
                table = _read_table(self.connection, name, is_view=kind == "view")
                tables.append(replace(table, without_rowid=bool(without_rowid), is_strict=bool(is_strict)))
            else:
                others[f"{kind}{'_tables' if kind in ('shadow', 'virtual') else 's'}_left_out"] += 1
        (num_triggers,) = self.connection.execute(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'"
        ).fetchone()
        others["triggers_left_out"] += num_triggers
        return tables, dict(+others)

    def read_facts(self) -> dict[str, Any]:
        """Return what the file says beside its tables: numbers of the program's own, an encoding that is not UTF-8."""
        names = (*NUMBERS, "encoding")
        found = {name: self.connection.execute(f"PRAGMA main.{name}").fetchone()[0] for name in names}
        encoding = found.pop("encoding")
        return {**found, "text_encoding": None if encoding == "UTF-8" else encoding}

    def count_dangling(self, table: SqlTable, known: Collection[str]) -> int:
        """Return how many keys of a table refer to rows that are not there; one that names no key refers to none."""
        if not table.foreign_keys:
            return 0
        try:
            return sum(1 for _ in self.connection.execute(f"PRAGMA main.foreign_key_check({quote_name(table.name)})"))
        except sqlite3.OperationalError:  # "foreign key mismatch": nothing can be compared
            return 0

    def iter_rows(self, table: SqlTable, batch_bytes: int) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
        """Yield (number of the first, rows) of about `batch_bytes`, in the order of their keys or row ids.

        A text that is not UTF-8 is an UndecodableText. TableReadError where the file is damaged.
        """
        done = 0
        for text_factory in (str, _decode):  # the second time from the row on that could not be decoded
            self.connection.text_factory = text_factory
            try:
                for rows in _fetch(self.connection.execute(f"{_select(table)} LIMIT -1 OFFSET {done}"), batch_bytes):
                    yield done, rows
                    done += len(rows)
            except sqlite3.DatabaseError as error:
                if text_factory is str and "decode" in str(error).lower():
                    continue
                raise TableReadError(str(error)) from error
            return


# -- schema ------------------------------------------------------------------------------------------------------------


def _read_table(connection: sqlite3.Connection, name: str, *, is_view: bool) -> SqlTable:
    columns: list[SqlColumn] = []
    in_key: list[tuple[int, str]] = []
    for _, column, declared, not_null, default, place, hidden in _pragma(connection, "table_xinfo", name):
        if hidden == _VIRTUAL_COLUMN:
            continue
        columns.append(
            SqlColumn(
                name=column,
                declared=re.sub(r"\s*GENERATED ALWAYS\s*$", "", declared, flags=re.IGNORECASE),
                not_null=bool(not_null),
                default=default,
                generated=hidden > _VIRTUAL_COLUMN,
            )
        )
        in_key += [(place, column)] if place else []
    (sql,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    words, names = QUOTED.sub(" ", sql or ""), read_constraint_names("" if is_view else sql)
    indexes, others = _read_indexes(connection, name, names)
    found = {what: len(re.findall(pattern, words, re.IGNORECASE)) for what, pattern in _LEFT_OUT.items()}
    found["collations"] += _count_index_collations(connection, name)
    found |= {**others, "generated columns": sum(column.generated for column in columns)}
    found["names of constraints"] = names.num_others
    return SqlTable(
        name=name,
        columns=tuple(columns),
        primary_key=tuple(column for _, column in sorted(in_key)),
        primary_key_name=names.primary_key,
        foreign_keys=_read_foreign_keys(connection, name, names),
        indexes=indexes,
        autoincrement=bool(re.search(r"\bAUTOINCREMENT\b", words, re.IGNORECASE)),
        is_view=is_view,
        left_out=tuple((what, count) for what, count in found.items() if count),
    )


def _read_foreign_keys(connection: sqlite3.Connection, name: str, names: ConstraintNames) -> tuple[SqlKey, ...]:
    keys: dict[int, list[tuple[Any, ...]]] = {}
    for number, *row in _pragma(connection, "foreign_key_list", name):
        keys.setdefault(number, []).append(tuple(row))
    found: list[SqlKey] = []
    for _, rows in sorted(keys.items(), reverse=True):  # SQLite lists the last one first
        rows.sort()
        _, table, _, _, on_update, on_delete, _ = rows[0]
        references = tuple(row[3] for row in rows if row[3] is not None)
        key = ForeignKey(columns=tuple(row[2] for row in rows), table=table, references=references)
        own_name = names.foreign_keys.get(len(found))
        found.append(SqlKey(key=key, on_update=on_update, on_delete=on_delete, name=own_name))
    return tuple(found)


def _read_indexes(
    connection: sqlite3.Connection, name: str, names: ConstraintNames
) -> tuple[tuple[SqlIndex, ...], dict[str, int]]:
    """Return the indexes of plain columns, as they were made, and how many of others there are.

    That of the primary key is none of them.

    An index of some of the rows is a partial one, whatever its columns are.
    """
    indexes: list[SqlIndex] = []
    others = {"partial indexes": 0, "indexes of expressions": 0}
    for _, index, is_unique, origin, is_partial in reversed(_pragma(connection, "index_list", name)):
        if origin == "pk":
            continue
        columns = [row for row in _pragma(connection, "index_xinfo", index) if row[5]]
        if is_partial or any(row[2] is None for row in columns):
            others["partial indexes" if is_partial else "indexes of expressions"] += 1
            continue
        named = tuple(row[2] for row in columns)
        indexes.append(
            SqlIndex(
                name=names.unique.get(tuple(map(str.lower, named)), "") if origin == "u" else index,
                columns=named,
                descending=tuple(bool(row[3]) for row in columns),
                is_unique=bool(is_unique),
                is_constraint=origin == "u",
            )
        )
    return tuple(indexes), others


def _count_index_collations(connection: sqlite3.Connection, table: str) -> int:
    """Return how often indexes of a table name a collation of their own."""
    query = "SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"
    texts = [QUOTED.sub(" ", sql) for (sql,) in connection.execute(query, (table,))]
    return sum(len(re.findall(_LEFT_OUT["collations"], text, re.IGNORECASE)) for text in texts)


def _pragma(connection: sqlite3.Connection, pragma: str, name: str) -> list[tuple[Any, ...]]:
    return connection.execute(f"PRAGMA main.{pragma}({quote_name(name)})").fetchall()


# -- rows --------------------------------------------------------------------------------------------------------------


def _decode(data: bytes) -> str | UndecodableText:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return UndecodableText(data)


def _select(table: SqlTable) -> str:
    names = ", ".join(quote_name(column.name) for column in table.columns)
    if table.is_view:
        return f"SELECT {names} FROM main.{quote_name(table.name)}"
    taken = {column.name.lower() for column in table.columns}
    order: Iterable[str] = [name for name in _ROWID_NAMES if name not in taken][:1]
    if table.without_rowid:
        order = map(quote_name, table.primary_key)
    ordered = ", ".join(order)
    order_by = f" ORDER BY {ordered}" if ordered else ""
    return f"SELECT {names} FROM main.{quote_name(table.name)} NOT INDEXED{order_by}"


def _fetch(cursor: Any, batch_bytes: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield rows in batches whose number follows the size of the batch before."""
    size = 64
    while rows := cursor.fetchmany(size):
        yield rows
        found = sum(map(_size_of, rows[:: max(1, len(rows) // 64)])) * max(1, len(rows) // 64)
        size = max(1, min(_MAX_ROWS, size * 8, len(rows) * batch_bytes // max(1, found)))


def _size_of(row: tuple[Any, ...]) -> int:
    return sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
