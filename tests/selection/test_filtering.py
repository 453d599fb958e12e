"""Structures that an expression finds: by each column, a structure at a time, and nothing that is no condition."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lisdata
from lisdata.errors import LisDataError
from lisdata.schema import StructureKind
from lisdata.selection import filter_dataset
from lisdata.selection.filtering import COLUMNS, Where, check_expression
from lisdata.selection.role_columns import spelled
from lisdata.shards import IncidenceDataset
from lisdata.structure_batch import StructureBuilder

pytest.importorskip("polars")


def num_taken(directory: Path, where: str) -> int:
    dataset = IncidenceDataset(directory)
    return int(sum(Where(where).is_taken(dataset, part).sum() for part in dataset.parts))


def test_what_is_written_is_what_the_expression_finds(prose: Path, tmp_path: Path) -> None:
    filter_dataset(prose, tmp_path / "f", "text LIKE '%awake%' OR num_occurrences = 1")
    found = [s.document for s in IncidenceDataset(tmp_path / "f").iter_structures()]
    assert [document.split()[-1] for document in found if document] == [b"awake", b"alone"]


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("record_id LIKE '%#0'", 2),
        ("kind = 'triples'", None),
        ("kind <> 'triples'", 0),
        ("input IN ('0.nt', '1.nt')", None),
        ('begin = 0 AND "end" > 0', 2),
        ("num_instances BETWEEN 1 AND 10", None),
        ("num_occurrences > 0 AND num_incidences = 2 * num_instances", None),
        ("num_bytes IS NULL AND text IS NULL AND NOT has_tags", None),
        ("num_bytes > 1", 0),  # NULL is not true
        ("ARRAY_LENGTH(roles) = num_incidences AND ARRAY_LENGTH(instances) = num_instances", None),
        ("ARRAY_LENGTH(contents) = num_occurrences", None),
    ],
)
def test_each_column_says_what_it_promises(graph: Path, where: str, count: int | None) -> None:
    assert num_taken(graph, where) == (len(IncidenceDataset(graph)) if count is None else count)  # None: all


def test_contents_and_roles_are_lists_of_what_is_shown(prose: Path) -> None:
    assert num_taken(prose, "ARRAY_CONTAINS(contents, 'awake')") == 1
    assert num_taken(prose, "ARRAY_CONTAINS(contents, 'harbour')") == 4


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("", "SQL expression"),
        ("kind =", "SQL expression"),
        ("kind = 'a'; SELECT 1", "SQL expression"),
        ("SELECT * FROM read_csv('x.csv')", "SQL expression"),
        ("colour = 'red'", "no column colour; the columns are record_id"),
        ("1 = 1", "names a column"),
        ("num_bytes", "a condition, got 'num_bytes', which gives Int64"),
        ("num_bytes > AVG(num_bytes)", "by itself"),
        ("COUNT(*) > 1 AND has_tags", "by itself"),
        ("SUM(num_bytes) OVER (PARTITION BY kind) > 3", "by itself"),
        ("RANK() OVER (ORDER BY begin) > 1", "by itself"),
        ("FIRST(kind) = 'text'", "by itself"),
        ("kind > 3", "kind > 3"),
    ],
)
def test_what_is_no_condition_on_a_structure_is_refused_before_anything_is_read(where: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_expression(where)


def test_every_column_is_there_for_every_kind(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2] / "sample_data"
    for source, name in (("npy", "grids/heat.npy"), ("html", "html/page.html"), ("csv", "tables/books.csv")):
        lisdata.convert(source, root / name, tmp_path / source)
        count = len(IncidenceDataset(tmp_path / source))
        for column in COLUMNS:
            assert num_taken(tmp_path / source, f'"{column}" IS NULL OR "{column}" IS NOT NULL') == count


NAMES = st.sampled_from(["a", "b", "a.b", "b.a"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.sampled_from(["", "x", "null", "é"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)


def members(value: Any, path: str) -> list[Any]:
    """All that a path with dots may name, a longer first name before a shorter one."""
    if not path:
        return [value]
    found: list[Any] = []
    for name in sorted(value if isinstance(value, dict) else (), key=len):
        if path == name or path.startswith(f"{name}."):
            found += members(value[name], path[len(name) + 1 :])
    return found


def as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()


@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=3), min_size=1, max_size=5))
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_a_role_is_a_column_of_what_is_in_it_and_of_members_of_objects(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("roles")
    (folder / "t.jsonl").write_bytes(b"".join(orjson.dumps(record | {"text": "t"}) + b"\n" for record in records))
    lisdata.convert("jsonl", folder / "t.jsonl", folder / "d")

    for path in ("a", "b", "a.b", "b.a", "a.a", "a.b.a"):
        name = f'"record#field:{path}"'
        for record in records:
            found = [as_text(value) for value in members(record, path) if value is not None]
            if len(found) == 1 and found[0] in ("x", "null", "true"):  # else one of several is the column
                assert num_taken(folder / "d", f"{name} = '{found[0]}'") >= 1
        num_null = sum(not any(value is not None for value in members(record, path)) for record in records)
        assert num_taken(folder / "d", f"{name} IS NULL") == num_null


def test_fields_of_lines_columns_of_tables_and_objects_are_found_by_their_roles(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,year\n1,1999\n2,\n3,2001\n")
    lisdata.convert("csv", tmp_path / "t.csv", tmp_path / "table", options={"null_tokens": ("",)})
    lisdata.convert("ntriples", Path(__file__).parents[2] / "sample_data/triples/garden.nt", tmp_path / "graph")
    label = "http://www.w3.org/2000/01/rdf-schema#label#object"

    assert num_taken(tmp_path / "table", 'CAST("t#year" AS INT) > 2000') == 1
    assert num_taken(tmp_path / "table", '"t#year" IS NULL AND "t#id" = \'2\'') == 1
    known = [structure.to_dict() for structure in IncidenceDataset(tmp_path / "graph").iter_structures()]
    has_label = [any("#".join(i["role"]) == label for i in found["incidences"]) for found in known]
    assert num_taken(tmp_path / "graph", f'"{label}" IS NOT NULL') == sum(has_label) > 0


def test_members_are_found_as_they_are_written_however_large_deep_or_odd(tmp_path: Path) -> None:
    deep = "[" * 300 + "]" * 300
    members = f'"large": 12345678901234567890123, "exact": 1.10, "deep": {deep}, "half": "\\ud800"'
    (tmp_path / "t.jsonl").write_text(f'{{"text": "t", "meta": {{{members}}}}}\n')
    lisdata.convert("jsonl", tmp_path / "t.jsonl", tmp_path / "d")

    for name, text in (("large", "12345678901234567890123"), ("exact", "1.10"), ("deep", deep)):
        assert num_taken(tmp_path / "d", f"\"record#field:meta.{name}\" = '{text}'") == 1
    assert num_taken(tmp_path / "d", '"record#field:meta.half" IS NULL') == 1


def test_a_role_that_no_structure_has_is_refused_with_those_that_there_are(prose: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no structure has the role 'line#tokens'; there are line#token"):
        filter_dataset(prose, tmp_path / "f", "\"line#tokens\" = 'harbour'")
    assert not (tmp_path / "f").exists()
    filter_dataset(prose, tmp_path / "f", "\"line#token\" = 'harbour' OR \"line#token\" <> 'harbour'")


def test_bytes_that_are_no_text_are_null() -> None:
    builder = StructureBuilder()
    for number, document in enumerate((b"good", b"\xff\xfe", None)):
        builder.begin(StructureKind.TEXT, f"r{number}", document=document)
        builder.end()
    assert spelled(builder.finish().structures.column("document")).to_pylist() == ["good", None, None]


def test_without_polars_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(LisDataError, match=r"lisdata\[filter\]"):
        check_expression("kind = 'text'")
