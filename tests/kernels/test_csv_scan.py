"""The scanner of delimited text against its plain twin and Python's csv module."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.kernels import csv_scan
from lisdata.kernels.csv_scan import (
    MAX_FAULTS,
    NO_QUOTE,
    QUOTED,
    Outcome,
    Scan,
    gather_column,
    gather_columns,
    scan_cells,
)
from lisdata.kernels.plain_csv_scan import scan_rows

MARKS = st.sampled_from(
    [b",", b'"', b"\n", b"\r\n", b"\r", b"a", b"bc", b'""', b"\xff", b";", b"as long as a word or two"]
)
TEXTS = st.lists(MARKS, max_size=30).map(b"".join)
Rows = list[tuple[int, int, list[tuple[bytes, bool]]]]


def scan(data: bytes, num_columns: int, *, final: bool = True, quote: int = ord('"')) -> Scan:
    view = np.frombuffer(data, np.uint8)
    return scan_cells(view, 0, final=final, delimiter=ord(","), quote=quote, num_columns=num_columns)


def rows_of(data: bytes, found: Scan, quote: int = ord('"')) -> Rows:
    cells, view = found.cells, np.frombuffer(data, np.uint8)
    columns = [gather_column(view, cells, c, quote).to_pylist() for c in range(cells.begin.shape[1])]
    quoted = ((cells.flags & QUOTED) != 0).tolist()
    bounds = zip(cells.row_begin.tolist(), cells.row_end.tolist(), strict=True)
    texts = zip(*columns, strict=True)
    return [(b, e, list(zip(t, q, strict=True))) for (b, e), t, q in zip(bounds, texts, quoted, strict=True)]


def faults_of(found: Scan) -> list[tuple[str, int, int]]:
    return [(Outcome(f[0]).name.lower().replace("_", " "), f[1], f[2]) for f in found.faults.tolist()]


@given(data=TEXTS, num_columns=st.integers(1, 4), has_quote=st.booleans())
@settings(deadline=None, max_examples=300)
def test_any_bytes_are_scanned_as_the_plain_twin_does(data: bytes, num_columns: int, has_quote: bool) -> None:
    quote = ord('"') if has_quote else NO_QUOTE
    expected = list(scan_rows(data, b",", b'"' if has_quote else None))

    found = scan(data, num_columns, quote=quote)

    good = [(b, e, cells) for b, e, o, cells in expected if o == "whole" and len(cells) == num_columns]
    bad = [
        ("num cells" if o == "whole" else o, b, e)
        for b, e, o, cells in expected
        if o != "whole" or len(cells) != num_columns
    ]
    assert rows_of(data, found, quote) == good
    assert faults_of(found) == bad
    assert found.next_row == len(data)


@given(data=TEXTS, rest=TEXTS, num_columns=st.integers(1, 3))
@settings(deadline=None, max_examples=200)
def test_what_is_found_before_the_end_is_known_does_not_change_with_more_bytes(
    data: bytes, rest: bytes, num_columns: int
) -> None:
    first = scan(data, num_columns, final=False)

    whole = scan(data + rest, num_columns)

    assert rows_of(data + rest, whole)[: first.cells.num_rows] == rows_of(data, first)
    assert faults_of(whole)[: len(first.faults)] == faults_of(first)


@given(st.lists(st.lists(st.text(st.characters(codec="utf-8"), max_size=6), min_size=2, max_size=2), max_size=6))
@settings(deadline=None)
def test_what_python_writes_is_read_back(rows: list[list[str]]) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows(rows)

    found = rows_of(stream.getvalue().encode(), scan(stream.getvalue().encode(), 2))

    assert [[text.decode() for text, _ in cells] for _, _, cells in found] == rows


def test_a_row_that_is_cut_is_left() -> None:
    for cut in (b"1,2", b'1,"2', b'1,"2"', b"1,2\r", b'1,"2""'):
        found = scan(b"a,b\n" + cut, 2, final=False)

        assert found.cells.num_rows == 1
        assert found.next_row == 4
        assert len(found.faults) == 0


def test_only_a_cut_inside_quotes_names_the_open_quote() -> None:
    assert scan(b'a,b\n1,"x\n', 2, final=False).opened == 6
    assert scan(b"a,b\n1,x", 2, final=False).opened == -1


def test_a_scan_stops_when_its_room_for_faults_is_full() -> None:
    data = b"x\n" * (MAX_FAULTS + 5) + b"1,2\n"

    first = scan(data, 2)
    second = scan(data[first.next_row :], 2)

    assert (len(first.faults), first.cells.num_rows) == (MAX_FAULTS, 0)
    assert (len(second.faults), second.cells.num_rows) == (5, 1)


def test_too_many_bytes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_scan, "MAX_BYTES", 3)

    with pytest.raises(ValueError, match="at most 3 bytes"):
        scan(b"a,b\n", 2)


@given(data=TEXTS, columns=st.lists(st.integers(0, 2), max_size=4))
@settings(deadline=None)
def test_columns_that_are_gathered_together_are_those_gathered_one_by_one(data: bytes, columns: list[int]) -> None:
    cells, view = scan(data, 3).cells, np.frombuffer(data, np.uint8)

    found = gather_columns(view, cells, columns, ord('"'))

    assert found == [gather_column(view, cells, column, ord('"')) for column in columns]
