"""N-ary facts back to lines in the layout that they came in: the same bytes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from lisdata.errors import ExportError
from lisdata.exporters.conversion_losses import REJECTED
from lisdata.exporters.nary_lines import LineWriter
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.layouts import layout_from_text
from lisdata.sources.nary_layout import NaryLayout

Int64 = npt.NDArray[np.int64]

_FACTS_A_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class NaryExporter:
    """Writes a file for each input, a line a fact, in its own layout: an input comes back byte for byte.

    Only records that the conversion rejected are lost; an input of which none was good has no file.
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
            if info.records.get("rejected", 0) and not info.records.get("converted", 0):
                continue
            with replacing(path) as stream:
                num_records += _write_file(stream, dataset, info)
            written.append(path)
        return ExportReport(files=tuple(written), num_records=num_records, losses=dict(+losses))

    def found_options(self, dataset: IncidenceDataset, info: InputInfo) -> dict[str, Any]:
        """Return the layout that the facts of an input say it has."""
        part, rows = next(dataset.iter_part_rows(info.index), (None, np.empty(0, np.int64)))
        if part is None:
            return {}
        writer = part.derived(LineWriter)
        layout = _told_layout(writer, writer.facts.facts_of(rows))
        return {} if layout is None else {"layout": layout.layout}


def _write_file(stream: BinaryIO, dataset: IncidenceDataset, info: InputInfo) -> int:
    """Write one file and return its number of lines."""
    layout: NaryLayout | None = None
    prefixes = IdPrefixes.parse(info.options.get("id_prefix", ()) if info.source == NARY.name else ())
    num_lines = 0
    for part, rows in dataset.iter_part_rows(info.index):
        writer = part.derived(LineWriter)
        facts = writer.facts.facts_of(rows)
        if layout is None:
            layout, facts = _told_layout(writer, facts), facts[1:]
            stream.write((layout or NaryLayout()).mark.encode())
        if layout is None:
            raise ExportError(f"{info.name}: expected a fact that tells the layout first, found none")
        for begin in range(0, len(facts), _FACTS_A_CHUNK):
            stream.write(writer.lines(facts[begin : begin + _FACTS_A_CHUNK], layout, prefixes))
        num_lines += len(facts)
    return num_lines


def _told_layout(writer: LineWriter, facts: Int64) -> NaryLayout | None:
    """Return the layout that the first of these facts tells, None where it tells none."""
    text = writer.layout_text(int(facts[0])) if len(facts) else None
    return None if text is None else layout_from_text(NaryLayout, text)


NARY = NaryExporter()
