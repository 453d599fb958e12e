from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import BadRecordError, SchemaError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.records import ForeignKey, RowRecords
from lisdata.registry import load_source
from lisdata.sources import delimited_faults, delimited_rows
from lisdata.sources.delimited import CSV, CsvOptions, parse_foreign_key

TEXTS = st.text(st.sampled_from('a,;"\n\r é0漢'), max_size=5)
TABLES = st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(TEXTS, min_size=width, max_size=width), max_size=8))
Rows = list[dict[str, str | None]]


class Reading:
    """What source csv makes of some bytes."""

    def __init__(self, path: Path, data: bytes, **options: Any) -> None:
        path.write_bytes(data)
        self.errors: list[BadRecordError] = []
        piece = InputSlice(file=find_inputs([str(path)], suffixes=CSV.suffixes)[0])
        self.batches: list[RowRecords] = list(CSV.read(piece, CsvOptions(**options), self.errors.append))

    @property
    def rows(self) -> Rows:
        return [row for batch in self.batches for row in batch.cells.to_pylist()]

    @property
    def texts(self) -> list[tuple[int, int]]:
        return [pair for b in self.batches for pair in zip(b.begin.tolist(), b.end.tolist(), strict=True)]


@pytest.fixture
def read(tmp_path: Path) -> Any:
    return lambda data, name="t.csv", **options: Reading(tmp_path / name, data, **options)


def test_it_is_registered() -> None:
    assert load_source("csv") is CSV


# -- cells -----------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(table=TABLES, is_plain=st.booleans())
def test_cells_are_those_that_python_wrote(
    tmp_path_factory: pytest.TempPathFactory, table: list[list[str]], is_plain: bool
) -> None:
    stream = io.StringIO(newline="")
    style = {"lineterminator": "\r\n"} if is_plain else {"lineterminator": "\n", "quoting": csv.QUOTE_ALL}
    csv.writer(stream, **style).writerows([[f"c{n}" for n in range(len(table[0]) if table else 1)], *table])
    data = stream.getvalue().encode()

    found = Reading(tmp_path_factory.mktemp("csv") / "t.csv", data, null_tokens=())

    assert [list(row.values()) for row in found.rows] == table
    assert b"".join(data[begin:end] for begin, end in found.texts) == data[data.index(b"\n") + 1 :]
    assert found.errors == []


def test_null_is_an_unquoted_empty_cell_and_apart_from_the_empty_string(read: Any) -> None:
    assert read(b'a,b\n,""\n"",\n').rows == [{"a": None, "b": ""}, {"a": "", "b": None}]


def test_other_spellings_of_null_are_an_option(read: Any) -> None:
    found = read(b'a\nNA\n"NA"\n\n-\n', null_tokens=("NA", "-"))

    assert [row["a"] for row in found.rows] == [None, "NA", "", None]


def test_quoted_cells_hold_delimiters_quotes_and_line_endings(read: Any) -> None:
    assert read(b'a,b\r\n"x,""y""","1\n2\r\n3"\r\n').rows == [{"a": 'x,"y"', "b": "1\n2\r\n3"}]


def test_the_last_row_needs_no_newline(read: Any) -> None:
    found = read(b"a,b\n1,2\n3,4")

    assert found.rows == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]
    assert found.texts == [(4, 8), (8, 11)]


def test_numbers_stay_as_they_are_written(read: Any) -> None:
    assert [r["n"] for r in read(b"n\n01\n1.0\n9007199254740993\n+1\n 1\n").rows] == [
        "01", "1.0", "9007199254740993", "+1", " 1",
    ]  # fmt: skip


def test_a_tsv_file_is_cut_at_tabs_and_may_have_no_quotes(read: Any) -> None:
    assert read(b"a\tb\n1,5\t2\n", name="t.tsv").rows == [{"a": "1,5", "b": "2"}]
    assert read(b'a\tb\n"5\t2"x\n', name="t.tsv", quote="").rows == [{"a": '"5', "b": '2"x'}]
    assert read(b"a;b\n1;2\n", delimiter=";").rows == read(b"a\tb\n1\t2\n", delimiter="\\t").rows


def test_a_byte_order_mark_is_no_part_of_the_first_name(read: Any) -> None:
    found = read(b"\xef\xbb\xbfa\n1\n")

    assert found.rows == [{"a": "1"}]
    assert found.batches[0].dialect["has_bom"] is True
    assert found.texts == [(5, 7)]


def test_one_byte_encodings_are_read_and_offsets_are_bytes_of_the_file(read: Any) -> None:
    found = read("naïve,b\nœuvre €,x\n".encode("cp1252"), encoding="cp1252")

    assert found.rows == [{"naïve": "œuvre €", "b": "x"}]
    assert found.texts == [(8, 18)]


def test_without_a_header_columns_are_numbered(read: Any) -> None:
    assert read(b"1,2\n3,4\n", header=False).rows == [
        {"column_1": "1", "column_2": "2"},
        {"column_1": "3", "column_2": "4"},
    ]


def test_a_header_alone_is_a_table_without_rows(read: Any) -> None:
    (batch,) = read(b"a,b\n").batches

    assert batch.num_records == 0
    assert batch.table.columns == ("a", "b")


def test_an_empty_file_without_header_has_nothing(read: Any) -> None:
    found = read(b"", header=False)

    assert (found.batches, found.errors) == ([], [])


def test_blocks_hold_whole_rows_and_count_on(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f'{n},"a{n}\n{"b" * n}"\n' for n in range(40)]
    data = ("k,v\n" + "".join(rows)).encode()
    whole = read(data)
    monkeypatch.setattr(delimited_rows, "_BLOCK_BYTES", 100)

    cut = read(data)

    assert len(cut.batches) > 5
    assert (cut.rows, cut.texts) == (whole.rows, whole.texts)
    assert [o for b in cut.batches for o in b.ordinal.tolist()] == list(range(40))
    assert [b.dialect["begin"] for b in cut.batches[1:]] == [int(b.begin[0]) for b in cut.batches[1:]]


def test_real_tables_are_read_as_python_reads_them(shared: Path) -> None:
    files = find_inputs([str(shared / "data/kg/tables"), str(shared / "data/kg/text_kg")], suffixes=(".csv",))
    assert len(files) == 15

    for file in files:
        batches = CSV.read(InputSlice(file=file), CsvOptions(null_tokens=()), lambda e: pytest.fail(str(e)))
        cells = [list(row.values()) for b in batches for row in b.cells.to_pylist()]
        with file.open() as stream:
            text = io.TextIOWrapper(io.BytesIO(stream.read()), encoding="utf-8", newline="")
        assert cells == list(csv.reader(text))[1:]


# -- bad records -----------------------------------------------------------------------------------------------------

BAD_ROWS = {
    "too few cells": (b"1\n", "t.csv:3:1: expected 2 cells, found 1"),
    "too many cells": (b"1,2,3\n", "t.csv:3:1: expected 2 cells, found 3"),
    "an empty line": (b"\n", "t.csv:3:1: expected 2 cells, found 1"),
    "a quote inside": (b'x"y",2\n', "t.csv:3:2: expected quotes only around a cell, and doubled inside, found '\"'"),
    "text after a quote": (b'"x"y,2\n', "t.csv:3:4: expected a delimiter or a line ending after the closing quote"),
    "a bare return": (b"x\ry,2\n", r"t.csv:3:2: expected a newline after the carriage return, found '\\r'"),
    "bytes that are no text": (b"x,\xe9t\xe9\n", "t.csv:3:3: expected text in utf-8, found byte 0xE9"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD_ROWS)
def test_a_bad_row_is_named_by_its_place_and_left_out(read: Any, what: str) -> None:
    row, message = BAD_ROWS[what]
    data = b"a,b\n0,0\n" + row + b"5,6\n"

    found = read(data)

    (error,) = found.errors
    assert message in str(error).replace("\\r", "\\\\r")
    assert (data[error.begin : error.end], error.data) == (row, row)
    assert found.rows == [{"a": "0", "b": "0"}, {"a": "5", "b": "6"}]
    assert [o for b in found.batches for o in b.ordinal.tolist()] == [0, 2]


def test_an_open_quote_takes_its_own_line_only(read: Any) -> None:
    found = read(b'a,b\n1,"x\n2,y\n3,z\n')

    (error,) = found.errors
    assert str(error) == "t.csv:2:3: expected a closing quote, found the end of the file"
    assert error.data == b'1,"x\n'
    assert [row["b"] for row in found.rows] == ["y", "z"]


def test_an_open_quote_is_given_up_before_it_fills_the_memory(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited_rows, "_BLOCK_BYTES", 64)
    monkeypatch.setattr(delimited_faults, "_MAX_ROW_BYTES", 256)

    found = read(b'a,b\n1,"x\n' + b"2,y\n" * 200)

    (error,) = found.errors
    assert "t.csv:2:3: expected a closing quote within 0 MiB, found none" in str(error)
    assert len(found.rows) == 200


def test_bad_rows_are_reported_in_the_order_of_the_file_and_only_once(read: Any, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"fields": [{"name": "a", "type": "integer"}, {"name": "b"}]}))

    found = read(b"a,b\nx,\xff\ny,1\n1\n2,2\n\xff,3\n", schema=str(schema))

    assert [e.place.line for e in found.errors] == [2, 3, 4, 6]
    assert found.rows == [{"a": "2", "b": "2"}]


def test_more_bad_rows_than_a_scan_notes_are_all_reported(read: Any) -> None:
    found = read(b"a,b\n" + b"x\n" * 3000 + b"1,2\n")

    assert [e.place.line for e in found.errors] == list(range(2, 3002))
    assert len(found.rows) == 1


def test_a_byte_that_a_one_byte_encoding_has_not_is_a_bad_row(read: Any) -> None:
    found = read(b"a\n\x81\nb\n", encoding="cp1252")

    assert str(found.errors[0]) == "t.csv:2:1: expected text in cp1252, found byte 0x81"
    assert found.rows == [{"a": "b"}]


def test_a_real_file_in_another_encoding_is_refused_at_its_place(shared: Path, tmp_path: Path) -> None:
    data = (shared / "data/kg/hif/hnx_harrypotter.csv").read_bytes()
    wrong, right = Reading(tmp_path / "a.csv", data), Reading(tmp_path / "b.csv", data, encoding="mac_roman")

    line = data[: data.index(b"\xbe")].count(b"\n") + 1
    assert wrong.errors[0].place.line == line
    assert wrong.errors[0].found == "byte 0xBE"
    assert right.errors == []
    assert len(right.rows) == len(wrong.rows) + len(wrong.errors)


def test_a_damaged_stream_is_one_bad_record_after_the_rows_that_are_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited_rows, "_BLOCK_BYTES", 1000)
    rows = "".join(f'{n},"{n * 7919 % 1000}\n"\n' for n in range(4000))
    whole = ("a,b\n" + rows).encode()
    packed = gzip.compress(whole)
    (tmp_path / "t.csv.gz").write_bytes(packed[: len(packed) // 2])
    piece = InputSlice(file=find_inputs([str(tmp_path / "t.csv.gz")], suffixes=CSV.suffixes)[0])
    batches: list[RowRecords] = []

    with pytest.raises(BadRecordError, match="expected a whole gzip stream") as caught:  # noqa: PT012 keeps what came
        for batch in CSV.read(piece, CsvOptions(), pytest.fail):
            batches.append(batch)

    texts = b"".join(whole[int(b) : int(e)] for found in batches for b, e in zip(found.begin, found.end, strict=True))
    assert 1000 < len(texts) < len(whole)
    assert whole.startswith(b"a,b\n" + texts)
    assert caught.value.begin == len(b"a,b\n" + texts)


BAD_HEADERS = {
    "a name twice": (b"a,b,a\n1,2,3\n", {}, "t.csv:1:5: expected each column name once, found 'a' again"),
    "no header": (b"", {}, "t.csv:1:1: expected a header row, found the end of the file"),
    "a bad quote": (b'a"b\n1\n', {}, "t.csv:1:2: expected a header row of well-formed cells"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), {}, "found a byte order mark of UTF-16: rows are found byte by byte"),
    "bytes that are no text": (b"a,\xff\n", {}, "t.csv:1:3: expected text in utf-8, found byte 0xFF"),
}


@pytest.mark.parametrize("what", BAD_HEADERS)
def test_a_file_with_a_bad_header_is_one_bad_record(read: Any, what: str) -> None:
    data, options, message = BAD_HEADERS[what]

    found = read(data, **options)

    (error,) = found.errors
    assert message in str(error)
    assert (found.batches, error.begin, error.end) == ([], 0, len(data))


def test_a_bad_header_rejects_the_file_to_its_end(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited_rows, "_BLOCK_BYTES", 16)
    data = b"a,a\n" + b"1,2\n" * 50

    (error,) = read(data).errors

    assert error.end == len(data)


# -- schema files and keys -------------------------------------------------------------------------------------------


def test_cells_are_checked_against_declared_types(read: Any, tmp_path: Path) -> None:
    fields = [{"name": "n", "type": "integer", "constraints": {"required": True}}, {"name": "day", "type": "date"}]
    (tmp_path / "s.json").write_text(json.dumps({"fields": fields}))

    found = read(b"n,day\n1,2024-02-29\nx,\n,2024-01-01\n2,29.2.2024\n", schema=str(tmp_path / "s.json"))

    assert [str(e) for e in found.errors] == [
        "t.csv:3:1: expected a cell that is of type integer in column 'n', found 'x'",
        "t.csv:4:1: expected a cell that is not NULL in column 'n', found NULL",
        "t.csv:5:3: expected a cell that is of type date in column 'day', found '29.2.2024'",
    ]
    assert found.rows == [{"n": "1", "day": "2024-02-29"}]
    assert found.batches[0].table.types == ("integer", "date")


def test_columns_must_be_those_that_are_declared(read: Any, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps({"fields": [{"name": "a"}, {"name": "b"}]}))

    (error,) = read(b"b,a\n1,2\n", schema=str(tmp_path / "s.json")).errors

    assert str(error) == "t.csv:1:1: expected the declared columns a, b, found b, a"


def test_declared_columns_name_those_of_a_file_without_header(read: Any, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps({"fields": [{"name": "a"}, {"name": "b"}]}))

    assert read(b"1,2\n", header=False, schema=str(tmp_path / "s.json")).rows == [{"a": "1", "b": "2"}]


def test_the_resource_of_the_file_gives_name_keys_dialect_and_missing_values(read: Any, tmp_path: Path) -> None:
    schema = {
        "fields": [{"name": "id"}, {"name": "up"}, {"name": "x"}],
        "primaryKey": "id",
        "foreignKeys": [
            {"fields": "up", "reference": {"resource": "", "fields": "id"}},
            {"fields": ["up", "x"], "reference": {"resource": "Other", "fields": ["a", "b"]}},
        ],
        "missingValues": ["NA"],
    }
    dialect = {"delimiter": ";", "quoteChar": "'"}
    resource = {"name": "Tree", "path": "data/t.csv", "schema": schema, "dialect": dialect, "encoding": "latin-1"}
    package = {"resources": [{"name": "t", "path": "other.csv", "schema": {"fields": []}}, resource]}
    (tmp_path / "p.json").write_text(json.dumps(package))

    found = read("id;up;x\n'é;';NA;\n".encode("latin-1"), schema=str(tmp_path / "p.json"))

    table = found.batches[0].table
    assert found.rows == [{"id": "é;", "up": None, "x": ""}]
    assert (table.name, table.primary_key) == ("Tree", ("id",))
    assert table.foreign_keys == (
        ForeignKey(columns=("up",), table="Tree", references=("id",)),
        ForeignKey(columns=("up", "x"), table="Other", references=("a", "b")),
    )


def test_keys_and_the_table_s_name_are_options(read: Any) -> None:
    options = {"primary_key": ("a", "b"), "foreign_key": ("a=T.x", "a+b=U.y+z")}

    table = read(b"a,b\n1,2\n", name="Some.Table.csv", **options).batches[0].table

    assert (table.name, table.primary_key) == ("Some.Table", ("a", "b"))
    assert table.foreign_keys == (
        ForeignKey(columns=("a",), table="T", references=("x",)),
        ForeignKey(columns=("a", "b"), table="U", references=("y", "z")),
    )
    assert read(b"a\n", table="Named").batches[0].table.name == "Named"


@pytest.mark.parametrize("options", [{"primary_key": ("x",)}, {"foreign_key": ("x=T.y",)}])
def test_a_key_of_a_column_that_is_not_there_is_refused(read: Any, options: Any) -> None:
    with pytest.raises(SchemaError, match=r"t.csv: (primary|foreign) key: expected one of a, b, found 'x'"):
        read(b"a,b\n", **options)


@pytest.mark.parametrize("text", ["a", "a=T", "a=.x", "=T.x", "a+b=T.x", "a=T."])
def test_a_malformed_foreign_key_is_a_wrong_argument(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected a foreign key as column=Table\.column"):
        parse_foreign_key(text)


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ";;"}, {"delimiter": "é"}, {"delimiter": "\n"}, {"delimiter": '"'}, {"quote": "''"},
        {"encoding": "utf-16"}, {"encoding": "shift_jis"}, {"encoding": "cp037"}, {"encoding": "no such"},
        {"foreign_key": ("a",)},
    ],
)  # fmt: skip
def test_wrong_options_are_wrong_arguments(options: Any) -> None:
    with pytest.raises(ValueError, match=r"expected|unknown"):
        CsvOptions(**options)


def test_an_encoding_of_wider_units_is_refused_with_the_way_out() -> None:
    with pytest.raises(ValueError, match=r"got 'UTF_16LE': .* make the file UTF-8 first \(iconv"):
        CsvOptions(encoding="UTF_16LE")


def test_a_file_is_never_cut(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a\n1\n")
    piece = InputSlice(file=find_inputs([str(tmp_path / "t.csv")], suffixes=CSV.suffixes)[0])

    assert not CSV.splits
    with pytest.raises(ValueError, match="read whole"):
        CSV.find_cut(piece, 2, CsvOptions())
