"""What a table's SQL says comes back in the words that it was said in: types without quotes, constraints by name."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lisdata.conversion import convert
from lisdata.datasets import export
from lisdata.exporters.sqlite_definitions import create_table
from lisdata.registry import ExportReport
from lisdata.sources.sql_constraint_names import ConstraintNames, read_constraint_names
from lisdata.sources.sql_schema import SqlColumn, SqlTable
from lisdata.sources.sql_sqlite import SqliteDatabase

_LISTED = """
ABORT ACTION ADD AFTER ALL ALTER ALWAYS ANALYZE AND AS ASC ATTACH AUTOINCREMENT BEFORE BEGIN BETWEEN BY CASCADE CASE
CAST CHECK COLLATE COLUMN COMMIT CONFLICT CONSTRAINT CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP
DATABASE DEFAULT DEFERRABLE DEFERRED DELETE DESC DETACH DISTINCT DO DROP EACH ELSE END ESCAPE EXCEPT EXCLUDE EXCLUSIVE
EXISTS EXPLAIN FAIL FILTER FIRST FOLLOWING FOR FOREIGN FROM FULL GENERATED GLOB GROUP GROUPS HAVING IF IGNORE
IMMEDIATE IN INDEX INDEXED INITIALLY INNER INSERT INSTEAD INTERSECT INTO IS ISNULL JOIN KEY LAST LEFT LIKE LIMIT MATCH
MATERIALIZED NATURAL NO NOT NOTHING NOTNULL NULL NULLS OF OFFSET ON OR ORDER OTHERS OUTER OVER PARTITION PLAN PRAGMA
PRECEDING PRIMARY QUERY RAISE RANGE RECURSIVE REFERENCES REGEXP REINDEX RELEASE RENAME REPLACE RESTRICT RETURNING
RIGHT ROLLBACK ROW ROWS SAVEPOINT SELECT SET TABLE TEMP TEMPORARY THEN TIES TO TRANSACTION TRIGGER UNBOUNDED UNION
UNIQUE UPDATE USING VACUUM VALUES VIEW VIRTUAL WHEN WHERE WINDOW WITH WITHOUT
"""
KEYWORDS = _LISTED.split()
USUAL = ["INTEGER", "int", "NVARCHAR(160)", "NUMERIC(10,2)", "DECIMAL (10, -5)", "double precision", "UNSIGNED BIG INT"]
WORDS = st.one_of(st.sampled_from(KEYWORDS), st.text("aZ_9 ()+,.'\"", min_size=1, max_size=6))
TYPES = st.one_of(st.sampled_from(USUAL), st.lists(WORDS, min_size=1, max_size=3).map(" ".join))
NAMES = st.text(st.sampled_from("aB \"'(),]-/*"), min_size=1, max_size=4).filter(lambda name: name.isprintable())


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def sql_of(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall())


def walk(path: Path, folder: Path) -> ExportReport:
    convert("sql", path, folder / "data")
    (report,) = export(folder / "data", folder / "back.db")
    return report


def made(path: Path, sql: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(sql)
    return path


def declared_by(sql: str) -> list[Any]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(sql)
        return [row[2:4] for row in connection.execute("PRAGMA table_xinfo(t)")]


@given(TYPES)
@settings(max_examples=300, deadline=None)
@example("GENERATED ALWAYS AS (1)")
@example("ABORT ABORT ALWAYS")
@example("x) ; drop table t; --")
def test_a_type_is_declared_as_it_was_with_or_without_quotes(declared: str) -> None:
    (found,) = declared_by(f"CREATE TABLE t (a {quote(declared)} NOT NULL)")
    table = SqlTable(name="t", columns=(SqlColumn(name="a", declared=found[0], not_null=True),))

    assert declared_by(create_table(table, losses := Counter[str]())) == [found]
    assert not +losses


@pytest.mark.parametrize("declared", USUAL)
def test_usual_types_are_written_without_quotes(declared: str) -> None:
    table = SqlTable(name="t", columns=(SqlColumn(name="a", declared=declared),))

    assert create_table(table, Counter()) == f'CREATE TABLE "t" ("a" {declared}) '


def test_every_keyword_of_sqlite_may_be_a_type() -> None:
    for word in KEYWORDS:
        table = SqlTable(name="t", columns=(SqlColumn(name="a", declared=word),))
        assert declared_by(create_table(table, Counter())) == [(word, 0)], word


@given(names=st.lists(NAMES, min_size=5, max_size=5), columns=st.lists(NAMES, min_size=3, max_size=3))
@settings(max_examples=200, deadline=None)
def test_names_of_constraints_come_back(names: list[str], columns: list[str]) -> None:
    if len({column.lower() for column in columns}) < 3:
        return
    key, one, both, first, second = map(quote, names)
    a, b, c = map(quote, columns)
    sql = (
        f"CREATE TABLE t ({a} INTEGER CONSTRAINT {one} UNIQUE /* CONSTRAINT x */, {b} TEXT DEFAULT 'CONSTRAINT y',"
        f" {c} INT CONSTRAINT {first} REFERENCES t ({a}), -- CONSTRAINT z UNIQUE\n CONSTRAINT {both} UNIQUE ({b}, {c}),"
        f" CONSTRAINT {key} PRIMARY KEY ({c}, {a}) FOREIGN KEY ({b}) REFERENCES t ({a}),"
        f" CONSTRAINT {second} FOREIGN KEY ({a}) REFERENCES t ({a}) ON DELETE CASCADE)"
    )
    lower = [column.lower() for column in columns]
    wanted = ConstraintNames(
        primary_key=names[0],
        unique={(lower[0],): names[1], (lower[1], lower[2]): names[2]},
        foreign_keys={0: names[3], 2: names[4]},
    )

    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(sql)
        ((table,), _) = SqliteDatabase(connection).read_tables(with_views=False)

    assert read_constraint_names(sql) == wanted
    assert read_constraint_names(create_table(table, losses := Counter[str]())) == wanted
    assert not +losses


def test_the_name_of_an_autoincrement_key_comes_back(tmp_path: Path) -> None:
    made(tmp_path / "t.db", "create table t (a integer constraint k primary key autoincrement, b)")

    assert walk(tmp_path / "t.db", tmp_path).losses == {}
    assert 'CONSTRAINT "k" PRIMARY KEY AUTOINCREMENT' in sql_of(tmp_path / "back.db")["t"]


def test_names_that_cannot_come_back_are_counted(tmp_path: Path) -> None:
    made(
        tmp_path / "t.db",
        "create table t (a constraint x not null constraint y default 1, b constraint z unique,"
        " constraint w unique (B))",
    )

    assert walk(tmp_path / "t.db", tmp_path).losses == {"names of constraints": 3}


def test_a_name_without_a_constraint_names_nothing() -> None:
    found = read_constraint_names('create table t (a constraint lost, b unique, "constraint" primary key)')

    assert found == ConstraintNames()


def about(path: Path) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield what the pragmas tell of each table, indexes in their order."""
    with closing(sqlite3.connect(path)) as connection:
        for (table,) in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
        ).fetchall():
            for pragma in ("table_xinfo", "foreign_key_list", "index_list"):
                yield table, pragma, connection.execute(f"PRAGMA {pragma}({quote(table)})").fetchall()


def test_chinook_s_columns_keys_indexes_types_and_names_are_the_same(shared: Path, tmp_path: Path) -> None:
    path = (shared / "data/kg/tables/chinook.sqlite").resolve()
    copy = tmp_path / "chinook.db"
    copy.write_bytes(path.read_bytes())

    report = walk(copy, tmp_path)

    assert report.losses == {}
    assert list(about(tmp_path / "back.db")) == list(about(copy))
    before, after = sql_of(copy), sql_of(tmp_path / "back.db")
    names = {table: read_constraint_names(sql) for table, sql in before.items()}
    assert {table: read_constraint_names(sql) for table, sql in after.items()} == names
    assert names["Album"].primary_key == "PK_Album"
    assert '"Title" NVARCHAR(160) NOT NULL' in after["Album"]
