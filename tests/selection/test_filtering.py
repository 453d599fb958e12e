"""Structures that an expression finds: by each column, a structure at a time, and nothing that is no condition."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import lisdata
from lisdata.errors import LisDataError
from lisdata.schema import StructureKind
from lisdata.selection import filter_dataset
from lisdata.selection.filtering import COLUMNS, Where, check_expression, spelled
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
