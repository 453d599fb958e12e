from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import Content, Role
from lisdata.converters.table_roles import column_of_side, column_role, key_scope
from lisdata.converters.tables import TABLES, TableOptions
from lisdata.inputs import InputFile, InputSlice, find_inputs
from lisdata.invariants import check_structures
from lisdata.records import ForeignKey, RowRecords, TableSchema
from lisdata.registry import load_converter
from lisdata.schema import ContentKind, StructureKind
from lisdata.sources.delimited import CSV, CsvOptions
from lisdata.structure import Structure

FILE = InputFile(index=3, path="t.csv", name="t.csv", size=0, digest="d", scope="s", compression=None)
Cell = tuple[str, ContentKind, str, str | None, str | None]


def rows_of(table: TableSchema, rows: list[list[str | None]], dialect: dict[str, Any] | None = None) -> RowRecords:
    columns = [pa.array([row[n] for row in rows], pa.large_string()) for n in range(len(table.columns))]
    begin = np.arange(len(rows), dtype=np.uint64) * np.uint64(10)
    return RowRecords(
        file=FILE,
        table=table,
        cells=pa.RecordBatch.from_arrays(columns, names=list(table.columns)),
        ordinal=np.arange(len(rows), dtype=np.uint64) + np.uint64(100),
        begin=begin,
        end=begin + np.uint64(9),
        dialect=dialect or {},
    )


def convert(records: RowRecords, rows_per_structure: int = 1) -> list[Structure]:
    batch = TABLES.convert(records, TableOptions(rows_per_structure=rows_per_structure))
    tables = (pa.Table.from_batches([b]) for b in (batch.structures, batch.contents, batch.labels))
    check_structures(*tables, "tables")
    return [Structure.from_arrow(batch, row) for row in range(batch.structures.num_rows)]


def cells(structure: Structure, instance: int = 0) -> list[tuple[str, Content, int]]:
    return [
        (i.role.label, structure.occurrences[i.occurrence].content, i.position)
        for i in structure.incidences
        if i.instance == instance
    ]


def entity(text: str, scope: str) -> Content:
    return Content(ContentKind.ENTITY, text.encode(), scope=scope)


def literal(text: str, datatype: str | None = None) -> Content:
    return Content(ContentKind.LITERAL, text.encode(), datatype)


NULL = Content(ContentKind.NULL, b"")


def test_it_is_registered() -> None:
    assert load_converter("tables") is TABLES


def test_a_row_is_an_instance_and_a_column_a_role() -> None:
    table = TableSchema(name="T", columns=("a", "b", "c"), types=("string", "number", "any"))

    first, second = convert(rows_of(table, [["x", "1.50", None], ["", None, "x"]]))

    assert first.kind == StructureKind.TABLE
    assert [(e.label, e.ordinal, e.handle) for e in first.instances] == [("T", 100, None)]
    assert cells(first) == [("T#a", literal("x"), 0), ("T#b", literal("1.50", "table:number"), 0), ("T#c", NULL, 0)]
    assert cells(second) == [("T#a", literal(""), 0), ("T#b", NULL, 0), ("T#c", literal("x"), 0)]
    assert (second.record_id, second.source) == ("s#10", (3, 10, 19))


def test_a_foreign_key_shows_the_row_it_refers_to_and_no_other_table_s() -> None:
    album = TableSchema(
        name="Album",
        columns=("AlbumId", "ArtistId"),
        types=("integer", "integer"),
        primary_key=("AlbumId",),
        foreign_keys=(ForeignKey(columns=("ArtistId",), table="Artist", references=("ArtistId",)),),
    )
    artist = TableSchema(name="Artist", columns=("ArtistId",), types=("integer",), primary_key=("ArtistId",))

    (of_album,) = convert(rows_of(album, [["1", "1"]]))
    (of_artist,) = convert(rows_of(artist, [["1"]]))

    album_id, artist_id = (content for _, content, _ in cells(of_album))
    assert artist_id == cells(of_artist)[0][1] == entity("1", "table:Artist.ArtistId")
    assert album_id == entity("1", "table:Album.AlbumId")
    assert album_id.key != artist_id.key


def test_a_table_may_refer_to_itself_and_to_rows_that_are_not_there() -> None:
    key = ForeignKey(columns=("boss",), table="E", references=("id",))
    table = TableSchema(
        name="E", columns=("id", "boss"), types=("integer", "integer"), primary_key=("id",), foreign_keys=(key,)
    )

    structures = convert(rows_of(table, [["1", None], ["2", "1"], ["2", "99"], [None, "2"]]))

    shown = [[content for _, content, _ in cells(s)] for s in structures]
    scope = "table:E.id"
    assert shown[0] == [entity("1", scope), NULL]
    assert shown[1] == [entity("2", scope), entity("1", scope)]
    assert shown[2] == [entity("2", scope), entity("99", scope)]
    assert shown[3] == [NULL, entity("2", scope)]


COMPOSITE = TableSchema(
    name="Loan",
    columns=("id", "author", "number"),
    types=("string", "integer", "integer"),
    primary_key=("id", "author"),
    foreign_keys=(
        ForeignKey(columns=("author",), table="Author", references=("id",)),
        ForeignKey(columns=("author", "number"), table="Book", references=("author_id", "no.")),
    ),
)


def test_a_composite_key_is_a_further_entity_of_all_its_parts() -> None:
    (structure,) = convert(rows_of(COMPOSITE, [['a"b', "1", "2"]]))

    assert cells(structure) == [
        ("Loan#id", literal('a"b'), 0),
        ("Loan#author", entity("1", "table:Author.id"), 0),
        ("Loan#number", literal("2", "table:integer"), 0),
        ("Loan#key:id+author", entity('["a\\"b","1"]', "table:Loan.id+author"), 0),
        ("Loan#key:author+number", entity('["1","2"]', "table:Book.author_id+no%2E"), 0),
    ]


def test_a_composite_key_with_a_null_part_is_absent() -> None:
    structures = convert(rows_of(COMPOSITE, [["a", "1", None], [None, "1", "2"]]))

    assert [[role for role, _, _ in cells(s)][3:] for s in structures] == [
        ["Loan#key:id+author"],
        ["Loan#key:author+number"],
    ]


def test_a_second_key_of_one_column_stands_beside_its_cell() -> None:
    keys = tuple(ForeignKey(columns=("id",), table=t, references=("id",)) for t in ("Person", "Agent", "Pupil"))
    table = TableSchema(name="Pupil", columns=("id",), types=("string",), primary_key=("id",), foreign_keys=keys)

    (structure,) = convert(rows_of(table, [["7"]]))

    assert cells(structure) == [
        ("Pupil#id", entity("7", "table:Pupil.id"), 0),
        ("Pupil#key:id", entity("7", "table:Person.id"), 0),
        ("Pupil#key:id", entity("7", "table:Agent.id"), 1),
    ]


def test_equal_cells_of_several_columns_are_one_content_and_types_keep_them_apart() -> None:
    table = TableSchema(name="T", columns=("a", "b", "c"), types=("integer", "integer", "string"))

    batch = TABLES.convert(rows_of(table, [["1", "2", "1"], ["2", "1", "1"]]), TableOptions())

    lexicals = batch.contents["lexical"].to_pylist()
    assert sorted(lexicals) == [b"", b"1", b"1", b"2"]  # NULL, two integers, a text


def test_rows_may_be_joined_in_structures() -> None:
    table = TableSchema(name="T", columns=("a", "b"), types=("string", "string"))
    rows = [[str(n), None if n % 2 else "x"] for n in range(5)]

    structures = convert(rows_of(table, rows), rows_per_structure=2)

    assert [len(s.instances) for s in structures] == [2, 2, 1]
    assert [s.source for s in structures] == [(3, 0, 19), (3, 20, 39), (3, 40, 49)]
    found = [[c.text for _, c, _ in cells(s, e)] for s in structures for e in range(len(s.instances))]
    assert found == [["0", "x"], ["1", ""], ["2", "x"], ["3", ""], ["4", "x"]]


def test_a_dialect_is_a_structure_before_the_rows() -> None:
    table = TableSchema(name="T", columns=("a", "b"), types=("string", "string"))
    dialect = {
        "begin": 0,
        "end": 4,
        "has_bom": True,
        "quoted": (1,),
        "other_nulls": 2,
        "quote": None,
        "has_header": False,
    }

    head, row = convert(rows_of(table, [["x", "y"]], dialect))

    assert [e.label for e in head.instances] == ["dialect"]
    assert head.source == (3, 0, 4)
    assert head.record_id != row.record_id
    assert [(role, c.text, position) for role, c, position in cells(head)] == [
        ("dialect#table", "T", 0),
        ("dialect#column", "a", 0),
        ("dialect#column", "b", 1),
        ("dialect#has_bom", "true", 0),
        ("dialect#quoted", "1", 0),
        ("dialect#other_nulls", "2", 0),
    ]


def test_a_table_without_rows_has_its_dialect_alone() -> None:
    table = TableSchema(name="T", columns=("a",), types=("string",))

    assert convert(rows_of(table, [])) == []
    assert len(convert(rows_of(table, [], {"begin": 0, "end": 2, "has_bom": False}))) == 1


@given(st.lists(st.text(st.sampled_from("ab#%:.+3A2key"), max_size=8), unique=True, max_size=8))
def test_roles_and_scopes_tell_any_names_apart(names: list[str]) -> None:
    roles = [column_role("T", name) for name in names]
    scopes = {key_scope(table, (column,)) for table in names for column in names}
    pairs = {key_scope("T", (first, second)) for first in names for second in names}

    assert [column_of_side(role.side) for role in roles] == names
    assert len(scopes) == len(pairs) == len(names) ** 2
    assert not scopes & pairs


def test_the_side_of_a_composite_key_is_no_column_s() -> None:
    assert column_role("T", "key") == Role("T", "key")
    assert column_role("T", "key:a+b") == Role("T", "key%3Aa+b")
    assert column_of_side("key:a+b") is None


CELLS = st.none() | st.text(st.characters(codec="utf-8"), max_size=4)


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=6), st.integers(1, 4))
@settings(deadline=None)
def test_any_cells_come_out_of_the_structures_as_they_went_in(rows: list[list[str | None]], size: int) -> None:
    structures = convert(rows_of(COMPOSITE, rows), rows_per_structure=size)

    found = [
        [
            None if c.kind == ContentKind.NULL else c.text
            for role, c, _ in cells(s, e)
            if not role.startswith("Loan#key:")
        ]
        for s in structures
        for e in range(len(s.instances))
    ]
    assert found == rows


def test_a_structure_has_at_least_one_row() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        TableOptions(rows_per_structure=0)


def test_the_sample_s_books_are_the_ones_that_were_lent(root: Path) -> None:
    folder = root / "sample_data/tables"
    options = CsvOptions(schema=str(folder / "datapackage.json"))
    shown: dict[str, set[bytes]] = {}
    for file in find_inputs([str(folder)], suffixes=CSV.suffixes):
        for records in CSV.read(InputSlice(file=file), options, lambda e: pytest.fail(str(e))):
            for structure in convert(records)[1:]:
                for role, content, _ in cells(structure):
                    shown.setdefault(role, set()).add(content.key)

    lent, books = shown["loans#key:author_id+number"], shown["books#key:author_id+number"]
    assert len(lent & books) == 4
    assert len(lent - books) == 1  # one loan refers to a book that is not there
    assert shown["authors#mentor_id"] & shown["authors#author_id"]
    assert shown["books#author_id"] <= shown["authors#author_id"]
