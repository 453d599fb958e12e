from __future__ import annotations

import gzip
import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lisdata.conversion import convert
from lisdata.datasets import export, verify
from lisdata.errors import BadRecordError, PlanError, SchemaError
from lisdata.registry import load_source
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset
from lisdata.sources.sql import SQL, SqlOptions

Shown = Counter[tuple[str, int, bytes]]


def database(path: Path, script: str) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path


def shown(path: Path) -> Shown:
    """Return (role, position, content key) of all cells and keys of a dataset, with how often."""
    return Counter(
        (i.role.label, i.position, s.occurrences[i.occurrence].content.key)
        for s in IncidenceDataset(path).iter_structures()
        for i in s.incidences
        if i.role.relation != "dialect"
    )


def contents(path: Path, role: str) -> list[tuple[str, str, str | None, str | None]]:
    return [
        (c.kind.name, c.text, c.datatype, c.scope)
        for s in IncidenceDataset(path).iter_structures()
        for i in s.incidences
        if i.role.label == role
        for c in [s.occurrences[i.occurrence].content]
    ]


def test_it_is_registered() -> None:
    assert load_source("sql") is SQL
    with pytest.raises(ValueError, match="read whole"):
        SQL.find_cut(None, 1, SqlOptions())  # type: ignore[arg-type]


def test_what_a_column_holds_has_the_type_that_it_is_stored_as(tmp_path: Path) -> None:
    script = (
        "create table t (x); insert into t values (1), (1.0), ('1'), (x'31'), (null), (''), (x''), (9007199254740993),"
        " (9e999), (-0.0), ('2^64+1'); create table d (day date, at datetime, n decimal(9, 2), b boolean);"
        " insert into d values ('2024-02-01', '2024-02-01 06:00:00', 1.5, 1), ('soon', 5, 2, 'yes')"
    )
    convert("sql", database(tmp_path / "t.db", script), tmp_path / "data")

    assert contents(tmp_path / "data", "t#x") == [
        ("LITERAL", "1", "table:integer", None),
        ("LITERAL", "1.0", "table:number", None),
        ("LITERAL", "1", None, None),
        ("BYTES", "1", None, None),
        ("NULL", "", None, None),
        ("LITERAL", "", None, None),
        ("BYTES", "", None, None),
        ("LITERAL", "9007199254740993", "table:integer", None),
        ("LITERAL", "inf", "table:number", None),
        ("LITERAL", "-0.0", "table:number", None),
        ("LITERAL", "2^64+1", None, None),
    ]
    assert [c[1:3] for c in contents(tmp_path / "data", "d#day")] == [("2024-02-01", "table:date"), ("soon", None)]
    found = [c[1:3] for c in contents(tmp_path / "data", "d#at")]
    assert found == [("2024-02-01 06:00:00", "table:datetime"), ("5", "table:integer")]
    found = [c[1:3] for c in contents(tmp_path / "data", "d#n")]
    assert found == [("1.5", "table:number"), ("2", "table:integer")]


KEYS = """
create table part (maker text, number integer, id integer unique, primary key (maker, number)) without rowid;
create table sub (a integer, m text, part_id int references PART(ID), boss integer references sub(rank), rank integer
    primary key, foreign key (a, m) references Part (NUMBER, Maker));
insert into part values ('acme', 1, 10), ('acme', 2, 20);
insert into sub values (1, 'acme', 10, null, 1), (9, 'acme', 99, 1, 2), (null, 'acme', null, 7, 3);
create table orphan (x integer references nowhere);
insert into orphan values (1);
"""


def test_keys_show_the_row_that_they_refer_to_in_any_order_and_case(tmp_path: Path) -> None:
    manifest = convert("sql", database(tmp_path / "t.db", KEYS), tmp_path / "data")

    primary = contents(tmp_path / "data", "part#key:maker+number")
    assert primary == [("ENTITY", f'["acme","{n}"]', None, "table:part.maker+number") for n in (1, 2)]
    assert contents(tmp_path / "data", "sub#key:m+a") == [
        primary[0],
        ("ENTITY", '["acme","9"]', None, "table:part.maker+number"),
    ]
    assert contents(tmp_path / "data", "part#id") == [("ENTITY", n, None, "table:part.id") for n in ("10", "20")]
    assert contents(tmp_path / "data", "sub#part_id")[0] == contents(tmp_path / "data", "part#id")[0]
    assert contents(tmp_path / "data", "sub#boss")[1] == contents(tmp_path / "data", "sub#rank")[0]
    # (9, acme), 99 and 7 are not there, nor is the table of the orphan.
    assert manifest["report"]["dangling_foreign_keys"] == 4


def test_a_key_of_another_type_than_its_column_s_stays_apart(tmp_path: Path) -> None:
    script = "create table t (k primary key, p, q, unique (p, q)); create table u (p, q, foreign key (p, q) references"
    script += " t (p, q)); insert into t values (1, 1, x'01'), ('1', '1', null), (x'31', 1.0, 2); insert into u values"
    script += " (1, x'01')"
    convert("sql", database(tmp_path / "t.db", script), tmp_path / "data")

    assert contents(tmp_path / "data", "t#k") == [
        ("ENTITY", "1", None, "table:t.k"),
        ("ENTITY", "1", "table:string", "table:t.k"),
        ("ENTITY", "1", "table:binary", "table:t.k"),
    ]
    keys = [text for _, text, _, _ in contents(tmp_path / "data", "t#key:p+q")]
    assert keys == ['["1",{"binary": "01"}]', '[{"number": "1.0"},"2"]']
    assert [text for _, text, _, _ in contents(tmp_path / "data", "u#key:p+q")] == keys[:1]


def test_views_triggers_and_virtual_tables_are_left_out_and_counted_and_views_read_when_asked(tmp_path: Path) -> None:
    script = (
        "create table t (a, b as (a + 1), c as (a * 2) stored); insert into t values (1); create view v as select a + 5"
        " as x from t; create virtual table f using fts5(body); create trigger g after insert on t begin select 1; end"
    )
    path = database(tmp_path / "t.db", script)

    report = convert("sql", path, tmp_path / "data")["report"]
    convert("sql", path, tmp_path / "views", options={"views": True, "table": ("V", "t")})

    assert report["views_left_out"] == report["virtual_tables_left_out"] == report["triggers_left_out"] == 1
    assert {role.split("#")[0] for role, _, _ in shown(tmp_path / "data")} == {"t"}
    assert [c[1] for c in contents(tmp_path / "data", "t#b") + contents(tmp_path / "data", "t#c")] == ["2", "2"]
    assert [c[1] for c in contents(tmp_path / "views", "v#x")] == ["6"]
    with pytest.raises(SchemaError, match=r"t\.db: expected one of the tables t, found 'v'"):
        convert("sql", path, tmp_path / "no", options={"table": ("v",)})


def test_a_database_of_which_all_is_left_out_is_a_bad_record_that_says_so(tmp_path: Path) -> None:
    script = "create view v as select 5 as x; create view w as select 6 as x; create virtual table f using fts5(body)"
    path = database(tmp_path / "t.db", script)

    with pytest.raises(BadRecordError, match=r"t\.db: expected a table .*, found .*2 views left out, 1 virtual tables"):
        convert("sql", path, tmp_path / "no")
    manifest = convert("sql", path, tmp_path / "data", on_error="quarantine")
    convert("sql", path, tmp_path / "views", options={"views": True})

    assert manifest["inputs"][0]["records"]["rejected"] == 1
    assert [c[1] for c in contents(tmp_path / "views", "v#x")] == ["5"]


def test_chinook_s_file_and_its_csv_folder_show_the_same_contents_in_the_same_roles(
    shared: Path, tmp_path: Path
) -> None:
    folder = shared / "data/kg/tables"
    connection = sqlite3.connect(f"file:{folder / 'chinook.sqlite'}?mode=ro", uri=True)
    (tmp_path / "package.json").write_text(json.dumps(package_of(connection)))
    convert("csv", folder / "chinook_csv", tmp_path / "csv", options={"schema": str(tmp_path / "package.json")})

    manifest = convert("sql", folder / "chinook.sqlite", tmp_path / "sql")

    from_csv, from_sql = shown(tmp_path / "csv"), shown(tmp_path / "sql")
    assert sum(from_sql.values()) == 75_154
    assert from_sql == from_csv
    assert manifest["inputs"][0]["records"]["converted"] == 15_607
    assert manifest["report"]["dangling_foreign_keys"] == 0


TYPES = {"INTEGER": "integer", "NUMERIC(10,2)": "number", "DATETIME": "datetime"}


def package_of(connection: sqlite3.Connection) -> dict[str, Any]:
    resources = []
    for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        columns = connection.execute(f"PRAGMA table_info('{table}')").fetchall()
        fields = [{"name": c[1], "type": TYPES.get(c[2].upper(), "string")} for c in columns]
        primary = [c[1] for c in sorted(columns, key=lambda c: c[5]) if c[5]]
        keys = [
            {"fields": k[3], "reference": {"resource": k[2], "fields": k[4]}}
            for k in connection.execute(f"PRAGMA foreign_key_list('{table}')")
        ]
        schema = {"fields": fields, "primaryKey": primary, "foreignKeys": keys}
        resources.append({"name": table, "path": f"chinook_csv/{table}.csv", "schema": schema})
    return {"name": "chinook", "resources": resources}


# -- what is wrong ---------------------------------------------------------------------------------------------------


def test_text_that_is_not_utf_8_is_a_bad_record_with_its_table_row_and_column(tmp_path: Path) -> None:
    rows = ", ".join(f"({n}, 'text {n}')" for n in range(2000))
    script = f"create table t (n integer, s text); insert into t values {rows};"
    script += "update t set s = cast(x'61ff' as text) where n in (7, 1500)"
    path = database(tmp_path / "t.db", script)

    with pytest.raises(BadRecordError, match=r"t\.db\[t\]:8: expected text in UTF-8 in column 's', found b'a\\xff'"):
        convert("sql", path, tmp_path / "stopped")
    manifest = convert("sql", path, tmp_path / "data", on_error="quarantine")

    assert manifest["inputs"][0]["records"] == {"seen": 2000, "converted": 1998, "rejected": 2}
    assert (tmp_path / "data/rejects/unit-00000.bin").read_bytes() == b'[7,{"hex":"61ff"}]\n[1500,{"hex":"61ff"}]\n'
    assert len(contents(tmp_path / "data", "t#n")) == 1998
    assert not verify(tmp_path / "data").problems


def test_a_damaged_page_is_a_bad_record_and_other_tables_are_kept(tmp_path: Path) -> None:
    rows = ", ".join(f"({n}, '{'x' * 200}')" for n in range(500))
    script = f"pragma page_size = 1024; create table a (n, s); insert into a values {rows}; create table b (x);"
    path = database(tmp_path / "t.db", script + " insert into b values (1)")
    data = bytearray(path.read_bytes())
    data[60 * 1024 : 61 * 1024] = b"\xff" * 1024
    path.write_bytes(data)

    manifest = convert("sql", path, tmp_path / "data", on_error="skip")

    records = manifest["inputs"][0]["records"]
    assert records["rejected"] == 1
    assert 0 < records["converted"] < 501
    assert [c[1] for c in contents(tmp_path / "data", "b#x")] == ["1"]
    with pytest.raises(BadRecordError, match=r"t\.db\[a\]:\d+: expected rows that can be read"):
        convert("sql", path, tmp_path / "stopped")


@pytest.mark.parametrize("missing", [1, 100, 1023, 1024, 2048, 30_000])
def test_a_file_whose_last_pages_are_cut_is_refused(missing: int, tmp_path: Path) -> None:
    rows = ", ".join(f"('row{n:06}')" for n in range(5000))
    path = database(tmp_path / "t.db", f"pragma page_size = 1024; create table t (a); insert into t values {rows}")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - missing])

    with pytest.raises(BadRecordError, match=r"t\.db@0: expected .* SQLite database, found (\d+ bytes|.* malformed)"):
        convert("sql", path, tmp_path / "data")


def test_a_file_shorter_than_a_header_is_refused_and_an_empty_one_is_a_database(tmp_path: Path) -> None:
    (tmp_path / "t.db").write_bytes(b"x")
    (tmp_path / "empty.db").write_bytes(b"")

    with pytest.raises(BadRecordError, match="found 1 bytes, less than its header has"):
        convert("sql", tmp_path / "t.db", tmp_path / "data")
    assert convert("sql", tmp_path / "empty.db", tmp_path / "empty")["inputs"][0]["records"]["seen"] == 0


@pytest.mark.parametrize("data", [b"SQLite format 3\0 and then nothing", b"no database at all" * 100])
def test_what_is_no_database_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t.db").write_bytes(data)

    with pytest.raises(BadRecordError, match=r"t\.db@0: expected an SQLite database, found file is not a database"):
        convert("sql", tmp_path / "t.db", tmp_path / "data")


@pytest.mark.parametrize(("suffix", "what"), [("-wal", "write-ahead log"), ("-journal", "rollback journal")])
def test_a_database_that_is_written_to_is_refused(tmp_path: Path, suffix: str, what: str) -> None:
    path = database(tmp_path / "t.db", "create table t (a)")
    Path(f"{path}{suffix}").write_bytes(b"rows that the file itself has not")

    with pytest.raises(BadRecordError, match=f"no program is writing to, found a {what} of 33 bytes beside it"):
        convert("sql", path, tmp_path / "data")


def test_names_that_would_be_sql_are_names(tmp_path: Path) -> None:
    name = 'x"; drop table "t'
    quoted = '"' + name.replace('"', '""') + '"'
    script = (
        f"create table {quoted} ({quoted} integer, 'rowid' text, [a'b] text); insert into {quoted} values (1, 'r', 'q')"
    )
    path = database(tmp_path / "t.db", script)
    convert("sql", path, tmp_path / "data")

    export(tmp_path / "data", tmp_path / "back.db")

    back = sqlite3.connect(tmp_path / "back.db")
    assert back.execute(f"select * from {quoted}").fetchall() == [(1, "r", "q")]
    assert path.read_bytes() == database(tmp_path / "again.db", script).read_bytes()
    back.close()


def test_a_compressed_database_is_read_through_a_copy(tmp_path: Path, root: Path) -> None:
    path = root / "sample_data/sql/library.sqlite"
    (tmp_path / "library.sqlite.gz").write_bytes(gzip.compress(path.read_bytes()))

    convert("sql", tmp_path / "library.sqlite.gz", tmp_path / "data")
    convert("sql", path, tmp_path / "plain")

    assert shown(tmp_path / "data") == shown(tmp_path / "plain")


# -- by URL ----------------------------------------------------------------------------------------------------------


def test_a_database_by_url_shows_the_same_contents_as_its_file(tmp_path: Path, root: Path) -> None:
    pytest.importorskip("sqlalchemy")
    path = (root / "sample_data/sql/library.sqlite").resolve()

    manifest = convert("sql", f"sqlite:///{path}", tmp_path / "url")
    plain = convert("sql", path, tmp_path / "file")

    assert shown(tmp_path / "url") == shown(tmp_path / "file")
    assert manifest["report"] == plain["report"]
    assert manifest["inputs"][0]["name"] == "library.sqlite"
    assert str(path.parent) not in (tmp_path / "url/manifest.json").read_text()
    export(tmp_path / "url", tmp_path / "back.sqlite")
    back, there = (sqlite3.connect(p) for p in (tmp_path / "back.sqlite", path))
    for table in ("authors", "books", "loans", "notes"):
        wanted = f"select * from {table}"
        assert list(map(repr, back.execute(wanted))) == list(map(repr, there.execute(wanted)))
    back.close()
    there.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://me:secret@host/db", r"postgresql://me:\*\*\*@host/db: expected a URL without a password"),
        ("sqlite:////nowhere/at/all.db", "expected a database that can be read, found .*unable to open"),
        ("snowflake://account/db", "expected a database that can be read"),
    ],
)
def test_a_database_that_cannot_be_reached_is_refused_and_no_password_shown(
    tmp_path: Path, url: str, message: str
) -> None:
    pytest.importorskip("sqlalchemy")

    with pytest.raises(PlanError, match=message) as caught:
        convert("sql", url, tmp_path / "data")

    assert "secret" not in str(caught.value)


def test_bytes_in_keys_are_of_their_own_kind(tmp_path: Path) -> None:
    path = database(tmp_path / "t.db", "create table t (k blob primary key); insert into t values (x'ff'), (x'00')")

    convert("sql", path, tmp_path / "data")
    export(tmp_path / "data", tmp_path / "back.db")

    kinds = {kind for kind, _, _, _ in contents(tmp_path / "data", "t#k")}
    assert kinds == {ContentKind.ENTITY.name}
    back = sqlite3.connect(tmp_path / "back.db")
    assert back.execute("select k from t").fetchall() == [(b"\xff",), (b"\x00",)]
    back.close()
