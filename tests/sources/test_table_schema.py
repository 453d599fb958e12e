from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from changed_documents import changed_documents, refusal
from hypothesis import HealthCheck, given, settings

from lisdata.converters.tables import TABLES, TableOptions
from lisdata.errors import LisDataError, SchemaError
from lisdata.inputs import InputFile, InputSlice, find_inputs
from lisdata.records import ForeignKey
from lisdata.sources.cell_types import misspelled
from lisdata.sources.delimited import CSV, CsvOptions, layout_of
from lisdata.sources.table_schema import DeclaredTable, load_declared_table

FIELDS = {"fields": [{"name": "a"}, {"name": "b", "type": "integer"}]}


def load(path: Path, data: Any, file_name: str = "t.csv", table: str | None = None) -> DeclaredTable:
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return load_declared_table(str(path), file_name, table)


def package(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"name": "p", "resources": [{"schema": FIELDS, **resource} for resource in resources]}


def test_a_table_schema_declares_fields_and_keys(tmp_path: Path) -> None:
    schema = FIELDS | {
        "primaryKey": ["a", "b"],
        "foreignKeys": [{"fields": ["b"], "reference": {"resource": "T", "fields": ["x"]}}],
        "missingValues": ["", "NA"],
    }

    found = load(tmp_path / "s.json", schema)

    assert [(f.name, f.type, f.required) for f in found.fields] == [("a", "string", False), ("b", "integer", False)]
    assert found.name is None
    assert found.primary_key == ("a", "b")
    assert found.foreign_keys == (ForeignKey(columns=("b",), table="T", references=("x",)),)
    assert found.null_tokens == ("", "NA")


@pytest.mark.parametrize("file_name", ["t.csv", "data/t.csv", "deep/data/t.csv"])
def test_a_resource_is_found_by_its_path(tmp_path: Path, file_name: str) -> None:
    data = package({"name": "x", "path": "data/t.csv"}, {"name": "t", "path": "data/u.csv"})

    assert load(tmp_path / "p.json", data, file_name).name == "x"


def test_a_resource_is_found_by_its_name_where_no_path_fits(tmp_path: Path) -> None:
    data = package({"name": "x", "path": "x.csv"}, {"name": "t", "path": "http://example.org/1"})

    assert load(tmp_path / "p.json", data, "in/t.csv").name == "t"
    assert load(tmp_path / "p.json", data, "in/t.csv", table="x").name == "x"


@pytest.mark.parametrize("names", [("x", "y"), ("t", "t")])
def test_no_or_several_fitting_resources_are_refused(tmp_path: Path, names: tuple[str, str]) -> None:
    data = package(*({"name": name} for name in names))

    with pytest.raises(
        SchemaError, match=r"p.json: expected one resource with the path t.csv, found (0|2) \(resources"
    ):
        load(tmp_path / "p.json", data)


BAD = {
    "no JSON": ("{", "expected JSON"),
    "no schema": ([1], "expected a Table Schema"),
    "a resource without fields": ({"resources": [{"name": "t"}]}, "resource t: expected a schema with fields"),
    "fields that are no list": ({"fields": {}}, "expected fields to be a list"),
    "a field without a name": ({"fields": [{"type": "string"}]}, "expected fields with a name"),
    "an unknown type": ({"fields": [{"name": "a", "type": "int"}]}, "field a: expected a type .*, found 'int'"),
    "an unknown key column": (FIELDS | {"primaryKey": "z"}, "expected keys of declared fields, found 'z'"),
    "a key that is no name": (FIELDS | {"primaryKey": 3}, "expected primaryKey to be a name or a list of names"),
    "a key without reference": (FIELDS | {"foreignKeys": [{"fields": "a"}]}, "with fields and reference"),
    "a key of other length": (
        FIELDS | {"foreignKeys": [{"fields": "a", "reference": {"fields": ["x", "y"]}}]},
        "expected as many fields as they refer to",
    ),
    "missing values that are no texts": (FIELDS | {"missingValues": [1]}, "expected missingValues to be texts"),
    "a dialect with escapes": (package({"name": "t", "dialect": {"escapeChar": "\\"}}), "found escapeChar"),
    "a field twice": ({"fields": [{"name": "a"}, {"name": "a"}]}, "expected each field once, found a, a"),
    "constraints of null": (
        {"fields": [{"name": "a", "constraints": None}]},
        "field a: constraints: expected an object, found None",
    ),
    "a constraint that is a text": (
        {"fields": [{"name": "a", "constraints": {"required": "yes"}}]},
        "field a: constraints.required: expected true or false, found 'yes'",
    ),
    "a delimiter that is a number": (
        package({"name": "t", "dialect": {"delimiter": 5}}),
        "resource t: dialect: delimiter: expected a text, found 5",
    ),
    "a quote that is a list": (
        package({"name": "t", "dialect": {"quoteChar": []}}),
        "quoteChar: expected a text or null",
    ),
    "a header that is a text": (package({"name": "t", "dialect": {"header": "no"}}), "header: expected true or false"),
    "an encoding that is a number": (package({"name": "t", "encoding": 5}), "resource t: encoding: expected a text"),
    "a referred table that is a number": (
        FIELDS | {"foreignKeys": [{"fields": "a", "reference": {"resource": 5, "fields": "b"}}]},
        "foreignKeys.reference: resource: expected a text, found 5",
    ),
    "a dialect that is no object": (package({"name": "t", "dialect": 1}), "expected dialect to be an object"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_malformed_schema_is_refused(tmp_path: Path, what: str) -> None:
    data, message = BAD[what]

    with pytest.raises(SchemaError, match=rf"s\.json: .*{message}"):
        load(tmp_path / "s.json", data)


PACKAGE = package(
    {
        "name": "t",
        "path": "t.csv",
        "encoding": "utf-8",
        "dialect": {"delimiter": ";", "quoteChar": "'", "header": True, "doubleQuote": True, "lineTerminator": "\n"},
        "schema": {
            "fields": [
                {"name": "a", "type": "integer", "constraints": {"required": False, "unique": True}},
                {"name": "b", "type": "number", "format": "default"},
                {"name": "c"},
            ],
            "primaryKey": ["b"],
            "foreignKeys": [
                {"fields": ["a"], "reference": {"resource": "T", "fields": ["x"]}},
                {"fields": "c", "reference": {"resource": "", "fields": "b"}},
            ],
            "missingValues": ["", "NA"],
        },
    }
)


@given(changed_documents(PACKAGE))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_one_value_says_the_file_is_read_or_the_schema_refused(tmp_path: Path, document: Any) -> None:
    schema, table = tmp_path / "schema.json", tmp_path / "t.csv"
    schema.write_text(json.dumps(document), encoding="utf-8")
    table.write_bytes(b"a;b;c\n1;2;'x'\n;3;y\n")
    piece = InputSlice(file=find_inputs([str(table)], suffixes=CSV.suffixes)[0])

    def read() -> None:
        for records in CSV.read(piece, CsvOptions(schema=str(schema)), lambda _: None):
            assert TABLES.convert(records, TableOptions()).structures.num_rows > records.num_records

    error = refusal(read, LisDataError)

    assert error is None or str(error).startswith((f"{schema}: ", "t.csv"))


def test_a_schema_that_is_not_there_is_an_error_of_the_system_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.json"):
        load_declared_table(str(tmp_path / "absent.json"), "t.csv", None)


@pytest.mark.parametrize("change", [{"dialect": {"delimiter": "ab"}}, {"encoding": "rot13"}, {"encoding": "utf-16"}])
def test_a_dialect_or_an_encoding_that_cannot_be_is_refused_with_the_schema_s_name(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    load(tmp_path / "s.json", package({"name": "t", **change}))
    file = InputFile(index=0, path="", name="t.csv", size=0, digest="", scope="", compression=None)

    with pytest.raises(SchemaError, match=rf"^{tmp_path / 's.json'}: "):
        layout_of(CsvOptions(schema=str(tmp_path / "s.json")), file)


def test_what_a_dialect_may_say_without_effect_is_accepted(tmp_path: Path) -> None:
    dialect = {
        "delimiter": ";",
        "header": False,
        "doubleQuote": True,
        "skipInitialSpace": False,
        "lineTerminator": "\n",
    }

    assert load(tmp_path / "p.json", package({"name": "t", "dialect": dialect})).dialect == {
        "delimiter": ";", "header": False,
    }  # fmt: skip


SPELLINGS = [
    ("integer", ["0", "-12", "+007", "9007199254740993"], ["", "1.0", "1e3", " 1", "1 ", "x", "１", "1\n"]),
    ("number", ["1", "-1.5", ".5", "2.", "1e-9", "NaN", "-INF"], ["", "1,5", "nan", "e5", "."]),
    ("boolean", ["true", "False", "1", "0"], ["yes", "tRue", ""]),
    ("date", ["2024-02-30", "-0044-03-15"], ["2024-13-01", "2024-1-1", "24-01-01", "2024-01-00"]),
    ("datetime", ["1962-02-18 00:00:00", "2024-01-01T23:59:60.5Z", "2024-01-01T00:00:00+02:00"], ["2024-01-01"]),
    ("time", ["23:59:59"], ["25:00:00", "1:00:00"]),
    ("year", ["2024", "-0044"], ["24"]),
    ("yearmonth", ["2024-05"], ["2024-5"]),
    ("string", ["", "anything"], []),
    ("any", ["", "anything"], []),
]


@pytest.mark.parametrize(("type_", "good", "bad"), SPELLINGS, ids=[s[0] for s in SPELLINGS])
def test_cells_of_a_type_are_told_from_others(type_: str, good: list[str], bad: list[str]) -> None:
    cells = pa.array([*good, None, *bad], pa.large_string())

    assert misspelled(cells, type_).tolist() == list(range(len(good) + 1, len(cells)))


def test_cells_spelled_by_a_declared_format_are_not_checked(tmp_path: Path) -> None:
    fields = [
        {"name": "a", "type": "date", "format": "%d/%m/%Y"},
        {"name": "b", "type": "number", "decimalChar": ","},
        {"name": "c", "type": "geopoint"},
    ]

    found = load(tmp_path / "s.json", {"fields": fields})

    assert [f.checked_type for f in found.fields] == [None, None, None]
    assert misspelled(pa.array(["x"], pa.large_string()), None).tolist() == []
