"""Rows of a table back to a delimited file: cells and NULLs equal, bytes too where the file kept to one style."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lisdata.errors import ExportError
from lisdata.exporters.delimited_style import Style
from lisdata.exporters.row_columns import iter_row_structures
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo

_FLUSH_LINES = 4096


@dataclass(frozen=True, slots=True)
class CsvExporter:
    """Writes one delimited file for each input, in the style that its dialect structures tell.

    Losses are quotes, spellings of NULL and line endings that differ from the rest of their block of rows (the cells are
    equal all the same), and the records that the conversion rejected.
    """

    name: str = "csv"
    summary: str = "CSV and TSV tables"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the rows that came from `files`."""
        paths = target_paths(target, files)
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
    lines: list[bytes] = []
    for columns, row in iter_row_structures(dataset, info.index):
        if columns.is_dialect(row):
            following = Style.from_facts(columns.facts(row))
            if style is None:
                lines.extend(following.opening())
            losses.update(following.losses)
            style = following
            continue
        if style is None:
            raise ExportError(f"{info.name}: expected a structure that tells the dialect before the rows, found none")
        for cells in columns.cells(row, style.columns):
            lines.append(style.line(cells))
            num_rows += 1
        if len(lines) > _FLUSH_LINES:
            stream.write(b"".join(lines[:-1]))
            del lines[:-1]  # the last line stays, since only the end tells whether it keeps its line ending
    text = b"".join(lines)
    stream.write(text if style is None or style.final_newline else text.removesuffix(style.line_ending))
    return num_rows


CSV = CsvExporter()
