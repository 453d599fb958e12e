"""Trees back to HTML documents: the kept bytes, else text whose tree is equal."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from lisdata.errors import ExportError
from lisdata.exporters.html_text import dom_to_html
from lisdata.exporters.targets import replacing, target_paths
from lisdata.exporters.tree_columns import TreeColumns
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.dom import Dom, parse_html

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class HtmlExporter:
    """Writes a document's own bytes where they were kept; else its tree as UTF-8, parsed again to see that it is equal.

    Documents whose tree is not are counted as a loss, and so are records that the conversion rejected.
    """

    name: str = "html"
    summary: str = "HTML documents"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the documents that came from `files`."""
        losses: Counter[str] = Counter()
        written: list[Path] = []
        for info, path in zip(files, target_paths(target, files, dataset.inputs), strict=True):
            losses["rejected records"] += info.records.get("rejected", 0)
            for number, (part, row) in enumerate(dataset.iter_rows(info.index)):
                if number:
                    raise ExportError(f"{info.name}: expected one document for a file, found more")
                columns = part.derived(TreeColumns)
                data = columns.document(row)
                if data is None:
                    data, is_equal = dom_to_bytes(columns.dom(row))
                    losses["documents whose tree differs"] += not is_equal
                with replacing(path) as stream:
                    stream.write(data)
                written.append(path)
        return ExportReport(files=tuple(written), num_records=len(written), losses=dict(+losses))


def dom_to_bytes(dom: Dom) -> tuple[bytes, bool]:
    """Return a document in UTF-8 and whether its tree is equal to `dom`."""
    data = dom_to_html(dom).encode()
    for mark in (b"", _BOM):  # the mark wins over a <meta> that names the encoding the document had before
        if parse_html(mark + data) == dom:
            return mark + data, True
    return data, False


HTML = HtmlExporter()
