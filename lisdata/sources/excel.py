"""Excel workbooks (.xlsx): each sheet a table, exact cells with their kind; only read.

openpyxl reads them: it streams rows and tells numbers, texts, truth values, dates and errors apart, which the faster
readers (calamine) do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa

from lisdata.errors import BadRecordError, Place, PlanError, SchemaError
from lisdata.inputs import MEBIBYTE, InputSlice
from lisdata.records import RowRecords, TableSchema
from lisdata.registry import Reject
from lisdata.sources.arrow_rows import bad_file, row_ends
from lisdata.sources.excel_archive import EMPTY_FORMULAS, FORMULAS, BadWorkbookError, check_archive
from lisdata.sources.random_access import MAX_COPY_MIB, local_path
from lisdata.sources.sql_cells import ErrorValue, spell_column

if TYPE_CHECKING:
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

_BATCH_ROWS = 4096
_BATCH_CELLS = 1 << 23
_MAX_ROWS = 1 << 20  # that a sheet of Excel can have
_SAME_DATES = "cells_of_28_or_29_february_1900"
_LEFT_OUT = {"formulas": FORMULAS, "empty_formulas": EMPTY_FORMULAS, "same_dates": _SAME_DATES}
# How the CSV file is written that a sheet can be exported to.
_STYLE = {"delimiter": ",", "quote": '"', "encoding": "utf-8", "null_tokens": ("",), "line_ending": "\r\n"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcelOptions:
    """Options of source excel."""

    sheet: tuple[str, ...] = field(default=(), metadata={"help": "Only this sheet; all of them by default."})
    header: bool = field(default=True, metadata={"help": "The first row of a sheet names the columns."})
    max_cells: int = field(
        default=100_000_000,
        metadata={"help": "Most cells of a sheet, the empty ones before its last row and column among them."},
    )
    max_expanded_mib: int = field(
        default=1024, metadata={"help": "Largest workbook when decompressed: a bigger one is refused."}
    )
    max_copy_mib: int = field(
        default=MAX_COPY_MIB, metadata={"help": "Largest temporary copy of a file that is compressed or remote."}
    )

    def __post_init__(self) -> None:
        if self.max_cells < 1:
            raise ValueError(f"expected a limit of at least 1 cell, got {self.max_cells=}")


@dataclass(frozen=True, slots=True)
class ExcelSource:
    """Reads the sheets of a workbook; a formula is its value as last computed, and an empty cell is NULL.

    A formula that was never computed is NULL too, and Excel's 29 February 1900, which was no day, is the 28th: both are
    counted, for the manifest and as losses of an export.
    """

    name: str = "excel"
    summary: str = "Excel workbooks (.xlsx, read only): sheets as tables, exact cells and their kinds"
    suffixes: tuple[str, ...] = (".xlsx", ".xlsm")
    converter: str = "tables"
    exporter: str = "csv"
    splits: bool = False
    options_type: type[ExcelOptions] = ExcelOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: ExcelOptions) -> int:
        """Raise ValueError: a workbook is never cut."""
        raise ValueError(f"a workbook is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: ExcelOptions, reject: Reject) -> Iterator[RowRecords]:
        """Yield the rows of one sheet after another.

        A row with more cells than there are columns is a bad record; so is a sheet with two columns of one name, the
        rest of a sheet with too many cells, and a file that is no workbook, or one that expands beyond the limit.
        """
        with local_path(piece.file, options.max_copy_mib) as path:
            try:
                counts = check_archive(path, options.max_expanded_mib * MEBIBYTE)
                yield from _read_workbook(path, piece, options, reject, counts)
            except BadWorkbookError as error:
                reject(bad_file(piece, error.expected, error.found))


class _LargeSheetError(Exception):
    """A sheet goes on for too many cells, most of them perhaps empty: a cell far away is enough."""

    def __init__(self, row: int, expected: str, found: str) -> None:
        self.row, self.expected, self.found = row, expected, found
        super().__init__(f"row {row}: expected {expected}, found {found}")


def _read_workbook(
    path: str, piece: InputSlice, options: ExcelOptions, reject: Reject, counts: dict[str, int]
) -> Iterator[RowRecords]:
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError as error:
        raise PlanError('workbooks need openpyxl: pip install "lisdata[excel]"') from error
    with Path(path).open("rb") as stream:  # openpyxl judges a path by its suffix
        try:
            workbook = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        except (
            InvalidFileException,
            OSError,
            LookupError,
            ValueError,
            TypeError,
            AttributeError,
            SyntaxError,
        ) as error:
            raise BadWorkbookError("an Excel workbook", str(error) or type(error).__name__) from error
        with closing(workbook):
            sheets = {sheet.title: sheet for sheet in workbook.worksheets}
            for name in options.sheet:
                if name not in sheets:
                    has = ", ".join(sheets) or "(none)"
                    raise SchemaError(f"{piece.file.name}: expected one of the sheets {has}, found {name!r}")
            reader = _SheetReader(piece, options, reject, counts)
            for name in options.sheet or sheets:
                yield from reader.read(name, sheets[name])


@dataclass(slots=True)
class _SheetReader:
    """Reads sheets; rows are numbered through the whole workbook."""

    piece: InputSlice
    options: ExcelOptions
    reject: Reject
    counts: dict[str, int]
    ordinal: int = 0
    offset: int = 0

    def read(self, name: str, sheet: ReadOnlyWorksheet) -> Iterator[RowRecords]:
        """Yield the rows of a sheet, up to the last one that has a cell."""
        try:
            yield from self._read(name, sheet)
        except _LargeSheetError as error:
            self._reject_at(name, error.row, error.expected, error.found, [])
        except (ValueError, TypeError, KeyError, IndexError, SyntaxError, OverflowError) as error:
            self._reject_at(name, 1, "a sheet that can be read", str(error) or type(error).__name__, [])

    def _read(self, name: str, sheet: ReadOnlyWorksheet) -> Iterator[RowRecords]:
        sheet.reset_dimensions()  # what a file says of them may be wrong
        rows = self._rows(sheet)
        first = 1
        if self.options.header:
            names = _names_of(next(rows, []))
            first = 2
        else:
            num_rows, width = _extent(rows)
            self.counts.pop(_SAME_DATES, None)  # the rows are read again
            self._check_cells(num_rows, width)
            names = [f"column_{number + 1}" for number in range(width)]
            rows = self._rows(sheet)
        if not names:
            return
        twice = next((column for number, column in enumerate(names) if column in names[:number]), None)
        if twice is not None:
            self._reject_at(name, 1, "each column name once", f"{twice!r} again", names)
            return
        table = TableSchema(name=name, columns=tuple(names), types=("string",) * len(names))
        has_any = False
        num_empty = 0  # rows that count only if another one follows: a cell far down leaves very many
        size = max(1, min(_BATCH_ROWS, _BATCH_CELLS // len(names)))
        while batch := list(islice(rows, size)):
            kept = _without_end(batch, is_empty=lambda row: not _without_end(row))
            if not kept:
                num_empty += len(batch)
                continue
            found: list[list[Any]] = [[]] * num_empty + kept
            num_empty = len(batch) - len(kept)
            self._check_cells(first + len(found) - 1, len(names))
            for begin in range(0, len(found), size):
                yield self._records(table, first, found[begin : begin + size])
                has_any, first = True, first + min(size, len(found) - begin)
        if not has_any:
            yield self._records(table, first, [])

    def _rows(self, sheet: ReadOnlyWorksheet) -> Iterator[list[Any]]:
        """Yield the values of each row up to its last cell; _LargeSheetError where they are too many."""
        num_cells = 0
        for number, row in enumerate(sheet.iter_rows(), start=1):
            num_cells += len(row)
            if num_cells > self.options.max_cells:
                raise self._too_large(number, f"{num_cells} up to row {number}")
            if number > _MAX_ROWS:
                raise _LargeSheetError(number, f"at most {_MAX_ROWS} rows in a sheet", "another one")
            yield list(map(self._value_of, row))

    def _value_of(self, cell: Any) -> Any:
        value = cell.value
        if cell.data_type == "e" and isinstance(value, str):
            return ErrorValue(value)
        if cell.data_type == "d" and str(value).startswith("1900-02-28"):
            self.counts[_SAME_DATES] = self.counts.get(_SAME_DATES, 0) + 1
        return value

    def _check_cells(self, num_rows: int, width: int) -> None:
        if num_rows * width > self.options.max_cells:
            raise self._too_large(num_rows, f"{num_rows} rows of {width} columns")

    def _too_large(self, row: int, found: str) -> _LargeSheetError:
        return _LargeSheetError(row, f"a sheet of at most {self.options.max_cells} cells (--max-cells)", found)

    def _records(self, table: TableSchema, first: int, rows: list[list[Any]]) -> RowRecords:
        width = len(table.columns)
        kept: list[int] = []
        for number, row in enumerate(rows):
            found = len(_without_end(row))
            if found <= width:
                kept.append(number)
            else:
                self._reject_at(table.name, first + number, f"at most {width} cells", str(found), row)
        filled = [(rows[number] + [None] * width)[:width] for number in kept]
        numbers = np.array(kept, np.int64) + self.ordinal
        self.ordinal += len(rows)
        cells, types = _spell(filled, table)
        end = row_ends(cells, self.offset)
        start, self.offset = self.offset, int(end[-1]) if len(end) else self.offset + 1
        counts, self.counts = self.counts, {}
        style = {**_STYLE, "has_header": self.options.header, "final_newline": True}
        left_out = {side: counts.get(name, 0) for side, name in _LEFT_OUT.items()}
        return RowRecords(
            file=self.piece.file,
            table=table,
            cells=pa.RecordBatch.from_arrays(cells, names=list(table.columns)),
            ordinal=numbers.astype(np.uint64),
            begin=np.concatenate(([start], end[:-1])).astype(np.uint64)[: len(end)],
            end=end,
            dialect={"begin": start, "end": start, "format": "excel", **left_out, **style},
            cell_types=types,
            counts=counts,
        )

    def _reject_at(self, sheet: str, row: int, expected: str, found: str, cells: list[Any]) -> None:
        place = Place(f"{self.piece.file.name}[{sheet}]", line=row)
        data = orjson.dumps([None if cell is None else str(cell) for cell in cells], option=orjson.OPT_APPEND_NEWLINE)
        self.reject(BadRecordError(place, expected=expected, found=found, begin=0, end=0, data=data))


def _without_end(row: list[Any], is_empty: Any = lambda value: value is None) -> list[Any]:
    """Return a list without what is empty at its end."""
    size = len(row)
    while size and is_empty(row[size - 1]):
        size -= 1
    return row[:size]


def _extent(rows: Iterator[list[Any]]) -> tuple[int, int]:
    """Return how many rows and columns there are up to the last that is not empty."""
    num_rows = width = 0
    for number, row in enumerate(rows, start=1):
        if size := len(_without_end(row)):
            num_rows, width = number, max(width, size)
    return num_rows, width


def _names_of(row: list[Any]) -> list[str]:
    return [f"column_{n + 1}" if name is None else str(name) for n, name in enumerate(_without_end(row))]


def _spell(rows: list[list[Any]], table: TableSchema) -> tuple[list[pa.Array], dict[str, pa.DictionaryArray]]:
    columns = list(zip(*rows, strict=True)) or [()] * len(table.columns)
    cells: list[pa.Array] = []
    types: dict[str, pa.DictionaryArray] = {}
    for values, name in zip(columns, table.columns, strict=True):
        texts, of_cells = spell_column(values, "string")
        cells.append(texts)
        if of_cells is not None:
            types[name] = of_cells
    return cells, types


EXCEL = ExcelSource()
