"""Scans delimited text (RFC 4180) into the places of its cells, and gathers the cells of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from lisdata.kernels.arrays import binary_array
from lisdata.kernels.characters import has_byte
from lisdata.kernels.compiled import (
    BYTES,
    INT64S,
    OUT_BYTES,
    OUT_UINT32S,
    UINT64S,
    count_trailing_zeros,
    inner,
    kernel,
    load_u64,
    store_u64,
)

UInt8 = npt.NDArray[np.uint8]
UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]

QUOTED = np.uint8(1)
SPECIAL = np.uint8(2)
NO_QUOTE = -1
MAX_BYTES = (1 << 31) - 1
MAX_FAULTS = 1024
_OVERWRITTEN = 8
_REPEAT = np.uint64(0x0101_0101_0101_0101)

_PLAIN, _DELIMITER, _NEWLINE, _RETURN, _QUOTE = np.uint8(0), np.uint8(1), np.uint8(2), np.uint8(3), np.uint8(4)


class Outcome(IntEnum):
    """How the scan of a row ended."""

    WHOLE = 0
    CUT = 1  # the bytes end inside the row, and more may follow
    NUM_CELLS = 2  # another number of cells than there are columns
    STRAY_QUOTE = 3  # a quote inside an unquoted cell
    AFTER_QUOTE = 4  # something after a closing quote that is no delimiter and no line ending
    STRAY_RETURN = 5  # a carriage return outside quotes that no newline follows
    OPEN_QUOTE = 6  # a quote that is never closed


# Kernels compare plain numbers: enum members are slow there.
_WHOLE, _CUT, _NUM_CELLS, _STRAY_QUOTE, _AFTER_QUOTE, _STRAY_RETURN, _OPEN_QUOTE = map(int, Outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Rows of cells as places in the scanned bytes; arrays are (rows, columns), but for the last two: (rows,).

    A cell's text is bytes [begin, end) with doubled quotes made single, `size` bytes then. `flags` say that it is
    QUOTED and that it holds a delimiter, quote or line ending (SPECIAL). `ending` is the length of the row's ending.
    """

    begin: UInt32
    end: UInt32
    size: UInt32
    flags: UInt8
    row_begin: UInt32
    ending: UInt8

    @property
    def num_rows(self) -> int:
        """Rows."""
        return len(self.row_begin)

    @property
    def row_end(self) -> UInt32:
        """Where each row ends, its line ending included."""
        closing = (self.flags[:, -1] & QUOTED).astype(np.uint32)
        return self.end[:, -1] + closing + self.ending

    def take(self, rows: npt.NDArray[Any]) -> Cells:
        """Return some of the rows, by number or by mask."""
        return Cells(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    @staticmethod
    def concatenate(parts: list[Cells]) -> Cells:
        """Return the rows of all parts."""
        if len(parts) == 1:
            return parts[0]
        return Cells(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Cells)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What a scan found.

    `cells` holds the whole rows; `faults` (n, 5) the others: outcome, begin, end, place of the error, number of cells.
    Byte `next_row` begins the row that the scan did not come to; where that row is cut inside quotes, they opened at
    byte `opened`, else -1.
    """

    cells: Cells
    faults: Int64
    next_row: int
    opened: int


@inner
def _skip_plain(data: Any, at: Any, classes: Any, marks: Any) -> Any:
    while at + 8 <= len(data):
        word = load_u64(data, at)
        found = has_byte(word, marks[0]) | has_byte(word, marks[1]) | has_byte(word, marks[2])
        found |= has_byte(word, marks[3])
        if found != 0:
            return at + np.int64(count_trailing_zeros(found) >> np.uint64(3))
        at += 8
    while at < len(data) and classes[data[at]] == _PLAIN:
        at += 1
    return at


@inner
def _quoted_end(data: Any, at: Any, classes: Any, marks: Any) -> Any:
    """Return (place of the closing quote or -1, doubled quotes, flags) of a cell whose text begins at `at`."""
    doubled = 0
    flag = QUOTED
    last = -1
    while last < 0:
        at = _skip_plain(data, at, classes, marks)
        if at >= len(data):
            break
        if classes[data[at]] == _QUOTE:
            if at + 1 >= len(data) or data[at + 1] != data[at]:
                last = at
                break
            doubled += 1
            at += 1
        flag |= SPECIAL
        at += 1
    return last, doubled, flag


@inner
def _ending(kind: Any, following: Any, final: Any, quoted: Any) -> Any:
    """Return (outcome, bytes of the delimiter or line ending, whether the row ends) after a cell's text.

    `kind` is the class of the byte there and `following` the byte after it, both -1 past the end.
    """
    if kind == _DELIMITER:
        return 0, 1, False
    if kind == _NEWLINE:
        return 0, 1, True
    if kind == _RETURN and following == 10:
        return 0, 2, True
    if kind < 0 and final:
        return 0, 0, True
    if not final and (kind < 0 or (kind == _RETURN and following < 0)):
        return _CUT, 0, True
    if quoted:
        return _AFTER_QUOTE, 0, True
    return (_STRAY_RETURN if kind == _RETURN else _STRAY_QUOTE), 0, True


@inner
def _scan_row(
    data: Any, at: Any, final: Any, classes: Any, marks: Any, cell: Any, num_columns: Any,
    begin: Any, end: Any, size: Any, flags: Any,
) -> Any:  # fmt: skip
    """Return (outcome, where the row ends or the error stands, cells found, length of the line ending)."""
    outcome = found = width = 0
    row_ends = False
    while not row_ends:
        flag, doubled, first = np.uint8(0), 0, at
        if at < len(data) and classes[data[at]] == _QUOTE:
            first = at + 1
            last, doubled, flag = _quoted_end(data, first, classes, marks)
            if last < 0:
                outcome = _OPEN_QUOTE if final else _CUT
                break
            at = last + 1
        else:
            last = at = _skip_plain(data, at, classes, marks)
        kind = np.int64(classes[data[at]]) if at < len(data) else -1
        following = np.int64(data[at + 1]) if at + 1 < len(data) else -1
        outcome, width, row_ends = _ending(kind, following, final, flag != 0)
        if found < num_columns:
            begin[cell + found], end[cell + found] = first, last
            size[cell + found], flags[cell + found] = last - first - doubled, flag
        found += 1
        at += width
    return outcome, at, found, width


_PLACES = types.Array(types.uint32, 2, "C", readonly=True)
_SCAN_RESULT: Any = types.UniTuple(types.int64, 4)  # type: ignore[no-untyped-call]


@kernel(_SCAN_RESULT(
    BYTES, types.int64, types.boolean, BYTES, UINT64S, types.int64,
    OUT_UINT32S, OUT_UINT32S, OUT_UINT32S, OUT_BYTES, OUT_UINT32S, OUT_BYTES, types.Array(types.int64, 2, "C"),
))  # fmt: skip
def _scan(
    data: Any, at: Any, final: Any, classes: Any, marks: Any, num_columns: Any,
    begin: Any, end: Any, size: Any, flags: Any, row_begin: Any, ending: Any, faults: Any,
) -> Any:  # fmt: skip
    """Return (rows, faults, begin of the row not come to, place of its open quote or -1)."""
    rows = bad = 0
    opened = -1
    while at < len(data) and rows < len(row_begin) and bad < len(faults):
        outcome, reached, found, width = _scan_row(
            data, at, final, classes, marks, rows * num_columns, num_columns, begin, end, size, flags
        )
        if outcome == _CUT:
            opened = reached if reached < len(data) and classes[data[reached]] == _QUOTE else -1
            break
        if outcome == _WHOLE and found == num_columns:
            row_begin[rows], ending[rows] = at, width
            rows += 1
            at = reached
            continue
        row_end = reached
        if outcome != _WHOLE:  # go on with the next line: what a quote swallowed is not lost
            row_end = at
            while row_end < len(data) and data[row_end] != 10:
                row_end += 1
            if row_end == len(data) and not final:
                break
            row_end = min(row_end + 1, len(data))
        faults[bad, 0], faults[bad, 1], faults[bad, 2] = (outcome if outcome != _WHOLE else _NUM_CELLS), at, row_end
        faults[bad, 3], faults[bad, 4] = reached, found
        bad += 1
        at = row_end
    return rows, bad, at, opened


def _classes(delimiter: int, quote: int) -> UInt8:
    classes = np.full(256, _PLAIN, np.uint8)
    classes[10], classes[13], classes[delimiter] = _NEWLINE, _RETURN, _DELIMITER
    if quote >= 0:
        classes[quote] = _QUOTE
    return classes


def scan_cells(
    data: UInt8, at: int, *, final: bool, delimiter: int, quote: int, num_columns: int, max_rows: int | None = None
) -> Scan:
    """Scan rows of `num_columns` cells from byte `at` on, up to `max_rows` rows or MAX_FAULTS faults.

    A row that the bytes do not hold whole is left, unless `final` says that nothing follows. `quote` may be NO_QUOTE.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"at most {MAX_BYTES} bytes are scanned at once, got {len(data)}")
    rest = data[at:]
    endings, delimiters = np.count_nonzero(rest == 10) + 1, np.count_nonzero(rest == delimiter)
    room = min(int(endings), int(endings + delimiters) // num_columns)
    if max_rows is not None:
        room = min(room, max_rows)
    begin, end, size = (np.empty((room + 1) * num_columns, np.uint32) for _ in range(3))
    flags = np.empty(len(begin), np.uint8)
    row_begin, ending = np.empty(room + 1 if max_rows is None else room, np.uint32), np.empty(room + 1, np.uint8)
    faults = np.empty((MAX_FAULTS, 5), np.int64)
    classes = _classes(delimiter, quote)
    marks = np.resize(np.flatnonzero(classes != _PLAIN), 4).astype(np.uint64) * _REPEAT
    rows, bad, next_row, opened = _scan(
        data, at, final, classes, marks, num_columns, begin, end, size, flags, row_begin, ending, faults
    )
    flat: dict[str, npt.NDArray[Any]] = {"begin": begin, "end": end, "size": size, "flags": flags}
    by_row: dict[str, Any] = {name: a[: rows * num_columns].reshape(rows, num_columns) for name, a in flat.items()}
    cells = Cells(**by_row, row_begin=row_begin[:rows], ending=ending[:rows])
    return Scan(cells=cells, faults=faults[:bad], next_row=next_row, opened=opened)


@inner
def _copy(data: Any, at: Any, end: Any, out: Any, target: Any) -> None:
    """Copy data[at:end] to out[target]; eight bytes at a time, so that up to 7 bytes behind it are overwritten."""
    while at < end and at + 8 <= len(data):
        store_u64(out, target, load_u64(data, at))
        at += 8
        target += 8
    while at < end:
        out[target] = data[at]
        at += 1
        target += 1


@kernel(types.void(BYTES, _PLACES, _PLACES, _PLACES, INT64S, types.int64, types.Array(types.int64, 2, "C"), OUT_BYTES))
def _gather(data: Any, begin: Any, end: Any, size: Any, columns: Any, quote: Any, offsets: Any, out: Any) -> None:
    """Write the texts of each column from offsets[column, 0] on, and where they end."""
    for row in range(len(begin)):
        for index in range(len(columns)):
            column = columns[index]
            target, length = offsets[index, row], np.int64(size[row, column])
            offsets[index, row + 1] = target + length
            at, stop = np.int64(begin[row, column]), np.int64(end[row, column])
            if stop - at == length:
                _copy(data, at, stop, out, target)
                continue
            while at < stop:
                out[target] = data[at]
                at += 2 if data[at] == quote else 1
                target += 1


def gather_columns(data: UInt8, cells: Cells, columns: Sequence[int], quote: int) -> list[pa.Array]:
    """Return the texts of some columns as large_binary; doubled quotes are made single."""
    offsets = np.empty((len(columns), cells.num_rows + 1), np.int64)
    sizes = cells.size.sum(axis=0, dtype=np.int64)[list(columns)] + _OVERWRITTEN
    ends = np.cumsum(sizes)
    offsets[:, 0] = ends - sizes
    out = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    _gather(data, cells.begin, cells.end, cells.size, np.array(columns, np.int64), quote, offsets, out)
    return [binary_array(row - row[0], out[row[0] : row[-1]], pa.large_binary()) for row in offsets]


def gather_column(data: UInt8, cells: Cells, column: int, quote: int) -> pa.Array:
    """Return the texts of one column, as `gather_columns` does."""
    return gather_columns(data, cells, [column], quote)[0]
