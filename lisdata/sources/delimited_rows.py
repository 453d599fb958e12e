"""Reads the rows of a delimited file block by block; a bad row is named by its place and left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import MAX_LINE_BYTES, MEBIBYTE, InputSlice
from lisdata.kernels.csv_scan import Cells
from lisdata.records import RowRecords
from lisdata.registry import Reject
from lisdata.sources.delimited_columns import Column, describe_bytes, read_columns
from lisdata.sources.delimited_faults import Fault, drop_rows, mistyped_rows, scan_rows, undecodable_rows
from lisdata.sources.delimited_header import BadHeaderError, Table, read_table
from lisdata.sources.delimited_layout import Layout

_BLOCK_BYTES = 8 * MEBIBYTE


def read_rows(piece: InputSlice, layout: Layout, reject: Reject) -> Iterator[RowRecords]:
    """Yield the rows of a whole file, a block at a time; a line that is too long to be held ends a row, a bad one."""
    reader = _RowReader(piece, layout, reject)
    passed: list[tuple[int, int]] = []
    whole_lines = piece.blocks(
        _BLOCK_BYTES, longest_line=MAX_LINE_BYTES, on_long_line=lambda *line: passed.append(line)
    )
    blocks = _with_last(whole_lines)
    carry, end = b"", 0
    try:
        for offset, block, is_last in blocks:
            reader.pass_over(carry, end, [line for line in passed if end <= line[0] < offset])
            carry = carry if offset == end else b""
            end = offset + len(block)
            data = carry + block
            records, used = reader.read_block(data, offset - len(carry), is_last=is_last)
            if records is not None:
                yield records
            carry = data[used:]
        reader.pass_over(carry, end, [line for line in passed if line[0] >= end])
    except BadRecordError as error:  # of the stream: the row that it cuts begins where no whole row was left
        raise _beginning_at(error, end - len(carry)) from error
    except BadHeaderError as error:
        for offset, block, _ in blocks:  # the whole file is the bad record: find where it ends
            end = offset + len(block)
        end = max([end, *(line_end for _, line_end in passed)])
        place = Place(piece.file.name, offset=error.at, line=1, column=error.at + 1)
        reject(BadRecordError(place, expected=error.expected, found=error.found, begin=0, end=end))


def _beginning_at(error: BadRecordError, begin: int) -> BadRecordError:
    return BadRecordError(error.place, expected=error.expected, found=error.found, begin=begin, end=error.end)


def _with_last(blocks: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes, bool]]:
    """Yield blocks and whether each is the last; one empty block for an empty file."""
    offset, block = next(blocks, (0, b""))
    while True:
        try:
            following = next(blocks, None)
        except BadRecordError:  # a damaged stream: the rows before it are whole
            yield offset, block, False
            raise
        yield offset, block, following is None
        if following is None:
            return
        offset, block = following


@dataclass(slots=True)
class _RowReader:
    """What is known between blocks: the table, once its header is read, and how many lines and rows came before."""

    piece: InputSlice
    layout: Layout
    reject: Reject
    table: Table | None = None
    lines: int = 0
    rows: int = 0
    has_emitted: bool = False

    def read_block(self, data: bytes, base: int, *, is_last: bool) -> tuple[RowRecords | None, int]:
        """Return the rows that lie whole in `data`, which begins at byte `base`, and how many bytes are used."""
        begin = 0
        if self.table is None:
            self.table = read_table(data, self.layout, self.piece.file.name, is_last=is_last)
            if self.table is None:
                return None, 0
            begin = self.table.begin
        if not self.table.fields:
            return None, len(data)
        cells, faults, used = scan_rows(data, begin, len(self.table.fields), self.layout, is_last=is_last)
        undecodable = undecodable_rows(data, cells, self.layout.encoding)
        cells = drop_rows(cells, undecodable)
        view = np.frombuffer(data, np.uint8)
        columns = read_columns(view, cells, self.layout)
        mistyped = mistyped_rows(cells, columns, self.table.fields)
        if mistyped:
            cells = drop_rows(cells, mistyped)
            columns = read_columns(view, cells, self.layout)
        faults += [*undecodable.values(), *mistyped.values()]
        faults.sort(key=lambda fault: fault.begin)
        self._report(data, base, faults)
        records = self._to_records(self.table, base, cells, columns, faults)
        self.lines += int(np.count_nonzero(view[:used] == ord("\n")))
        self.rows += cells.num_rows + len(faults)
        return records, used

    def pass_over(self, carry: bytes, end: int, lines: list[tuple[int, int]]) -> None:
        """Reject lines that are too long, the first with what is held of its row up to byte `end`."""
        if lines and self.table is None:
            raise BadHeaderError(0, f"a header row of at most {MAX_LINE_BYTES} bytes", "a longer line")
        for number, (begin, line_end) in enumerate(lines):
            begin = begin if number else end - len(carry)
            expected, found = f"a line of at most {MAX_LINE_BYTES} bytes", f"{line_end - lines[number][0]} bytes"
            place = Place(self.piece.file.name, offset=begin, line=self.lines + 1, column=1)
            self.reject(BadRecordError(place, expected=expected, found=found, begin=begin, end=line_end))
            self.lines += 1 + (0 if number else carry.count(b"\n"))
            self.rows += 1

    def _to_records(
        self, table: Table, base: int, cells: Cells, columns: list[Column], faults: list[Fault]
    ) -> RowRecords | None:
        is_first = not self.has_emitted
        if not is_first and not cells.num_rows:
            return None
        self.has_emitted = True
        row_begin = cells.row_begin.astype(np.uint64)
        bad_before = np.searchsorted(np.array([fault.begin for fault in faults], np.uint64), row_begin)
        start = table.begin if is_first else base + int(row_begin[0])
        dialect = {
            "begin": 0 if is_first else start,
            "end": start,
            "has_bom": is_first and table.has_bom,
            **describe_bytes(table.header if is_first else None, cells, columns, self.layout),
        }
        return RowRecords(
            file=self.piece.file,
            table=table.schema,
            cells=pa.RecordBatch.from_arrays([c.cells for c in columns], names=list(table.schema.columns)),
            ordinal=(np.arange(cells.num_rows) + bad_before + self.rows).astype(np.uint64),
            begin=row_begin + np.uint64(base),
            end=cells.row_end.astype(np.uint64) + np.uint64(base),
            dialect=dialect,
        )

    def _report(self, data: bytes, base: int, faults: list[Fault]) -> None:
        """Reject the bad rows, which stand in the order of the file."""
        newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == 10) if faults else np.empty(0, np.int64)
        for fault in faults:
            before = int(np.searchsorted(newlines, fault.at))
            column = fault.at - (int(newlines[before - 1]) if before else -1)
            place = Place(self.piece.file.name, offset=base + fault.at, line=self.lines + before + 1, column=column)
            self.reject(
                BadRecordError(
                    place,
                    expected=fault.expected,
                    found=fault.found,
                    begin=base + fault.begin,
                    end=base + fault.end,
                    data=data[fault.begin : fault.end],
                )
            )
