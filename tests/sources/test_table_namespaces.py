"""Tables of one name in different databases: their rows are one by default, and apart in namespaces of their own."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisdata.alignment import audit, find_meetings
from lisdata.conversion import convert
from lisdata.converters.table_roles import key_scope, table_of_scope
from lisdata.datasets import merge
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset

NAMES = st.text(st.sampled_from("ab#%:.+3A2E"), min_size=1, max_size=6)
USERS = pa.table({"id": ["1", "2"], "boss": ["2", None]})
KEYS: dict[str, Any] = {"table": "users", "primary_key": ("id",), "foreign_key": ("boss=users.id",)}


def write_csv(path: Path) -> dict[str, Any]:
    path.write_text("id,boss\n1,2\n2,\n")
    return KEYS


def write_parquet(path: Path) -> dict[str, Any]:
    pyarrow.parquet.write_table(USERS, path)
    return KEYS


def write_arrow(path: Path) -> dict[str, Any]:
    pyarrow.feather.write_feather(USERS, path)
    return KEYS


def write_sql(path: Path) -> dict[str, Any]:
    connection = sqlite3.connect(path)
    connection.executescript(
        "create table users (id text primary key, boss text references users (id));"
        "insert into users values ('1', '2'), ('2', null)"
    )
    connection.close()
    return {}


WRITERS = {"csv": write_csv, "parquet": write_parquet, "arrow": write_arrow, "sql": write_sql}


def keys_of(path: Path) -> set[bytes]:
    """Return the keys of all rows that a dataset names."""
    tables = [part.contents for part in IncidenceDataset(path).parts]
    return {
        content["key"] for table in tables for content in table.to_pylist() if content["kind"] == ContentKind.ENTITY
    }


@pytest.mark.parametrize("source", WRITERS)
def test_rows_are_apart_in_two_namespaces_and_shared_in_one(source: str, tmp_path: Path) -> None:
    options = WRITERS[source](tmp_path / "data")
    namespaces = {"none": None, "crm": "crm", "again": "crm", "shop": "shop"}
    for name, namespace in namespaces.items():
        convert(source, tmp_path / "data", tmp_path / name, options={**options, "namespace": namespace})

    found = {name: keys_of(tmp_path / name) for name in namespaces}

    assert found["crm"] == found["again"]
    assert all(len(keys) == 2 for keys in found.values())  # the boss is the row that it refers to
    assert len(found["none"] | found["crm"] | found["shop"]) == 6
    scopes = {o.content.scope for s in IncidenceDataset(tmp_path / "crm").iter_structures() for o in s.occurrences}
    assert scopes == {None, "table:crm.users.id"}


@pytest.mark.parametrize("source", WRITERS)
def test_a_namespace_without_a_name_is_refused(source: str, tmp_path: Path) -> None:
    WRITERS[source](tmp_path / "data")

    with pytest.raises(ValueError, match="expected a name, or no namespace at all"):
        convert(source, tmp_path / "data", tmp_path / "out", options={"namespace": ""})


def test_an_export_is_read_again_in_its_namespace(tmp_path: Path) -> None:
    write_sql(tmp_path / "a.db")
    convert("sql", tmp_path / "a.db", tmp_path / "a", options={"namespace": "crm"})

    assert audit(tmp_path / "a", tmp_path / "a.db").ok


def test_merge_and_align_tell_which_tables_meet(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name, rows in (("a", "1,ann\n2,bo\n"), ("b", "2,cy\n3,di\n")):
        (tmp_path / f"{name}.csv").write_text(f"id,name\n{rows}")
        options = {"table": "users", "primary_key": ("id",)}
        convert("csv", tmp_path / f"{name}.csv", tmp_path / name, options=options)
        convert("csv", tmp_path / f"{name}.csv", tmp_path / f"in_{name}", options={**options, "namespace": name})

    merge([tmp_path / "a", tmp_path / "b"], tmp_path / "met")
    told = [record.getMessage() for record in caplog.records]
    merge([tmp_path / "in_a", tmp_path / "in_b"], tmp_path / "apart")
    (meeting,) = find_meetings([IncidenceDataset(tmp_path / name) for name in ("a", "b")]).meetings
    (none,) = find_meetings([IncidenceDataset(tmp_path / f"in_{name}") for name in ("a", "b")]).meetings

    assert len(caplog.records) == len(told) == 1
    assert told[0].startswith(f"rows of table:users.id are in {tmp_path / 'a'}, {tmp_path / 'b'}: ")
    assert (meeting.by_kind["entity"], meeting.by_table) == (1, {"table:users.id": 1})
    assert ("entity" in none.by_kind, none.by_table) == (False, {})


def test_a_dataset_that_only_refers_to_a_table_meets_it_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "users.csv").write_text("id\n1\n")
    (tmp_path / "orders.csv").write_text("user\n1\n")
    convert("csv", tmp_path / "users.csv", tmp_path / "users", options={"primary_key": ("id",)})
    convert("csv", tmp_path / "orders.csv", tmp_path / "orders", options={"foreign_key": ("user=users.id",)})

    merge([tmp_path / "users", tmp_path / "orders"], tmp_path / "merged")

    assert keys_of(tmp_path / "users") == keys_of(tmp_path / "orders")
    assert caplog.records == []


@given(st.lists(st.tuples(NAMES, NAMES, st.none() | NAMES), unique=True, max_size=8))
def test_scopes_tell_namespaces_tables_and_columns_apart(names: list[tuple[str, str, str | None]]) -> None:
    scopes = [key_scope(table, (column,), namespace) for table, column, namespace in names]

    assert len(set(scopes)) == len(names)
    assert [table_of_scope(scope) for scope in scopes] == [table for table, _, _ in names]


@pytest.mark.parametrize("scope", ["0123456789abcdef", "table:", "table:a", "table:a.b.c.d", "a.b"])
def test_other_scopes_are_no_table_s(scope: str) -> None:
    assert table_of_scope(scope) is None
