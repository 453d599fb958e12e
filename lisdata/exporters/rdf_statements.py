"""What all exporters of RDF share: the statements of a dataset in order, their terms spelled once each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.exporters.conversion_losses import REJECTED, is_left_out
from lisdata.exporters.input_ordinals import first_ordinals, inputs_of_ordinals, is_regrouped
from lisdata.exporters.ntriples_lines import spell_predicates, spell_terms
from lisdata.exporters.ntriples_triples import triples_of
from lisdata.exporters.sorted_runs import SortedRuns
from lisdata.exporters.targets import memory_path, replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset, InputInfo, Part
from lisdata.shards.joined_inputs import JoinedDataset

Int64 = npt.NDArray[np.int64]

_A_CHUNK = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """N statements, their terms as N-Triples spells them; `graphs` is null where the graph is the default one."""

    subjects: pa.LargeBinaryArray
    predicates: pa.LargeBinaryArray
    objects: pa.LargeBinaryArray
    graphs: pa.LargeBinaryArray

    def to_arrow(self, ordinals: npt.NDArray[np.uint64]) -> pa.RecordBatch:
        """Return the statements behind a column of their ordinals."""
        columns = {"ordinal": pa.array(ordinals)} | {field.name: getattr(self, field.name) for field in fields(self)}
        return pa.RecordBatch.from_pydict(columns)

    @staticmethod
    def from_arrow(batch: pa.RecordBatch) -> Statements:
        """Undo `to_arrow`."""
        return Statements(**{field.name: batch.column(field.name) for field in fields(Statements)})


class RdfWriter(ABC):
    """Writes statements to a stream; `losses` counts by name what the format cannot hold.

    `closing` stands behind all statements, where that is always the same.
    """

    has_graphs = False
    closing = b""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.losses: Counter[str] = Counter()

    @abstractmethod
    def write(self, statements: Statements) -> None:
        """Write some statements, which follow those before."""

    def end(self) -> None:
        """Write what stands behind all statements."""
        self.stream.write(self.closing)


def export_rdf(
    dataset: IncidenceDataset,
    target: Path,
    files: tuple[InputInfo, ...],
    make_writer: Callable[[BinaryIO, InputInfo | None], RdfWriter],
) -> ExportReport:
    """Write the statements that came from `files`, one file for each.

    Of a dataset made in memory all are written, to one file: blank nodes of several scopes are a loss there.
    """
    paths = target_paths(target, files, dataset.inputs)
    targets: list[tuple[InputInfo | None, Path]] = [
        (info, path) for info, path in zip(files, paths, strict=True) if not is_left_out(dataset, info)
    ]
    losses = Counter({REJECTED: sum(info.records.get("rejected", 0) for info in files)})
    if not files:
        targets = [(None, memory_path(target))]
        losses["scopes of blank nodes"] = max(0, _num_scopes(dataset) - 1)
    num_records = 0
    for source, path in targets:
        index = None if source is None else source.index
        with replacing(path) as stream:
            writer = make_writer(stream, source)
            for statements in _iter_statements(dataset, index, path.parent, losses, with_graphs=writer.has_graphs):
                writer.write(statements)
                num_records += len(statements.subjects)
            writer.end()
        losses.update(writer.losses)
    return ExportReport(files=tuple(path for _, path in targets), num_records=num_records, losses=dict(+losses))


def _iter_statements(
    dataset: IncidenceDataset, index: int | None, folder: Path, losses: Counter[str], *, with_graphs: bool
) -> Iterator[Statements]:
    """Yield the statements of an input (None: of all) in the order of the source; `folder` may hold what is sorted."""
    if index is not None and is_regrouped(dataset, index):
        yield from _iter_sorted(dataset, index, folder, losses, with_graphs=with_graphs)
        return
    if index is not None and isinstance(dataset, JoinedDataset) and dataset.is_shared(index):
        yield from _iter_joined(dataset, index, folder, losses, with_graphs=with_graphs)
        return
    for part, rows in dataset.iter_part_rows(index):
        spelled = part.derived(_SpelledTriples)
        yield from spelled.iter_chunks(spelled.triples.choose(rows, losses, with_graphs=with_graphs))


def _iter_sorted(
    dataset: IncidenceDataset, index: int, folder: Path, losses: Counter[str], *, with_graphs: bool
) -> Iterator[Statements]:
    """Yield the statements of an input whose facts may stand anywhere in the dataset."""
    with SortedRuns(folder, len(dataset.parts)) as runs:
        for part, rows in dataset.iter_part_rows():
            if index not in part.inputs or (firsts := first_ordinals(dataset, part)) is None:
                continue
            spelled = part.derived(_SpelledTriples)
            ordinals = spelled.triples.ordinal
            is_wanted = inputs_of_ordinals(part, firsts, ordinals) == index
            chosen = spelled.triples.choose(rows, losses, with_graphs=with_graphs, is_wanted=is_wanted)
            chunks = zip(spelled.iter_ordinals(chosen), spelled.iter_chunks(chosen), strict=True)
            runs.add(statements.to_arrow(values) for values, statements in chunks)
        for batch in runs.merged():
            yield Statements.from_arrow(batch)


def _iter_joined(
    dataset: JoinedDataset, index: int, folder: Path, losses: Counter[str], *, with_graphs: bool
) -> Iterator[Statements]:
    """Yield the statements of an input that shares have in common, by the ordinals that they all kept."""
    with SortedRuns(folder, len(dataset.parts)) as runs:
        for part, rows in dataset.iter_share_rows(index):
            spelled = part.derived(_SpelledTriples)
            chosen = spelled.triples.choose(rows, losses, with_graphs=with_graphs)
            chunks = zip(spelled.iter_ordinals(chosen), spelled.iter_chunks(chosen), strict=True)
            runs.add(statements.to_arrow(values) for values, statements in chunks)
        waiting: list[pa.RecordBatch] = []  # shares alternate, so what is merged comes in small pieces
        for batch in runs.merged():
            waiting.append(batch)
            if sum(piece.num_rows for piece in waiting) >= _A_CHUNK:
                yield Statements.from_arrow(pa.concat_batches(waiting))
                waiting = []
        if waiting:
            yield Statements.from_arrow(pa.concat_batches(waiting))


def _num_scopes(dataset: IncidenceDataset) -> int:
    """Return how many scopes the blank nodes of a dataset have."""
    scopes: set[str] = set()
    for part in dataset.parts:
        nodes = part.contents.filter(pc.equal(part.contents["kind"], pa.scalar(ContentKind.BNODE, pa.uint8())))
        codes = nodes["scope"].unique().to_pylist()
        names = part.labels["label"]
        scopes.update("" if code is None else names[code].as_py() for code in codes)
    return len(scopes)


class _SpelledTriples:
    """The triples of one part with the N-Triples terms of what they show, each spelled once."""

    def __init__(self, part: Part) -> None:
        self.triples = triples_of(part)
        is_used = np.zeros(part.contents.num_rows, np.bool_)
        for shown in (self.triples.subject, self.triples.object):
            is_used[shown[self.triples.is_triple]] = True
        is_used[self.triples.graph[self.triples.has_graph]] = True
        self._terms = spell_terms(part.contents.filter(pa.array(is_used)), part.labels)
        self._numbers = np.cumsum(is_used) - 1
        self._predicates = spell_predicates(part.labels)

    def iter_chunks(self, chosen: Int64) -> Iterator[Statements]:
        """Yield the `chosen` triples."""
        for begin in range(0, len(chosen), _A_CHUNK):
            yield self._take(chosen[begin : begin + _A_CHUNK])

    def iter_ordinals(self, chosen: Int64) -> Iterator[npt.NDArray[np.uint64]]:
        """Yield the ordinals of what `iter_chunks` yields."""
        for begin in range(0, len(chosen), _A_CHUNK):
            yield self.triples.ordinal[chosen[begin : begin + _A_CHUNK]]

    def _take(self, chosen: Int64) -> Statements:
        triples = self.triples
        subjects, objects, graphs = (
            self._numbers[shown[chosen]] for shown in (triples.subject, triples.object, triples.graph)
        )
        return Statements(
            subjects=self._terms.take(pa.array(subjects)),
            predicates=self._predicates.take(pa.array(triples.label[chosen])),
            objects=self._terms.take(pa.array(objects)),
            graphs=self._terms.take(pa.array(graphs, mask=~triples.has_graph[chosen])),
        )
