"""Rows of a table back to a delimited file: cells and NULLs equal, bytes too where the file kept to one style."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lisdata.errors import ExportError
from lisdata.exporters.delimited_style import Style
from lisdata.exporters.row_columns import iter_row_blocks
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo


@dataclass(frozen=True, slots=True)
class CsvExporter:
    """Writes one delimited file for each input, in the style that its dialect structures tell.

    Losses are quotes, spellings of NULL and line endings that differ from the rest of their block of rows (the cells
    are equal all the same), and the records that the conversion rejected.
    """

    name: str = "csv"
    summary: str = "CSV and TSV tables"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the rows that came from `files`."""
        paths = target_paths(target, files, dataset.inputs)
        losses: Counter[str] = Counter()
        num_records = 0
        for info, path in zip(files, paths, strict=True):
            losses["rejected records"] += info.records.get("rejected", 0)
            with replacing(path) as stream:
                num_records += _write_table(stream, dataset, info, losses)
        return ExportReport(files=tuple(paths), num_records=num_records, losses=dict(+losses))


def _write_table(stream: BinaryIO, dataset: IncidenceDataset, info: InputInfo, losses: Counter[str]) -> int:
    """Write one file and return its number of rows."""
    style: Style | None = None
    num_rows = 0
    text = b""
    for columns, rows in iter_row_blocks(dataset, info.index):
        if columns.dialects(rows)[0]:
            following = Style.from_facts(columns.facts(int(rows[0])))
            text += following.opening() if style is None else b""
            losses.update(following.losses)
            style = following
            continue
        if style is None:
            raise ExportError(f"{info.name}: expected a structure that tells the dialect before the rows, found none")
        stream.write(text)  # one block late, since only the end tells whether the last row has a line ending
        cells = columns.cells(rows, style.columns)
        text = style.lines(cells)
        num_rows += len(cells[0])
    stream.write(text if style is None or style.final_newline else text.removesuffix(style.line_ending))
    return num_rows


CSV = CsvExporter()
