"""Triples back to N-Triples: the same graph, its triples in order and as often as they came."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.exporters.ntriples_lines import join_lines, spell_predicates, spell_terms
from lisdata.exporters.ntriples_triples import triples_of
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo, Part

Int64 = npt.NDArray[np.int64]

_LINES_A_CHUNK = 100_000


@dataclass(frozen=True, slots=True)
class NTriplesExporter:
    """Writes canonical N-Triples (RDF 1.2): an input in this form comes back byte for byte.

    Blank nodes keep their labels and language tags their case. Graph names, structures of other kinds and facts that
    are no triple of RDF terms are losses.
    """

    name: str = "ntriples"
    summary: str = "RDF graphs in canonical N-Triples"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the triples that came from `files`."""
        paths = target_paths(target, files, dataset.inputs)
        losses: Counter[str] = Counter()
        num_records = 0
        for info, path in zip(files, paths, strict=True):
            losses["rejected records"] += info.records.get("rejected", 0)
            with replacing(path) as stream:
                for part, rows in dataset.iter_part_rows(info.index):
                    spelled = part.derived(_SpelledTriples)
                    num_records += spelled.write(stream, spelled.triples.choose(rows, losses))
        return ExportReport(files=tuple(paths), num_records=num_records, losses=dict(+losses))


class _SpelledTriples:
    """The triples of one part with the N-Triples terms of what they show, each spelled once."""

    def __init__(self, part: Part) -> None:
        self.triples = triples_of(part)
        is_used = np.zeros(part.contents.num_rows, np.bool_)
        for shown in (self.triples.subject, self.triples.object):
            is_used[shown[self.triples.is_triple]] = True
        self._terms = spell_terms(part.contents.filter(pa.array(is_used)), part.labels)
        self._numbers = np.cumsum(is_used) - 1
        self._predicates = spell_predicates(part.labels)

    def write(self, stream: BinaryIO, chosen: Int64) -> int:
        """Write the lines of the `chosen` triples and return how many they are."""
        for begin in range(0, len(chosen), _LINES_A_CHUNK):
            chunk = chosen[begin : begin + _LINES_A_CHUNK]
            subjects, objects = (
                self._terms.take(pa.array(self._numbers[shown[chunk]]))
                for shown in (self.triples.subject, self.triples.object)
            )
            predicates = self._predicates.take(pa.array(self.triples.label[chunk]))
            stream.write(join_lines(subjects, predicates, objects))
        return len(chosen)


NTRIPLES = NTriplesExporter()
