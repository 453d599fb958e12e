"""Rows of a delimited file that cannot be taken: found while scanning, decoding and checking types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lisdata.inputs import MEBIBYTE
from lisdata.kernels.csv_scan import Cells, Outcome, scan_cells
from lisdata.sources.cell_types import misspelled
from lisdata.sources.delimited_columns import Column
from lisdata.sources.delimited_layout import Layout, undecodable
from lisdata.sources.table_schema import DeclaredField

_MAX_ROW_BYTES = 64 * MEBIBYTE
_EXPECTED = {
    Outcome.STRAY_QUOTE: "quotes only around a cell, and doubled inside",
    Outcome.AFTER_QUOTE: "a delimiter or a line ending after the closing quote",
    Outcome.STRAY_RETURN: "a newline after the carriage return",
    Outcome.OPEN_QUOTE: "a closing quote",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A bad row: its bytes in the block, the byte that is wrong, and why."""

    begin: int
    end: int
    at: int
    expected: str
    found: str


def scan_rows(
    data: bytes, begin: int, num_columns: int, layout: Layout, *, is_last: bool
) -> tuple[Cells, list[Fault], int]:
    """Return the whole rows of `data` from byte `begin` on, the bad ones, and where the row begins that is not whole.

    After a bad quote the scan goes on with the next line, so that no quote swallows more than its own.
    """
    view = np.frombuffer(data, np.uint8)
    parts: list[Cells] = []
    faults: list[Fault] = []
    while True:
        scan = scan_cells(
            view,
            begin,
            final=is_last,
            delimiter=layout.delimiter_byte,
            quote=layout.quote_byte,
            num_columns=num_columns,
        )
        parts.append(scan.cells)
        faults.extend(_describe(data, row.tolist(), num_columns) for row in scan.faults)
        begin = scan.next_row
        if not len(scan.faults) and scan.opened < 0:
            break
        if scan.opened >= 0:
            if len(data) - begin <= _MAX_ROW_BYTES:
                break
            end = data.index(b"\n", begin) + 1
            expected = f"a closing quote within {_MAX_ROW_BYTES >> 20} MiB"
            faults.append(Fault(begin, end, scan.opened, expected, "none"))
            begin = end
    return Cells.concatenate(parts), faults, begin


def _describe(data: bytes, row: list[int], num_columns: int) -> Fault:
    outcome, begin, end, at, num_found = row
    if outcome == Outcome.NUM_CELLS:
        return Fault(begin, end, begin, f"{num_columns} cells", str(num_found))
    found = "the end of the file" if outcome == Outcome.OPEN_QUOTE else repr(chr(data[at]))
    return Fault(begin, end, at, _EXPECTED[Outcome(outcome)], found)


def undecodable_rows(data: bytes, cells: Cells, encoding: str) -> dict[int, Fault]:
    """Return the rows that hold a byte which is no text in the encoding."""
    offsets = undecodable(data, encoding)
    row_end = cells.row_end
    faults: dict[int, Fault] = {}
    for offset, row in zip(offsets, np.searchsorted(cells.row_begin, offsets, side="right") - 1, strict=True):
        if row >= 0 and offset < row_end[row] and row not in faults:
            found = f"byte 0x{data[offset]:02X}"
            faults[int(row)] = _fault_of(cells, int(row), int(offset), f"text in {encoding}", found)
    return faults


def mistyped_rows(cells: Cells, columns: Sequence[Column], fields: Sequence[DeclaredField]) -> dict[int, Fault]:
    """Return the rows with a cell that is not of its column's type, or NULL where a value is required."""
    faults: dict[int, Fault] = {}
    for number, (column, field) in enumerate(zip(columns, fields, strict=True)):
        bad = [(int(row), f"is of type {field.type}") for row in misspelled(column.cells, field.checked_type)]
        if field.required:
            bad += [(int(row), "is not NULL") for row in np.flatnonzero(column.is_null)]
        for row, what in bad:
            found = "NULL" if column.is_null[row] else repr(column.texts[row].as_py()[:80])
            at = int(cells.begin[row, number])
            faults.setdefault(row, _fault_of(cells, row, at, f"a cell that {what} in column {field.name!r}", found))
    return faults


def drop_rows(cells: Cells, bad: dict[int, Fault]) -> Cells:
    """Return the rows that are not in `bad`."""
    return cells.take(np.setdiff1d(np.arange(cells.num_rows), list(bad))) if bad else cells


def _fault_of(cells: Cells, row: int, at: int, expected: str, found: str) -> Fault:
    return Fault(int(cells.row_begin[row]), int(cells.row_end[row]), at, expected, found)
