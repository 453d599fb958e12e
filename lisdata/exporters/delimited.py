"""Rows of tables back to delimited files: cells and NULLs equal, bytes too where the file kept to one style."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from lisdata.converters.table_roles import BINARY
from lisdata.errors import ExportError
from lisdata.exporters.conversion_losses import REJECTED, is_left_out
from lisdata.exporters.delimited_style import Style
from lisdata.exporters.row_columns import Int64, RowColumns, iter_row_blocks
from lisdata.exporters.sqlite_definitions import count_definition
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.sql_schema import SqlTable

Facts = dict[str, list[str]]
_MANY_TABLES = ("excel", "sql")
_OF_WORKBOOKS = {
    "formulas": "formulas",
    "empty_formulas": "formulas without a value, read as NULL",
    "same_dates": "28 and 29 February 1900, read as one date",
}
# Tables that were not delimited are written as RFC 4180 has it, NULL as an empty cell without quotes.
_STANDARD: Facts = {
    "delimiter": [","],
    "quote": ['"'],
    "encoding": ["utf-8"],
    "has_header": ["true"],
    "null_tokens": [""],
    "line_ending": ["\r\n"],
    "final_newline": ["true"],
}


@dataclass(frozen=True, slots=True)
class CsvExporter:
    """Writes one delimited file for each table, in the style that its dialect structures tell.

    An input of several tables (a database, a workbook) gives a folder with a file each. Losses are quotes, spellings of
    NULL and line endings that differ from the rest of their block of rows (the cells are equal all the same), types of
    cells where the input had any, keys and indexes of a database, formulas, and the records that the conversion
    rejected.
    """

    name: str = "csv"
    summary: str = "CSV and TSV tables"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the rows that came from `files`."""
        suffix = "" if all(info.source in ("csv", *_MANY_TABLES) for info in files) else ".csv"
        paths = target_paths(target, files, dataset.inputs, suffix=suffix)
        losses: Counter[str] = Counter()
        written: list[Path] = []
        num_records = 0
        for info, path in zip(files, paths, strict=True):
            losses[REJECTED] += info.records.get("rejected", 0)
            if is_left_out(dataset, info):
                continue
            for table_path, num_rows in _write_tables(dataset, info, path, losses):
                written.append(table_path)
                num_records += num_rows
        return ExportReport(files=tuple(written), num_records=num_records, losses=dict(+losses))


def _write_tables(
    dataset: IncidenceDataset, info: InputInfo, path: Path, losses: Counter[str]
) -> Iterator[tuple[Path, int]]:
    """Write the tables of one input; yield the path and the number of rows of each."""
    writer: _TableWriter | None = None
    with ExitStack() as stack:
        for columns, rows in iter_row_blocks(dataset, info.index):
            if columns.dialects(rows)[0]:
                facts = columns.facts(int(rows[0]))
                if writer is not None and facts["table"][0] != writer.table:
                    writer.finish()
                    stack.pop_all().close()
                    yield writer.path, writer.num_rows
                    writer = None
                if writer is None:
                    table_path = _path_of(path, facts)
                    writer = _TableWriter(stack.enter_context(replacing(table_path)), table_path, facts, losses)
                writer.take_style(facts)
            elif writer is None:
                raise ExportError(
                    f"{info.name}: expected a structure that tells the dialect before the rows, found none"
                )
            else:
                writer.write(columns, rows)
        if writer is None:  # no row and no header: the file was empty
            with replacing(path):
                pass
            yield path, 0
            return
        writer.finish()
    yield writer.path, writer.num_rows


def _path_of(path: Path, facts: Facts) -> Path:
    """Return the file of a table; in a folder it is called as the table, characters that lead out of it as %XX."""
    if facts.get("format", [""])[0] not in _MANY_TABLES:
        return path
    name = re.sub(r"[%/\\:\x00-\x1f]|^\.", lambda found: f"%{ord(found[0]):02X}", facts["table"][0])
    return path / f"{name}.csv"


class _TableWriter:
    """Writes the rows of one table."""

    def __init__(self, stream: BinaryIO, path: Path, facts: Facts, losses: Counter[str]) -> None:
        self.path, self.table, self.num_rows = path, facts["table"][0], 0
        self._stream, self._losses = stream, losses
        self._is_typed = "format" in facts
        if "definition" in facts:
            count_definition(SqlTable.from_json(facts["definition"][0]), losses)
        self._style: Style | None = None
        self._text = b""  # one block late, since only the end tells whether the last row has a line ending

    def take_style(self, facts: Facts) -> None:
        """Write the rows that follow as a dialect structure tells."""
        style = Style.from_facts(facts if "delimiter" in facts else _STANDARD | {"column": facts["column"]})
        self._text += style.opening() if self._style is None else b""
        self._losses.update(style.losses)
        for side, name in _OF_WORKBOOKS.items():
            self._losses[name] += int(facts.get(side, ["0"])[0])
        self._style = style

    def write(self, columns: RowColumns, rows: Int64) -> None:
        """Write rows."""
        assert self._style is not None
        names = self._style.columns
        cells = self._untyped(columns, rows) if self._is_typed else columns.cells(rows, names)
        self._stream.write(self._text)
        self._text = self._style.lines(cells)
        self.num_rows += len(cells[0])

    def _untyped(self, columns: RowColumns, rows: Int64) -> list[pa.Array]:
        """Return cells as texts, bytes in hexadecimal, and count what their types said."""
        assert self._style is not None
        found: list[pa.Array] = []
        for cells in columns.typed_cells(rows, self._style.columns, ["string"] * len(self._style.columns)):
            is_valid = np.asarray(cells.texts.is_valid())
            is_text = np.array([name == "string" for name in cells.names])[cells.types]
            is_bytes = np.array([name == BINARY for name in cells.names])[cells.types] & is_valid
            self._losses["types of cells"] += int(np.count_nonzero(is_valid & ~is_text & ~is_bytes))
            texts = cells.texts
            if is_bytes.any():
                self._losses["bytes, written in hexadecimal"] += int(np.count_nonzero(is_bytes))
                spelled = texts.to_pylist()
                hexadecimal = [t.hex().encode() if is_it else t for t, is_it in zip(spelled, is_bytes, strict=True)]
                texts = pa.array(hexadecimal, pa.large_binary())
            found.append(texts)
        return found

    def finish(self) -> None:
        """Write what is left."""
        assert self._style is not None
        text = self._text if self._style.final_newline else self._text.removesuffix(self._style.line_ending)
        self._stream.write(text)


CSV = CsvExporter()
