"""A partition's facts in order: those of one subject (or graph) together, and structures made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.contents import LabelBuilder
from lisdata.converters.structure_rows import struct_array
from lisdata.converters.triples import TRIPLES, TriplesOptions
from lisdata.inputs import InputFile
from lisdata.records import TripleRecords
from lisdata.regrouping.part_facts import TERMS, one_batch
from lisdata.regrouping.spills import Share
from lisdata.schema import NO_ROW, SOURCE_TYPE, LabelKind
from lisdata.sources.ntriples_records import distinct_contents
from lisdata.sources.rdf_grouping import Grouping
from lisdata.structure_batch import StructureBatch

Int64 = npt.NDArray[np.int64]

_FACTS_A_BATCH = 1 << 17
_CONTENT_COLUMNS = ("subject", "predicate", "object", "graph")
_NO_FILE = InputFile(index=0, path="", name="", size=0, digest="", scope="", compression=None)


def join_shares(shares: list[Share]) -> Share:
    """Return the facts of all `shares` over contents and labels that they have in common."""
    labels = LabelBuilder()
    contents, facts, terms = [], [], []
    first = 0
    for share in shares:
        contents.append(_with_codes(share.contents, _codes(share.labels, labels)))
        facts.append(_moved(share.facts, _CONTENT_COLUMNS, first))
        terms.append(_moved(share.terms, tuple(TERMS.names), first))
        first += share.contents.num_rows
    distinct, numbers = distinct_contents(one_batch(pa.Table.from_batches(contents)))
    distinct_terms = np.unique(_rows(terms, tuple(TERMS.names), numbers), axis=1)
    joined = one_batch(pa.Table.from_batches(facts))
    for name, rows in zip(_CONTENT_COLUMNS, _rows(facts, _CONTENT_COLUMNS, numbers), strict=True):
        joined = _replaced(joined, name, pa.array(rows))
    return Share(
        facts=joined,
        terms=pa.RecordBatch.from_arrays([pa.array(column) for column in distinct_terms], schema=TERMS),
        contents=distinct,
        labels=labels.to_arrow(),
    )


def _codes(labels: pa.RecordBatch, known: LabelBuilder) -> npt.NDArray[np.uint32]:
    """Return the code in `known` of each label; none of them is a role."""
    rows = zip(labels.column("kind").to_pylist(), labels.column("label").to_pylist(), strict=True)
    return np.array([known.code(LabelKind(kind), label) for kind, label in rows], np.uint32)


def _with_codes(contents: pa.RecordBatch, codes: npt.NDArray[np.uint32]) -> pa.RecordBatch:
    for name in ("datatype", "language", "scope"):
        column = contents.column(name)
        if column.null_count < len(column):
            contents = _replaced(contents, name, pa.array(codes).take(column))
    return contents


def _moved(batch: pa.RecordBatch, names: tuple[str, ...], first: int) -> pa.RecordBatch:
    """Return a batch whose rows of contents are counted from `first`."""
    for name in names:
        rows = np.asarray(batch.column(name))
        moved = np.where(rows == NO_ROW, NO_ROW, rows + np.uint32(first)).astype(np.uint32)
        batch = _replaced(batch, name, pa.array(moved))
    return batch


def _rows(
    batches: list[pa.RecordBatch], names: tuple[str, ...], numbers: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint32]:
    """Return the columns `names` of all batches (names, N), by the `numbers` that contents have now."""
    rows = np.stack([np.concatenate([np.asarray(batch.column(name)) for batch in batches]) for name in names])
    is_there = rows != NO_ROW
    rows[is_there] = numbers[rows[is_there]]
    return rows


def _replaced(batch: pa.RecordBatch, name: str, values: pa.Array) -> pa.RecordBatch:
    return batch.set_column(batch.schema.get_field_index(name), batch.schema.field(name), values)


def sorted_by(share: Share, by: str) -> tuple[Share, Int64]:
    """Return the share with its facts in order, and where the run of each subject (or graph) begins, last the end.

    Runs come in the order of their first facts, facts of a run in that of the source.
    """
    order = np.argsort(np.asarray(share.facts.column("ordinal")), kind="stable")
    _, first, inverse = np.unique(np.asarray(share.facts.column(by))[order], return_index=True, return_inverse=True)
    rank = first[inverse]
    chosen = np.argsort(rank, kind="stable")
    begins = np.flatnonzero(np.diff(rank[chosen], prepend=-1))
    return with_facts(share, order[chosen]), np.append(begins, len(order)).astype(np.int64)


def with_facts(share: Share, rows: Int64) -> Share:
    """Return the share with these of its facts."""
    return Share(
        facts=share.facts.take(pa.array(rows)), terms=share.terms, contents=share.contents, labels=share.labels
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureMaker:
    """Makes structures of sorted facts; `scopes` are those of the inputs, each of which has `room` ordinals."""

    grouping: Grouping
    scopes: tuple[str, ...]
    room: int

    def iter_batches(self, share: Share, begins: Int64) -> Iterator[StructureBatch]:
        """Yield the structures of `share`; no batch cuts one of the runs that `begins` tells."""
        begin = 0
        while begin < begins[-1]:
            end = int(begins[np.searchsorted(begins, min(begin + _FACTS_A_BATCH, begins[-1]))])
            yield self._batch(share, share.facts.slice(begin, end - begin))
            begin = end

    def _batch(self, share: Share, facts: pa.RecordBatch) -> StructureBatch:
        columns = {name: np.asarray(facts.column(name)) for name in facts.schema.names}
        graph = columns["graph"] if (columns["graph"] != NO_ROW).any() else None
        terms = np.stack([np.asarray(column) for column in share.terms.columns])
        records = TripleRecords(
            file=_NO_FILE,
            contents=share.contents,
            labels=share.labels,
            subject_content=columns["subject"],
            predicate_content=columns["predicate"],
            object_content=columns["object"],
            graph_content=graph,
            structure_offsets=self.grouping.offsets(columns["subject"], graph),
            begin=columns["begin"],
            end=columns["end"],
            ordinal=columns["ordinal"],
            triple_terms=terms if terms.size else None,
        )
        batch = TRIPLES.convert(records, TriplesOptions())
        starts = records.structure_offsets[:-1]
        file = columns["file"][starts]
        source = struct_array(SOURCE_TYPE, [file, columns["begin"][starts], columns["end"][starts]])
        rows = _replaced(batch.structures, "record_id", self._record_ids(file, columns["ordinal"][starts]))
        return StructureBatch(
            structures=_replaced(rows, "source", source), contents=batch.contents, labels=batch.labels
        )

    def _record_ids(self, file: npt.NDArray[np.uint32], ordinal: npt.NDArray[np.uint64]) -> pa.Array:
        """Return scope#ordinal of the first fact of each structure, the ordinal being that in its input."""
        own = pa.array(ordinal % np.uint64(self.room)).cast(pa.large_string())
        scopes = pa.array(self.scopes, pa.large_string()).take(pa.array(file))
        return pc.binary_join_element_wise(scopes, own, pa.scalar("#", pa.large_string()))
