"""Trees of JSON back to documents: the kept bytes, else the same values with the same spelling of numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from lisdata.exporters.json_writer import tree_to_json
from lisdata.exporters.targets import replacing, target_paths
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
        losses: Counter[str] = Counter()
        written: list[Path] = []
        num_records = 0
        for info, path in zip(files, target_paths(target, files, dataset.inputs), strict=True):
            losses["rejected records"] += info.records.get("rejected", 0)
            with replacing(path) as stream:
                for part, row in dataset.iter_rows(info.index):
                    columns = part.derived(TreeColumns)
                    data = columns.document(row)
                    stream.write(tree_to_json(columns.tree(row)) + b"\n" if data is None else data)
                    num_records += 1
            written.append(path)
        return ExportReport(files=tuple(written), num_records=num_records, losses=dict(+losses))


JSON = JsonExporter()
