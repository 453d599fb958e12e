from __future__ import annotations

import csv
import io
import json
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import Content, Role
from lisdata.conversion import convert
from lisdata.datasets import export, verify
from lisdata.errors import ExportError
from lisdata.exporters.delimited import CSV
from lisdata.exporters.delimited_style import Style
from lisdata.exporters.row_columns import iter_row_blocks
from lisdata.inputs import InputSlice, find_inputs
from lisdata.registry import load_exporter
from lisdata.schema import ContentKind, StructureKind
from lisdata.shards import IncidenceDataset, InputInfo, write_structures
from lisdata.sources import delimited, delimited_rows
from lisdata.structure import Incidence, Instance, Occurrence, Structure

TEXTS = st.text(st.sampled_from('a1,;"\n\r é漢'), max_size=5)
ROWS = st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(TEXTS, min_size=width, max_size=width), max_size=8))
STYLES = st.sampled_from(
    [
        {"lineterminator": "\r\n"},
        {"lineterminator": "\n", "quoting": csv.QUOTE_ALL},
        {"lineterminator": "\r\n", "delimiter": ";"},
        {"lineterminator": "\r\n", "quotechar": "'"},
    ]
)


def spelled(rows: list[list[str]], style: dict[str, Any]) -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream, **style).writerows([[f"é{n}" for n in range(len(rows[0]) if rows else 1)], *rows])
    return stream.getvalue().encode()


def test_it_is_registered() -> None:
    assert load_exporter("csv") is CSV


@settings(max_examples=15, deadline=None)
@given(rows=ROWS, style=STYLES, has_bom=st.booleans(), is_cut=st.booleans(), size=st.integers(1, 3))
def test_files_that_keep_to_one_style_come_back_byte_for_byte(
    round_trip: Any, rows: list[list[str]], style: dict[str, Any], has_bom: bool, is_cut: bool, size: int
) -> None:
    text = spelled(rows, style)
    ending = style["lineterminator"].encode()
    data = (b"\xef\xbb\xbf" if has_bom else b"") + (text.removesuffix(ending) if is_cut else text)
    options = {"delimiter": style.get("delimiter", ","), "quote": style.get("quotechar", '"')}

    found, report = round_trip("csv", [data], ".csv", rows_per_structure=size, **options)

    assert found == [data]
    assert report.losses == {}


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(
                st.sampled_from(["", '""', "a", '"a"', '"x,""y"', "NA", '"NA"', '"1\r\n2"']), min_size=2, max_size=2
            ),
            st.sampled_from(["\n", "\r\n"]),
        ),
        max_size=8,
    )
)
def test_cells_and_nulls_come_back_from_files_of_any_style_and_what_differs_is_counted(
    round_trip: Any, tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[list[str], str]]
) -> None:
    data = ("a,b\n" + "".join(",".join(cells) + ending for cells, ending in rows)).encode()

    (found,), report = round_trip("csv", [data], ".csv", null_tokens=("", "NA"))

    folder = tmp_path_factory.mktemp("csv")
    assert read_cells(folder / "a.csv", found) == read_cells(folder / "b.csv", data)
    assert (found == data) == (report.losses == {})


def read_cells(path: Path, data: bytes) -> list[dict[str, str | None]]:
    path.write_bytes(data)
    (file,) = find_inputs([str(path)], suffixes=(".csv",))
    options = delimited.CsvOptions(null_tokens=("", "NA"))
    batches = delimited.CSV.read(InputSlice(file=file), options, lambda e: pytest.fail(str(e)))
    return [row for batch in batches for row in batch.cells.to_pylist()]


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (b"a,b\n", {}),
        (b"a,b", {}),
        (b'"a","b"\r\n', {}),
        (b"\n1\n", {"header": False}),
        (b"x\n\n\n", {}),
        (b'"a\n",b\n1,2\n', {}),
        (b'a,b\n"x",1\n"y",2\n', {}),
        (b"a\tb\n\"\t'\n", {"delimiter": "\\t", "quote": ""}),
        ("é;ü\nß;€\n".encode("cp1252"), {"encoding": "cp1252", "delimiter": ";"}),
        ("á,b\n1,2\n".encode("utf-8-sig"), {"encoding": "utf-8-sig"}),
        (b"key,key:a+b,a#b,50%\n1,2,3,4\n", {"primary_key": ("key", "a#b")}),
        (b"a,b\n-,NA\n-,NA\n", {"null_tokens": ("NA", "-")}),
        (b'a,b\n"",\n', {}),
        (b"a,b\n,\n", {"null_tokens": ()}),
    ],
)
def test_odd_files_come_back_byte_for_byte(round_trip: Any, data: bytes, options: dict[str, Any]) -> None:
    found, report = round_trip("csv", [data], ".csv", **options)

    assert found == [data]
    assert report.losses == {}


def test_a_table_called_dialect_comes_back(round_trip: Any) -> None:
    data = b"table,column\n1,2\n,3\n"

    assert round_trip("csv", [data], ".csv", table="dialect", primary_key=("table",))[0] == [data]


def test_losses_are_counted_by_name(round_trip: Any) -> None:
    data = b'a,b\r\n"x",1\r\ny,NA\n,"2"\r\n3\r\n'

    (found,), report = round_trip("csv", [data], ".csv", null_tokens=("", "NA"), on_error="skip")

    assert found == b"a,b\r\nx,1\r\ny,NA\r\n,2\r\n"
    assert report.losses == {"quotes around cells": 2, "line endings of rows": 1, "rejected records": 1}
    assert report.num_records == 3


def test_other_spellings_of_null_are_counted(round_trip: Any) -> None:
    (found,), report = round_trip("csv", [b"a,b\n,1\n,2\nNA,3\n"], ".csv", null_tokens=("", "NA"))

    assert found == b"a,b\n,1\n,2\n,3\n"
    assert report.losses == {"spellings of NULL": 1}


def test_each_block_of_rows_keeps_its_own_style(round_trip: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited_rows, "_BLOCK_BYTES", 64)
    data = b"a,b\n" + b"1,2\n" * 20 + b'"1","2"\n' * 20 + b"3,4"

    (found,), report = round_trip("csv", [data], ".csv")

    assert len(found) == len(data) - 2 * report.losses["quotes around cells"]
    assert report.losses["quotes around cells"] < 20


def test_a_file_that_lost_its_header_is_not_written(round_trip: Any) -> None:
    found, report = round_trip("csv", [b"a,a\n1,2\n", b"a\n1\n"], ".csv", on_error="skip")

    assert found == [b"a\n1\n"]
    assert report.losses == {"rejected records": 1}


def test_rows_without_a_dialect_are_refused(tmp_path: Path) -> None:
    cell = Occurrence(content=Content(ContentKind.LITERAL, b"1"))
    place = Incidence(occurrence=0, instance=0, role=Role("T", "a"))
    structure = Structure(
        record_id="s#0",
        kind=StructureKind.TABLE,
        occurrences=(cell,),
        instances=(Instance(label="T"),),
        incidences=(place,),
    )
    write_structures(tmp_path / "data", [structure])
    (part,) = IncidenceDataset(tmp_path / "data").parts
    info = InputInfo(index=0, name="t.csv", scope="s", compression=None, source="csv", exporter="csv")
    dataset: Any = SimpleNamespace(inputs=(info,), iter_part_rows=lambda file: iter([(part, np.array([0]))]))

    with pytest.raises(ExportError, match=r"t\.csv: expected a structure that tells the dialect"):
        CSV.export(dataset, tmp_path / "t.csv", (info,))


def test_a_cell_that_needs_quotes_is_refused_where_there_are_none() -> None:
    facts = {"column": ["a"], "delimiter": [","], "encoding": ["utf-8"], "line_ending": ["\n"]}

    with pytest.raises(ExportError, match=r"expected cells that need no quotes.*'x,y'"):
        Style.from_facts(facts).lines([pa.array([b"x,y"], pa.large_binary())])


# -- real tables -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["tables/chinook_csv", "tables/nycflights", "text_kg"])
def test_real_tables_come_back_byte_for_byte(round_trip: Any, shared: Path, folder: str) -> None:
    files = [path.read_bytes() for path in sorted((shared / "data/kg" / folder).glob("*.csv"))]

    found, report = round_trip("csv", files, ".csv")

    assert files
    assert found == files
    assert report.losses == {}


def test_the_samples_come_back_byte_for_byte(root: Path, tmp_path: Path) -> None:
    folder = root / "sample_data/tables"
    convert("csv", [str(folder)], tmp_path / "data", options={"schema": str(folder / "datapackage.json")})
    (tmp_path / "out").mkdir()

    (report,) = export(tmp_path / "data", tmp_path / "out")

    assert report.num_records == 16
    assert report.losses == {}
    for name in ("authors.csv", "books.csv", "loans.csv"):
        assert (tmp_path / "out" / name).read_bytes() == (folder / name).read_bytes()


TYPES = {"INTEGER": "integer", "DATETIME": "datetime"}


def chinook_package(database: sqlite3.Connection) -> dict[str, Any]:
    """Describe the tables of Chinook as a Data Package: what the database declares of types, NULLs and keys."""
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    resources = []
    for table in sorted(tables):
        columns = list(database.execute(f"PRAGMA table_info('{table}')"))
        types = [TYPES.get(c[2], "number" if c[2].startswith("NUMERIC") else "string") for c in columns]
        fields = [
            {"name": c[1], "type": t, "constraints": {"required": bool(c[3])}}
            for c, t in zip(columns, types, strict=True)
        ]
        keys = [
            {"fields": [key[3]], "reference": {"resource": key[2], "fields": [key[4]]}}
            for key in database.execute(f"PRAGMA foreign_key_list('{table}')")
        ]
        primary = [c[1] for c in sorted(columns, key=lambda c: c[5]) if c[5]]
        schema = {"fields": fields, "primaryKey": primary, "foreignKeys": keys}
        resources.append({"name": table, "path": f"chinook_csv/{table}.csv", "schema": schema})
    return {"name": "chinook", "resources": resources}


@pytest.fixture(scope="module")
def chinook(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[sqlite3.Connection, Path]:
    """The database, and its CSV files as a dataset with the database's keys."""
    folder = tmp_path_factory.mktemp("chinook")
    database = sqlite3.connect(f"file:{shared / 'data/kg/tables/chinook.sqlite'}?mode=ro", uri=True)
    (folder / "package.json").write_text(json.dumps(chinook_package(database)))
    options = {"schema": str(folder / "package.json")}
    convert("csv", [str(shared / "data/kg/tables/chinook_csv")], folder / "data", options=options)
    verify(folder / "data")
    return database, folder / "data"


def is_same(text: bytes | None, value: Any) -> bool:
    if text is None or value is None:
        return text is value
    return float(text) == value if isinstance(value, float) else text.decode() == str(value)


def test_chinook_s_cells_and_nulls_are_those_of_the_database(chinook: tuple[sqlite3.Connection, Path]) -> None:
    database, path = chinook
    dataset = IncidenceDataset(path)
    num_rows = num_nulls = 0

    for info in dataset.inputs:
        table = info.name.removesuffix(".csv")
        names = [column[1] for column in database.execute(f"PRAGMA table_info('{table}')")]
        rows = list(database.execute(f"SELECT * FROM '{table}'"))
        blocks = (c.cells(r, names) for c, r in iter_row_blocks(dataset, info.index) if not c.dialects(r)[0])
        found = [row for columns in blocks for row in zip(*(c.to_pylist() for c in columns), strict=True)]
        key = slice(2 if table == "PlaylistTrack" else 1)
        found.sort(key=lambda row: [int(cell) for cell in row[key]])
        rows.sort(key=lambda row: row[key])
        assert len(found) == len(rows)
        for cells, values in zip(found, rows, strict=True):
            assert all(is_same(cell, value) for cell, value in zip(cells, values, strict=True)), (table, cells, values)
        num_rows += len(rows)
        num_nulls += sum(row.count(None) for row in rows)

    assert (len(dataset.inputs), num_rows) == (11, 15_607)
    assert num_nulls > 1_000


def test_chinook_s_foreign_keys_show_rows_that_are_there(chinook: tuple[sqlite3.Connection, Path]) -> None:
    database, path = chinook
    (part,) = IncidenceDataset(path).parts
    tau, sigma = (np.asarray(part.structures[name].combine_chunks().values) for name in ("tau", "sigma"))
    labels = part.labels["label"].to_pylist()
    shown = {labels[role]: set(tau[sigma == role].tolist()) for role in np.unique(sigma)}
    kinds = np.asarray(part.contents["kind"])

    keys = [
        (table, key[3], key[2], key[4])
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for key in database.execute(f"PRAGMA foreign_key_list('{table}')")
    ]
    assert len(keys) == 11
    for table, column, target, reference in keys:
        entities = {content for content in shown[f"{table}#{column}"] if kinds[content] == ContentKind.ENTITY}
        assert entities
        assert entities <= shown[f"{target}#{reference}"], (table, column)
    assert not shown["Artist#ArtistId"] & shown["Album#AlbumId"]
    assert len(shown["PlaylistTrack#key:PlaylistId+TrackId"]) == 8715


def test_chinook_with_its_keys_comes_back_byte_for_byte(
    chinook: tuple[sqlite3.Connection, Path], shared: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()

    (report,) = export(chinook[1], tmp_path / "out")

    assert report.losses == {}
    for path in (shared / "data/kg/tables/chinook_csv").glob("*.csv"):
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


def test_every_real_table_comes_back_byte_for_byte(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data/kg/tables"
    convert("csv", folder, tmp_path / "data", options={"null_tokens": ("", "NA")})
    (tmp_path / "out").mkdir()

    (report,) = export(tmp_path / "data", tmp_path / "out")

    paths = sorted(folder.rglob("*.csv"))
    assert len(paths) == len(report.files) == 14
    assert report.losses == {}
    for path in paths:
        assert (tmp_path / "out" / path.relative_to(folder)).read_bytes() == path.read_bytes(), path
