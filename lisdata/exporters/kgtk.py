"""Edges, nodes and comments back to KGTK files: the same bytes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lisdata.errors import ExportError
from lisdata.exporters.conversion_losses import REJECTED, is_left_out
from lisdata.exporters.kgtk_lines import FileForm, LineWriter
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo

_FACTS_A_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class KgtkExporter:
    """Writes a KGTK file for each input, with its columns in their order: an input comes back byte for byte.

    Only records that the conversion rejected are lost.
    """

    name: str = "kgtk"
    summary: str = "KGTK edge and node files (TSV)"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the facts that came from `files`; ExportError for structures that no KGTK file gave."""
        paths = target_paths(target, files, dataset.inputs)
        losses: Counter[str] = Counter()
        written: list[Path] = []
        num_records = 0
        for info, path in zip(files, paths, strict=True):
            losses[REJECTED] += info.records.get("rejected", 0)
            if is_left_out(dataset, info):
                continue  # a bad header: the whole file
            with replacing(path) as stream:
                num_records += _write_file(stream, dataset, info)
            written.append(path)
        return ExportReport(files=tuple(written), num_records=num_records, losses=dict(+losses))


def _write_file(stream: BinaryIO, dataset: IncidenceDataset, info: InputInfo) -> int:
    """Write one file and return its number of lines below the header."""
    form: FileForm | None = None
    num_lines = 0
    for part, rows in dataset.iter_part_rows(info.index):
        writer = part.derived(LineWriter)
        facts = writer.facts.facts_of(rows)
        if form is None and len(facts):
            form = writer.form_of(int(facts[0]), info)
            stream.write(form.opening())
            facts = facts[1:]
        for begin in range(0, len(facts), _FACTS_A_CHUNK):
            if form is None:
                raise ExportError(f"{info.name}: expected a fact that tells the columns first, found none")
            stream.write(writer.lines(facts[begin : begin + _FACTS_A_CHUNK], form))
        num_lines += len(facts)
    return num_lines


KGTK = KgtkExporter()
