"""The first row of a delimited file: byte order mark, column names, and whether they fit what was declared."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

import numpy as np

from lisdata.errors import SchemaError
from lisdata.kernels.csv_scan import Cells, Outcome, Scan, scan_cells
from lisdata.records import TableSchema
from lisdata.sources.delimited_columns import read_columns
from lisdata.sources.delimited_layout import AS_UTF8, Layout, is_utf8, undecodable
from lisdata.sources.table_schema import DeclaredField

_BOM = b"\xef\xbb\xbf"


class BadHeaderError(Exception):
    """The header is wrong, so that no row of the file can be read; `at` is the byte that is wrong."""

    def __init__(self, at: int, expected: str, found: str) -> None:
        self.at, self.expected, self.found = at, expected, found
        super().__init__(f"byte {at}: expected {expected}, found {found}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The columns of a file; its rows begin at byte `begin`, after the byte order mark and the header row."""

    schema: TableSchema
    fields: tuple[DeclaredField, ...]
    header: Cells | None
    has_bom: bool
    begin: int


def read_table(data: bytes, layout: Layout, file_name: str, *, is_last: bool) -> Table | None:
    """Return the table whose file begins with `data`, or None when its first row does not end there.

    BadHeaderError for a header that is missing, malformed, has a name twice or not the declared names; SchemaError for
    a key of columns that the table has not.
    """
    has_bom = is_utf8(layout.encoding) and data.startswith(_BOM)
    begin = len(_BOM) if has_bom else 0
    if is_utf8(layout.encoding) and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadHeaderError(0, "text in UTF-8", f"a byte order mark of UTF-16: {AS_UTF8}")
    header: Cells | None = None
    if layout.header:
        header = _scan_first_row(data, begin, layout, is_last=is_last)
        if header is None:
            return None
        names = _read_names(data, header, layout)
        begin = int(header.row_end[0])
    elif layout.fields is not None:
        names = [field.name for field in layout.fields]
    else:
        first = _scan_first_row(data, begin, layout, is_last=is_last) if begin < len(data) else None
        if first is None and not (is_last and begin == len(data)):
            return None
        names = [f"column_{n + 1}" for n in range(0 if first is None else first.begin.shape[1])]
    fields = layout.fields or tuple(
        DeclaredField(name=name, type="string", checked_type=None, required=False) for name in names
    )
    _check_keys(layout, names, file_name)
    schema = TableSchema(
        name=layout.table,
        columns=tuple(names),
        types=tuple(field.type for field in fields),
        primary_key=layout.primary_key,
        foreign_keys=layout.foreign_keys,
        namespace=layout.namespace,
    )
    return Table(schema=schema, fields=fields, header=header, has_bom=has_bom, begin=begin)


def _scan_first_row(data: bytes, begin: int, layout: Layout, *, is_last: bool) -> Cells | None:
    """Return the first row, however many cells it has."""

    def scan(num_columns: int) -> Scan:
        return scan_cells(
            np.frombuffer(data, np.uint8),
            begin,
            final=is_last,
            delimiter=layout.delimiter_byte,
            quote=layout.quote_byte,
            num_columns=num_columns,
            max_rows=1,
        )

    counted = scan(1)
    if counted.cells.num_rows and counted.cells.row_begin[0] == begin:
        return counted.cells
    if not len(counted.faults):
        if is_last:
            raise BadHeaderError(begin, "a header row", "the end of the file")
        return None
    outcome, _, _, at, num_cells = map(int, counted.faults[0])
    if outcome != Outcome.NUM_CELLS:
        raise BadHeaderError(at, "a header row of well-formed cells", repr(data[begin : begin + 80]))
    return scan(num_cells).cells


def _read_names(data: bytes, header: Cells, layout: Layout) -> list[str]:
    end = int(header.row_end[0])
    bad = undecodable(data[:end], layout.encoding)
    if len(bad):
        raise BadHeaderError(int(bad[0]), f"text in {layout.encoding}", f"byte 0x{data[bad[0]]:02X}")
    view = np.frombuffer(data, np.uint8)
    names = [column.texts[0].as_py() for column in read_columns(view, header, layout)]
    if len(set(names)) < len(names):
        number = next(number for number, name in enumerate(names) if name in names[:number])
        raise BadHeaderError(int(header.begin[0, number]), "each column name once", f"{names[number]!r} again")
    if layout.fields is not None and names != [field.name for field in layout.fields]:
        declared = ", ".join(field.name for field in layout.fields)
        raise BadHeaderError(int(header.begin[0, 0]), f"the declared columns {declared}", ", ".join(names))
    return names


def _check_keys(layout: Layout, names: list[str], file_name: str) -> None:
    keys = [("primary key", layout.primary_key), *(("foreign key", key.columns) for key in layout.foreign_keys)]
    for what, columns in keys:
        for column in columns:
            if column not in names:
                raise SchemaError(f"{file_name}: {what}: expected one of {', '.join(names)}, found {column!r}")
