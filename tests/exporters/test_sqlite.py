from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.conversion import convert
from lisdata.datasets import export, verify
from lisdata.errors import ExportError
from lisdata.exporters.sqlite import SQLITE
from lisdata.registry import ExportReport, load_exporter
from lisdata.sources.sql_schema import SqlColumn, SqlTable

NAMES = st.text(st.sampled_from("ab \"'#%:é;.]"), min_size=1, max_size=4)
VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0, 1, 2**53 + 1]),
    st.floats(allow_nan=False),
    st.sampled_from([1.0, -0.0, 1e15, float("inf")]),
    st.text(st.characters(codec="utf-8"), max_size=4),
    st.sampled_from(["", "1", "1.0", "2024-02-01", "NULL", str(2**64 + 1)]),
    st.binary(max_size=4),
)
DECLARED = st.sampled_from(["", "INTEGER", "VARCHAR(9)", "REAL", "NUMERIC(9,2)", "BLOB", "DATETIME", "boolean", 'o"dd'])


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def dump(path: Path) -> dict[str, Any]:
    """Return what a database holds: columns, keys and indexes of each table, its cells with their storage classes."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    found: dict[str, Any] = {}
    listed = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    for (name,) in connection.execute(listed).fetchall():
        pragmas = ("table_xinfo", "foreign_key_list", "table_list")
        about: Any = {p: connection.execute(f"PRAGMA {p}({quote(name)})").fetchall() for p in pragmas}
        cells = ", ".join(f"{quote(c[1])}, typeof({quote(c[1])})" for c in about["table_xinfo"])
        indexes = connection.execute(f"PRAGMA index_list({quote(name)})").fetchall()
        columns = [connection.execute(f"PRAGMA index_xinfo({quote(i[1])})").fetchall() for i in indexes]
        about["indexes"] = sorted((repr(i[2:]), repr(c)) for i, c in zip(indexes, columns, strict=True))
        about["cells"] = list(map(repr, connection.execute(f"SELECT {cells} FROM {quote(name)} NOT INDEXED")))
        found[name] = about
    connection.close()
    return found


def walk(path: Path, folder: Path, **options: Any) -> ExportReport:
    convert("sql", path, folder / "data", options=options)
    assert not verify(folder / "data").problems
    (report,) = export(folder / "data", folder / "back.db")
    return report


def test_it_is_registered() -> None:
    assert load_exporter("sqlite") is SQLITE


@settings(max_examples=40, deadline=None)
@given(
    columns=st.lists(st.tuples(NAMES, DECLARED), min_size=1, max_size=4, unique_by=lambda c: c[0].lower()),
    rows=st.lists(st.lists(VALUES, min_size=4, max_size=4), max_size=6),
    has_key=st.booleans(),
)
def test_any_cells_come_back_with_their_storage_classes(
    tmp_path_factory: pytest.TempPathFactory, columns: list[tuple[str, str]], rows: list[list[Any]], has_key: bool
) -> None:
    folder = tmp_path_factory.mktemp("sqlite")
    connection = sqlite3.connect(folder / "t.db")
    parts = [f"{quote(name)} {quote(declared) if declared else ''}" for name, declared in columns]
    key = f", PRIMARY KEY ({quote(columns[0][0])})" if has_key else ""
    connection.execute(f"CREATE TABLE {quote(columns[-1][0])} ({', '.join(parts)}{key})")
    places = ", ".join("?" * len(columns))
    insert = f"INSERT OR IGNORE INTO {quote(columns[-1][0])} VALUES ({places})"
    if not has_key or columns[0][1] != "INTEGER":
        connection.executemany(insert, [row[: len(columns)] for row in rows])
    connection.commit()
    connection.close()

    report = walk(folder / "t.db", folder)

    assert dump(folder / "back.db") == dump(folder / "t.db")
    assert report.losses == {}


def test_chinook_comes_back_with_tables_types_keys_indexes_and_cells(shared: Path, tmp_path: Path) -> None:
    path = shared / "data/kg/tables/chinook.sqlite"

    report = walk(path.resolve(), tmp_path)

    assert report.losses == {}
    assert report.num_records == 15_607
    assert dump(tmp_path / "back.db") == dump(path.resolve())


SCHEMA = """
create table a (id integer primary key autoincrement, n text not null default 'x', u real default -1.5e3, t default
    current_timestamp, unique (n, u));
create table b (x text, y int, z integer, primary key (y, x), foreign key (z) references a on delete cascade on update
    set null, foreign key (x, y) references b (x, y)) without rowid;
create table s (k integer primary key, v text) strict;
create table e ("order" int, [from] text);
create unique index i on b (z desc, x);
insert into a values (5, 'n', 1, null); insert into b values ('q', 1, 5), ('p', 2, 7); insert into s values (1, 'v');
"""


def test_declared_types_keys_defaults_and_kinds_of_table_come_back(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.executescript(SCHEMA)
    connection.close()

    report = walk(tmp_path / "t.db", tmp_path)

    assert report.losses == {}
    assert dump(tmp_path / "back.db") == dump(tmp_path / "t.db")
    back = sqlite3.connect(tmp_path / "back.db")
    assert back.execute("insert into a (n) values ('m') returning id").fetchone() == (6,)
    back.close()


def test_what_a_definition_says_beyond_is_counted(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.executescript(
        "create table t (a check (a > 0), b text collate nocase, c default (1 + 1), d as (a + 1) stored, e,"
        "  foreign key (a) references t (e) deferrable initially deferred,"
        "  foreign key (b) references t (e) not deferrable initially deferred);"
        "create index x on t (a + 1); create index p on t (e) where e > 1; create view v as select 1;"
        "create trigger g after insert on t begin select 1; end; insert into t (a, e) values (1, 'check (');"
    )
    connection.close()

    report = walk(tmp_path / "t.db", tmp_path)

    assert report.losses == {
        "CHECK constraints": 1,
        "collations": 1,
        "default values": 1,
        "deferred foreign keys": 1,
        "generated columns": 1,
        "indexes of expressions": 1,
        "partial indexes": 1,
        "triggers left out": 1,
        "views left out": 1,
    }


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
@pytest.mark.parametrize("number", [0, 7, -(2**31)])
def test_the_encoding_and_the_numbers_of_a_program_come_back(encoding: str, number: int, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.executescript(
        f"pragma encoding = '{encoding}'; pragma user_version = {number}; pragma application_id = {number};"
        "create table t (a text); create table u (b text); insert into t values ('a\u00e9\u20ac');"
    )
    connection.close()

    assert walk(tmp_path / "t.db", tmp_path).losses == {}

    back = sqlite3.connect(tmp_path / "back.db")
    found = [back.execute(f"pragma {name}").fetchone()[0] for name in ("encoding", "user_version", "application_id")]
    back.close()
    assert found == [encoding, number, number]
    assert dump(tmp_path / "back.db") == dump(tmp_path / "t.db")


def test_a_default_that_is_no_literal_is_never_run(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    connection = sqlite3.connect(path)
    connection.execute("create table t (a, b default ('x') )")
    connection.execute("pragma writable_schema = on")
    connection.execute("update sqlite_schema set sql = 'create table t (a, b default (load_extension(''evil'')))'")
    connection.commit()
    connection.close()

    assert walk(path, tmp_path).losses == {"default values": 1}
    back = sqlite3.connect(tmp_path / "back.db")
    assert "evil" not in back.execute("select sql from sqlite_schema").fetchone()[0]
    back.close()


def test_tables_of_other_sources_are_written_without_types_and_what_sqlite_lacks_is_counted(tmp_path: Path) -> None:
    import pyarrow as pa

    table = pa.table({"n": pa.array([2**64 - 1, 1], pa.uint64()), "f": [float("nan"), 0.5], "t": ["", None]})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    convert("arrow", tmp_path / "t.arrow", tmp_path / "data")

    (report,) = export(tmp_path / "data", tmp_path / "back.db", format="sqlite")

    assert report.losses == {"numbers written as text": 2}
    back = sqlite3.connect(tmp_path / "back.db")
    assert back.execute("select * from t").fetchall() == [("18446744073709551615", "nan", ""), (1, 0.5, None)]
    back.close()


def test_a_table_that_sqlite_cannot_hold_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sqlite_x.csv").write_bytes(b"a\n1\n")
    convert("csv", tmp_path / "sqlite_x.csv", tmp_path / "data")

    with pytest.raises(ExportError, match="expected a table that SQLite can hold, found object name reserved"):
        export(tmp_path / "data", tmp_path / "back.db", format="sqlite")
    assert not list(tmp_path.glob("*back*"))


def test_a_definition_is_json_and_back() -> None:
    table = SqlTable(name="t", columns=(SqlColumn(name="a", declared="INT"),), primary_key=("a",))

    assert SqlTable.from_json(table.to_json()) == table
    with pytest.raises(ValueError, match="name: expected a text"):
        SqlTable.from_json('{"name": 1}')


INDEXED = "create table t (a primary key, b unique, c); create index i on t (c); create unique index u on t (b, c);"


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_keys_and_indexes_that_a_format_cannot_tell_are_counted(tmp_path: Path, form: str) -> None:
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.executescript(f"{INDEXED} insert into t values ('x', 'y', 'z');")
    convert("sql", tmp_path / "t.db", tmp_path / "data")

    (report,) = export(tmp_path / "data", tmp_path / "back", format=form)

    lost = {name: report.losses.get(name) for name in ("primary keys", "unique constraints", "indexes")}
    assert lost == {"primary keys": 1, "unique constraints": 1, "indexes": 2}


def test_indexes_of_a_database_by_url_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.executescript(INDEXED)
    convert("sql", f"sqlite:///{tmp_path / 't.db'}", tmp_path / "data")

    (report,) = export(tmp_path / "data", tmp_path / "back.db")

    assert report.losses == {"indexes": 2}


def test_a_collation_of_an_index_is_counted(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.executescript("create table t (a); create index i on t (a collate nocase); create index j on t (a);")

    assert walk(tmp_path / "t.db", tmp_path).losses == {"collations": 1}
