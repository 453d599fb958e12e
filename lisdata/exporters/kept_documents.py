"""Structures that keep their documents back to files, byte for byte: source code, Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from lisdata.errors import ExportError
from lisdata.exporters.record_files import export_records
from lisdata.kernels.arrays import one_array
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo, Part


@dataclass(frozen=True, slots=True)
class DocumentsExporter:
    """Writes the documents of each input one after another: its bytes, but for records that the conversion rejected."""

    name: str
    summary: str

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the documents that came from `files`."""
        return export_records(dataset, target, files, partial(_iter_documents, dataset))


def _iter_documents(dataset: IncidenceDataset, info: InputInfo) -> Iterator[pa.Buffer]:
    for part, rows in dataset.iter_part_rows(info.index):
        documents = part.derived(_documents)
        for row in rows.tolist():
            document = documents[row].as_buffer()
            if document is None:
                raise ExportError(f"{info.name}: expected a structure with its document, found one without")
            yield document


def _documents(part: Part) -> pa.LargeBinaryArray:
    """Return the documents of a part; its other columns are not read."""
    return one_array(part.read("structures", ("document",)).column("document"))


CODE = DocumentsExporter("code", "Source code")
MARKDOWN = DocumentsExporter("markdown", "Markdown documents")
