"""Trees of JSON back to documents: the kept bytes, else the same values with the same spelling of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lisdata.exporters.json_writer import tree_to_json
from lisdata.exporters.record_files import export_records
from lisdata.exporters.tree_columns import TreeColumns
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo


@dataclass(frozen=True, slots=True)
class JsonExporter:
    """Writes a document's own bytes where they were kept.

    Else its values on one line: members in order and as often as they come, numbers as spelled, strings with the same
    characters; white space and needless escapes are not there. Records that the conversion rejected are a loss.
    """

    name: str = "json"
    summary: str = "JSON documents, one a file or a line"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the documents that came from `files`."""
        return export_records(dataset, target, files, partial(_iter_documents, dataset))


def _iter_documents(dataset: IncidenceDataset, info: InputInfo) -> Iterator[bytes]:
    for part, row in dataset.iter_rows(info.index):
        columns = part.derived(TreeColumns)
        data = columns.document(row)
        yield tree_to_json(columns.tree(row)) + b"\n" if data is None else data


JSON = JsonExporter()
