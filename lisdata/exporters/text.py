"""Units of text back to a text file, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lisdata.exporters.conversion_losses import count_conversion_losses, is_left_out
from lisdata.exporters.targets import replacing, target_paths
from lisdata.exporters.text_columns import iter_text_rows
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo

_TILING = ("text", "parsed")  # sources whose documents are together the file's bytes


@dataclass(frozen=True, slots=True)
class TextExporter:
    """Writes the documents one after another: the input's bytes where all of it was converted by source text or parsed.

    A unit of another source that does not end in a newline gets one; its linked mentions, fields and dependency trees
    are losses. Those sentences of the files are losses too that the conversion dropped.
    """

    name: str = "text"
    summary: str = "Plain text"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the text that came from `files`."""
        paths = target_paths(target, files, dataset.inputs)
        losses = count_conversion_losses(dataset, files)
        written: list[Path] = []
        num_records = 0
        for info, path in zip(files, paths, strict=True):
            if is_left_out(dataset, info):
                continue
            with replacing(path) as stream:
                for columns, row in iter_text_rows(dataset, info.index):
                    document = columns.document(row)
                    stream.write(document)
                    if info.source not in _TILING:
                        stream.write(b"" if document.endswith(b"\n") else b"\n")
                        losses["dependency trees"] += columns.has_tree(row)
                    for participant in columns.participants(row):
                        losses["fields" if participant.span is None else "linked mentions"] += 1
                    num_records += 1
            written.append(path)
        return ExportReport(files=tuple(written), num_records=num_records, losses=dict(+losses))


TEXT = TextExporter()
