"""N-ary facts back to lines in the layout that they came in: the same bytes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lisdata.errors import ExportError
from lisdata.exporters.conversion_losses import REJECTED, is_left_out
from lisdata.exporters.nary_lines import LineWriter
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.layouts import layout_from_text
from lisdata.sources.nary_layout import NaryLayout

_FACTS_A_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class NaryExporter:
    """Writes a file for each input, a line a fact, in its own layout: an input comes back byte for byte.

    Only records that the conversion rejected are lost.
    """

    name: str = "nary"
    summary: str = "N-ary facts a line: WD50K, JF17K, HypE, WikiPeople; plain triples"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the facts that came from `files`; ExportError for structures that source nary did not give."""
        paths = target_paths(target, files, dataset.inputs)
        losses: Counter[str] = Counter()
        written: list[Path] = []
        num_records = 0
        for info, path in zip(files, paths, strict=True):
            losses[REJECTED] += info.records.get("rejected", 0)
            if is_left_out(dataset, info):
                continue
            with replacing(path) as stream:
                num_records += _write_file(stream, dataset, info)
            written.append(path)
        return ExportReport(files=tuple(written), num_records=num_records, losses=dict(+losses))


def _write_file(stream: BinaryIO, dataset: IncidenceDataset, info: InputInfo) -> int:
    """Write one file and return its number of lines."""
    layout: NaryLayout | None = None
    prefixes = IdPrefixes.parse(info.options.get("id_prefix", ()) if info.source == NARY.name else ())
    num_lines = 0
    for part, rows in dataset.iter_part_rows(info.index):
        writer = part.derived(LineWriter)
        facts = writer.facts.facts_of(rows)
        if layout is None and len(facts):
            text = writer.layout_text(int(facts[0]))
            if text is None:
                raise ExportError(f"{info.name}: expected a fact that tells the layout first, found none")
            layout, facts = layout_from_text(NaryLayout, text), facts[1:]
        for begin in range(0, len(facts), _FACTS_A_CHUNK):
            assert layout is not None
            stream.write(writer.lines(facts[begin : begin + _FACTS_A_CHUNK], layout, prefixes))
        num_lines += len(facts)
    return num_lines


NARY = NaryExporter()
