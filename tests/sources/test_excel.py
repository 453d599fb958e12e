from __future__ import annotations

import datetime as dt
import io
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisdata.conversion import convert
from lisdata.datasets import export, verify
from lisdata.errors import BadRecordError, SchemaError
from lisdata.registry import load_source
from lisdata.shards import IncidenceDataset
from lisdata.sources import excel_archive
from lisdata.sources.excel import EXCEL

openpyxl = pytest.importorskip("openpyxl")


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def cells(path: Path) -> dict[str, list[tuple[str, str, str | None]]]:
    found: dict[str, list[tuple[str, str, str | None]]] = {}
    for structure in IncidenceDataset(path).iter_structures():
        for i in structure.incidences:
            if i.role.relation != "dialect":
                content = structure.occurrences[i.occurrence].content
                found.setdefault(i.role.label, []).append((content.kind.name, content.text, content.datatype))
    return found


def test_it_is_registered() -> None:
    assert load_source("excel") is EXCEL


def test_cells_have_their_kinds_and_empty_ones_are_null(tmp_path: Path) -> None:
    rows = [
        ["a", None, "c"],
        [1, "1", 1.5],
        [True, None, dt.datetime(2024, 2, 1, 6)],
        [],
        ["#DIV/0!", "007", dt.timedelta(hours=30)],
        [9007199254740992, " é漢\n", dt.time(1, 2)],
        [None, None, None],
    ]
    path = workbook(tmp_path / "t.xlsx", {"S 1": rows, "Empty": []})
    manifest = convert("excel", path, tmp_path / "data")

    assert manifest["inputs"][0]["records"] == {"seen": 5, "converted": 5, "rejected": 0}
    assert not verify(tmp_path / "data").problems
    null = ("NULL", "", None)
    assert cells(tmp_path / "data") == {
        "S 1#a": [
            ("LITERAL", "1", "table:integer"),
            ("LITERAL", "true", "table:boolean"),
            null,
            ("LITERAL", "#DIV/0!", "table:error"),
            ("LITERAL", "9007199254740992", "table:integer"),
        ],
        "S 1#column_2": [
            ("LITERAL", "1", None),
            null,
            null,
            ("LITERAL", "007", None),
            ("LITERAL", " é漢\n", None),
        ],
        "S 1#c": [
            ("LITERAL", "1.5", "table:number"),
            ("LITERAL", "2024-02-01 06:00:00", "table:datetime"),
            null,
            ("LITERAL", "108000000000us", "table:duration"),
            ("LITERAL", "01:02:00", "table:time"),
        ],
    }


def test_the_sample_goes_to_a_folder_of_csv_files_and_what_these_lack_is_told(root: Path, tmp_path: Path) -> None:
    manifest = convert("excel", root / "sample_data/excel/boats.xlsx", tmp_path / "data")

    (report,) = export(tmp_path / "data", tmp_path / "out")

    assert manifest["report"]["formulas_read_as_values"] == 1
    assert report.losses == {"formulas": 1, "formulas without a value, read as NULL": 1, "types of cells": 9}
    assert sorted(path.name for path in report.files) == ["Boats.csv", "Crew.csv"]
    assert (tmp_path / "out/Crew.csv").read_bytes().decode() == 'boat,sailor\r\nAnna,"Okafor, Ngozi"\r\nAnna,é漢\r\n'


@pytest.mark.parametrize("header", [True, False])
def test_the_day_that_excel_alone_has_is_told(header: bool, tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", {"A": [["x"], [59], [60], [60.25], [61], [60]]})
    book = openpyxl.load_workbook(path)
    for row in range(2, 6):
        book["A"].cell(row, 1).number_format = "yyyy-mm-dd"
    book.save(path)

    manifest = convert("excel", path, tmp_path / "data", options={"header": header})
    (report,) = export(tmp_path / "data", tmp_path / "out")

    assert manifest["report"] == {"cells_of_28_or_29_february_1900": 3}
    assert report.losses["28 and 29 February 1900, read as one date"] == 3


@given(
    st.lists(
        st.sampled_from(["<f>A1</f><v>2</v>", "<f>A1</f>", '<f t="shared" si="0"/><v/>', "<f/><v></v>", "<v>1</v>"])
    ),
    st.integers(1, 60),
)
def test_formulas_without_a_value_are_counted_wherever_a_sheet_is_cut(cells: list[str], size: int) -> None:
    sheet = "<sheetData><row>" + "".join(f'<c r="A{n}">{cell}</c>' for n, cell in enumerate(cells)) + "</row>"
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(excel_archive, "MEBIBYTE", size)
        patch.setattr(excel_archive, "_PROLOG_BYTES", size)
        with zipfile.ZipFile(f"{folder}/a.zip", "w") as archive:
            archive.writestr("xl/worksheets/sheet1.xml", sheet)
        found = excel_archive.check_archive(f"{folder}/a.zip", 1 << 20)

    wanted = {
        excel_archive.FORMULAS: sum("<f" in cell for cell in cells),
        excel_archive.EMPTY_FORMULAS: sum("<f" in cell and "<v>2" not in cell for cell in cells),
    }
    assert found == {name: count for name, count in wanted.items() if count}


def test_sheets_may_be_chosen_and_have_no_header(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", {"A": [["x"]], "B": [[1], [2, 3]]})

    convert("excel", path, tmp_path / "data", options={"sheet": ("B",), "header": False})

    assert {role: [c[1] for c in column] for role, column in cells(tmp_path / "data").items()} == {
        "B#column_1": ["1", "2"],
        "B#column_2": ["", "3"],
    }
    with pytest.raises(SchemaError, match=r"t\.xlsx: expected one of the sheets A, B, found 'C'"):
        convert("excel", path, tmp_path / "no", options={"sheet": ("C",)})


def test_a_row_that_is_too_long_and_a_name_that_comes_twice_are_bad_records(tmp_path: Path) -> None:
    sheets = {"Long": [["a"], [1], [2, 3], [4]], "Twice": [["a", "a"], [1, 2]], "Good": [["a"], [5]]}
    path = workbook(tmp_path / "t.xlsx", sheets)

    manifest = convert("excel", path, tmp_path / "data", on_error="quarantine")

    assert manifest["inputs"][0]["records"] == {"seen": 5, "converted": 3, "rejected": 2}
    assert [c[1] for c in cells(tmp_path / "data")["Good#a"]] == ["5"]
    reasons = (tmp_path / "data/rejects/unit-00000.jsonl").read_text()
    assert '"place":"t.xlsx[Long]:3","expected":"at most 1 cells","found":"2"' in reasons
    assert '"place":"t.xlsx[Twice]:1","expected":"each column name once","found":"\'a\' again"' in reasons


def test_many_rows_come_in_batches_without_the_empty_ones_at_the_end(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["n"], *([n] for n in range(5000)), *([[None]] * 5000), [7], *([[None]] * 5000)]
    path = workbook(tmp_path / "t.xlsx", {"S": rows})

    manifest = convert("excel", path, tmp_path / "data", options={})

    assert manifest["inputs"][0]["records"]["converted"] == 10_001


def patched(path: Path, part: str, data: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, data if entry.filename == part else old.read(entry))
    return stream.getvalue()


def test_bombs_and_files_that_are_no_workbooks_are_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "good.xlsx", {"S": [["a"], [1]]})
    entities = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    sheet = "xl/worksheets/sheet1.xml"
    namespace = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    bad_number = b'<worksheet %s><sheetData><row r="1"><c r="A1"><v>x</v></c></row></sheetData></worksheet>' % namespace
    cases = {
        "zeros": (patched(path, sheet, bytes(2 << 20)), "at most 1 MiB when decompressed"),
        "doctype": (
            patched(path, sheet, entities),
            "XML without a document type, found one in xl/worksheets/sheet1.xml",
        ),
        "wide": (patched(path, sheet, entities.decode().encode("utf-16")), "XML without a document type"),
        "text": (b"no zip", "an Excel workbook .*ZIP archive, found File is not a zip file"),
        "cut": (path.read_bytes()[:-30], "an Excel workbook"),
        "zip": (patched(path, "[Content_Types].xml", b"<x/>"), "an Excel workbook"),
        "xml": (patched(path, sheet, b"<worksheet><sheetData><row>"), "an Excel workbook"),
        "value": (patched(path, sheet, bad_number), "a sheet that can be read"),
    }
    for name, (data, message) in cases.items():
        (tmp_path / f"{name}.xlsx").write_bytes(data)
        with pytest.raises(BadRecordError, match=rf"{name}\.xlsx.*: expected {message}"):
            convert("excel", tmp_path / f"{name}.xlsx", tmp_path / name, options={"max_expanded_mib": 1})
        manifest = convert(
            "excel",
            tmp_path / f"{name}.xlsx",
            tmp_path / f"{name}-kept",
            on_error="skip",
            options={"max_expanded_mib": 1},
        )
        assert manifest["inputs"][0]["records"] == {"seen": 1, "converted": 0, "rejected": 1}, name


@pytest.mark.parametrize("num_empty", [0, 3, 8191, 8192, 8193, 30_000])
def test_empty_rows_count_as_rows_where_another_one_follows(tmp_path: Path, num_empty: int) -> None:
    """However far down the next cell is: the empty rows before it are looked at once."""
    book = openpyxl.Workbook()
    book.active.append(["a"])
    book.active.append(["near"])
    book.active.cell(3 + num_empty, 1, "far")
    book.active.cell(3 + num_empty + 5, 1).number_format = "0.00"  # an empty cell behind the last row
    book.save(tmp_path / "t.xlsx")

    manifest = convert("excel", tmp_path / "t.xlsx", tmp_path / "data")

    assert manifest["inputs"][0]["records"]["converted"] == num_empty + 2
    assert not verify(tmp_path / "data").problems


@pytest.mark.parametrize(
    ("corner", "header", "row", "found"),
    [
        ("XFD1048576", False, 1_048_576, "1048576 rows of 16384 columns"),
        ("A1048576", True, 1_048_576, "1048576 rows of 1 columns"),
        ("ZZZ7", False, 7, "7 rows of 18278 columns"),
    ],
)
def test_a_cell_far_away_is_refused_before_the_empty_ones_are_made(
    tmp_path: Path, corner: str, header: bool, row: int, found: str
) -> None:
    path = tmp_path / "far.xlsx"
    cells_ = f'<row r="1"><c r="A1"><v>1</v></c></row><row r="{row}"><c r="{corner}"><v>2</v></c></row>'
    path.write_bytes(patched(workbook(path, {"Wide": [["a"]]}), "xl/worksheets/sheet1.xml", sheet_of(cells_)))
    options = {"header": header, "max_cells": 100_000}

    with pytest.raises(BadRecordError) as caught:
        convert("excel", path, tmp_path / "data", options=options)

    assert str(caught.value) == (
        f"far.xlsx[Wide]:{row}: expected a sheet of at most 100000 cells (--max-cells), found {found}"
    )
    manifest = convert("excel", path, tmp_path / "kept", options=options, on_error="skip")
    assert manifest["inputs"][0]["records"] == {"seen": 1, "converted": 0, "rejected": 1}


def test_rows_that_are_wide_and_empty_but_for_their_end_are_refused_together(tmp_path: Path) -> None:
    rows = "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 20))
    path = tmp_path / "t.xlsx"
    path.write_bytes(patched(workbook(path, {"S": []}), "xl/worksheets/sheet1.xml", sheet_of(rows)))

    with pytest.raises(BadRecordError, match=r"t\.xlsx\[S\]:7: .* \(--max-cells\), found 114688 up to row 7"):
        convert("excel", path, tmp_path / "data", options={"max_cells": 100_000})


def test_a_row_that_no_sheet_has_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    rows = '<row r="1"><c r="A1"><v>1</v></c></row><row r="9999999999999"><c><v>1</v></c></row>'
    path.write_bytes(patched(workbook(path, {"S": []}), "xl/worksheets/sheet1.xml", sheet_of(rows)))

    with pytest.raises(BadRecordError, match=r"t\.xlsx\[S\]:1048577: expected at most 1048576 rows in a sheet"):
        convert("excel", path, tmp_path / "data")


def test_a_limit_can_be_raised_to_what_a_sheet_has(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", {"S": [["a", "b"], [1, 2], [], [3]]})

    manifest = convert("excel", path, tmp_path / "data", options={"max_cells": 8})

    assert manifest["inputs"][0]["records"]["converted"] == 3
    with pytest.raises(BadRecordError, match="found 4 rows of 2 columns"):
        convert("excel", path, tmp_path / "less", options={"max_cells": 7})
    with pytest.raises(ValueError, match="at least 1 cell"):
        convert("excel", path, tmp_path / "none", options={"max_cells": 0})


def sheet_of(rows: str) -> bytes:
    namespace = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    return f"<worksheet {namespace}><sheetData>{rows}</sheetData></worksheet>".encode()
