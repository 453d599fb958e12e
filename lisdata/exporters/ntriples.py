"""Triples back to N-Triples: the same graph, its triples in order and as often as they came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.exporters.ntriples_lines import join_lines, spell_predicates, spell_terms
from lisdata.exporters.ntriples_triples import PartTriples, triples_of
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
        paths = target_paths(target, files)
        losses: Counter[str] = Counter()
        num_records = 0
        known: dict[Part, PartTriples] = {}
        for info, path in zip(files, paths, strict=True):
            losses["rejected records"] += info.records.get("rejected", 0)
            with replacing(path) as stream:
                for part, rows in _iter_parts(dataset, info.index):
                    if part not in known:
                        known = {part: triples_of(part)}
                    num_records += _write_lines(stream, part, known[part], known[part].choose(rows, losses))
        return ExportReport(files=tuple(paths), num_records=num_records, losses=dict(+losses))


def _iter_parts(dataset: IncidenceDataset, file_index: int) -> Iterator[tuple[Part, Int64]]:
    for part, pairs in groupby(dataset.iter_rows(file_index), key=itemgetter(0)):
        yield part, np.fromiter(map(itemgetter(1), pairs), np.int64)


def _write_lines(stream: BinaryIO, part: Part, triples: PartTriples, chosen: Int64) -> int:
    """Write the lines of the `chosen` triples and return how many they are."""
    is_used = np.zeros(part.contents.num_rows, np.bool_)
    is_used[triples.subject[chosen]] = is_used[triples.object[chosen]] = True
    terms = spell_terms(part.contents.filter(pa.array(is_used)), part.labels)
    numbers = np.cumsum(is_used) - 1
    predicates = spell_predicates(part.labels)
    for begin in range(0, len(chosen), _LINES_A_CHUNK):
        chunk = chosen[begin : begin + _LINES_A_CHUNK]
        subjects, objects = (terms.take(pa.array(numbers[c[chunk]])) for c in (triples.subject, triples.object))
        stream.write(join_lines(subjects, predicates.take(pa.array(triples.label[chunk])), objects))
    return len(chosen)


NTRIPLES = NTriplesExporter()
