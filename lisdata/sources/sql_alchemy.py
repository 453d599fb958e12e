"""Databases by URL, through SQLAlchemy: their tables as its inspector tells them, rows in the order of their keys."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lisdata.errors import PlanError
from lisdata.records import ForeignKey
from lisdata.sources.sql_schema import SqlColumn, SqlIndex, SqlKey, SqlTable, TableReadError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Inspector, TableClause

PASSWORD_VARIABLE = "LISDATA_SQL_PASSWORD"
_FETCHED_ROWS = 1 << 13


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """Connect to a database; PlanError where it cannot be read, or the URL, which plans and logs show, has a password.

    The password is the value of the environment variable LISDATA_SQL_PASSWORD, if it is set.
    """
    try:
        import sqlalchemy
    except ImportError as error:
        raise PlanError('databases by URL need SQLAlchemy: pip install "lisdata[sql]"') from error
    try:
        address = sqlalchemy.make_url(url)
        if address.password is not None:
            raise PlanError(
                f"{address.render_as_string()}: expected a URL without a password; set {PASSWORD_VARIABLE} instead"
            )
        if password := os.environ.get(PASSWORD_VARIABLE):
            address = address.set(password=password)
        engine = sqlalchemy.create_engine(address, poolclass=sqlalchemy.NullPool)
        with engine.connect() as connection:
            yield connection.execution_options(stream_results=True)
    except (sqlalchemy.exc.SQLAlchemyError, ImportError) as error:  # no driver for it, for example
        raise PlanError(f"{url}: expected a database that can be read, found {error}") from error


@dataclass(frozen=True, slots=True)
class DatabaseByUrl:
    """A database that is connected to; what it has is read by its dialect."""

    connection: Connection

    def read_tables(self, *, with_views: bool) -> tuple[list[SqlTable], dict[str, int]]:
        """Return the tables as declared, and how many views are left out."""
        from sqlalchemy import inspect

        inspector = inspect(self.connection)
        tables = [_read_table(inspector, name, is_view=False) for name in sorted(inspector.get_table_names())]
        views = sorted(inspector.get_view_names())
        if with_views:
            return tables + [_read_table(inspector, name, is_view=True) for name in views], {}
        return tables, {"views_left_out": len(views)} if views else {}

    def read_facts(self) -> dict[str, Any]:
        """Return nothing: what a server says of a database is not of its tables."""
        return {}

    def count_dangling(self, table: SqlTable, known: Collection[str]) -> int:
        """Return how many keys of a table refer to rows that are not there, or to a table that is not `known`."""
        queries = [_dangling(table, entry.key, known) for entry in table.foreign_keys]
        return sum(int(self.connection.execute(query).scalar_one()) for query in queries)

    def iter_rows(self, table: SqlTable, batch_bytes: int) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
        """Yield (number of the first, rows), in the order of the primary key; without one in the database's own.

        TableReadError where the database fails.
        """
        import sqlalchemy

        source = named_table(table.name, tuple(column.name for column in table.columns))
        wanted = sqlalchemy.select(*source.c).order_by(*(source.c[name] for name in table.primary_key))
        done = 0
        try:
            for rows in self.connection.execute(wanted).partitions(_FETCHED_ROWS):
                yield done, [tuple(row) for row in rows]
                done += len(rows)
        except sqlalchemy.exc.SQLAlchemyError as error:
            raise TableReadError(str(error)) from error


def _read_table(inspector: Inspector, name: str, *, is_view: bool) -> SqlTable:
    columns = tuple(
        SqlColumn(
            name=column["name"],
            declared=_declared(column["type"]),
            not_null=not column["nullable"],
            default=column["default"] if isinstance(column["default"], str) else None,
            generated="computed" in column,
        )
        for column in inspector.get_columns(name)
    )
    if is_view:
        return SqlTable(name=name, columns=columns, is_view=True)
    # Their names, methods and conditions are the database's own; that of a constraint comes with the constraint.
    num_indexes = sum(not entry.get("duplicates_constraint") for entry in inspector.get_indexes(name))
    primary_key = inspector.get_pk_constraint(name)
    return SqlTable(
        name=name,
        columns=columns,
        primary_key=tuple(primary_key["constrained_columns"]),
        primary_key_name=primary_key.get("name"),
        foreign_keys=tuple(_foreign_key(dict(entry)) for entry in inspector.get_foreign_keys(name)),
        indexes=tuple(_unique(dict(entry)) for entry in inspector.get_unique_constraints(name)),
        left_out=(("indexes", num_indexes),) if num_indexes else (),
    )


def _declared(type_: Any) -> str:
    from sqlalchemy.exc import CompileError
    from sqlalchemy.types import NullType

    try:
        return "" if isinstance(type_, NullType) else str(type_)
    except CompileError:
        return ""


def _foreign_key(entry: dict[str, Any]) -> SqlKey:
    key = ForeignKey(
        columns=tuple(entry["constrained_columns"]),
        table=entry["referred_table"],
        references=tuple(entry["referred_columns"]),
    )
    actions = entry.get("options") or {}
    return SqlKey(
        key=key,
        on_update=str(actions.get("onupdate") or "NO ACTION").upper(),
        on_delete=str(actions.get("ondelete") or "NO ACTION").upper(),
        name=entry.get("name"),
    )


def _unique(entry: dict[str, Any]) -> SqlIndex:
    columns = tuple(entry["column_names"])
    return SqlIndex(
        name=entry["name"] or "",
        columns=columns,
        descending=(False,) * len(columns),
        is_unique=True,
        is_constraint=True,
    )


def named_table(table: str, columns: tuple[str, ...]) -> TableClause:
    """Return a table with these columns, all names quoted."""
    import sqlalchemy
    from sqlalchemy.sql.elements import quoted_name

    return sqlalchemy.table(
        quoted_name(table, quote=True), *(sqlalchemy.column(quoted_name(name, quote=True)) for name in columns)
    )


def _dangling(table: SqlTable, key: ForeignKey, known: Collection[str]) -> Any:
    """Return the query for the number of keys that refer to no row."""
    import sqlalchemy

    child = named_table(table.name, key.columns)
    wanted = sqlalchemy.select(sqlalchemy.func.count()).select_from(child)
    wanted = wanted.where(*(column.is_not(None) for column in child.c))
    if key.table not in known:
        return wanted
    parent = named_table(key.table, key.references).alias("referred_to")
    pairs = zip(child.c, parent.c, strict=True)
    rows = sqlalchemy.select(sqlalchemy.literal(1)).select_from(parent).where(*(a == b for a, b in pairs))
    return wanted.where(~rows.correlate(child).exists())
