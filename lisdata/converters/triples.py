"""Triples and quads to structures: one instance a triple, labelled with its predicate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import LabelBuilder, Role, decode_text
from lisdata.converters.flat_structures import FlatStructures, count_from_zero
from lisdata.converters.structure_rows import labels_from, record_ids
from lisdata.converters.triple_terms import add_triple_terms
from lisdata.records import TripleRecords
from lisdata.schema import NO_ROW, STRUCTURES, LabelKind, StructureKind
from lisdata.structure_batch import StructureBatch

UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

SIDES = ("subject", "object", "graph")
_RECORD_ID, _HANDLE = map(STRUCTURES.get_field_index, ("record_id", "instance_handle"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TriplesOptions:
    """Converter triples has no options: the source says which triples make one structure."""


@dataclass(frozen=True, slots=True)
class TriplesConverter:
    """Makes of each triple an instance with roles predicate#subject, predicate#object and, in a named graph, #graph.

    A structure shows a subject once for the triples in a row that have it, and so a graph; an object for each triple,
    all in the source's order. The predicate is a label and no content. An instance's ordinal is the offset of its line,
    or the number of the triple in its file, and the first one names the record.
    """

    name: str = "triples"
    options_type: type[TriplesOptions] = TriplesOptions

    def convert(self, records: TripleRecords, options: TriplesOptions) -> StructureBatch:
        """Return the structures of a batch of triples."""
        size = records.num_records
        graph = np.full(size, NO_ROW, np.uint32) if records.graph_content is None else records.graph_content
        labels = labels_from(records.labels)
        codes = _label_codes(records, labels, graph != NO_ROW)
        starts = records.structure_offsets[:-1]
        structures = _structures(records, starts, graph, codes)
        handles = None
        if records.triple_terms is not None:
            structures, handles = add_triple_terms(structures, records.triple_terms, labels)
        numbers, contents = _used(records.contents, structures.tau)
        rows = replace(structures, tau=numbers[structures.tau]).to_arrow(StructureKind.TRIPLES, records.file)
        if handles is not None:
            named = _renumbered(handles, numbers)
            rows = rows.set_column(_HANDLE, STRUCTURES.field(_HANDLE), named)
        if records.ordinal is not None:
            ids = record_ids(records.file, records.ordinal[starts])
            rows = rows.set_column(_RECORD_ID, STRUCTURES.field(_RECORD_ID), ids)
        return StructureBatch(structures=rows, contents=contents, labels=labels.to_arrow())


def _label_codes(records: TripleRecords, labels: LabelBuilder, has_graph: Bools) -> UInt32:
    """Return for each triple (columns) its instance label and the roles of subject, object and graph."""
    is_predicate = np.zeros(records.contents.num_rows, np.bool_)
    is_predicate[records.predicate_content] = True
    rows = np.flatnonzero(is_predicate)
    codes = np.zeros((1 + len(SIDES), records.contents.num_rows), np.uint32)
    sides = SIDES if has_graph.any() else SIDES[:2]
    for row, lexical in zip(rows.tolist(), records.contents["lexical"].take(pa.array(rows)).to_pylist(), strict=True):
        predicate = decode_text(lexical)
        codes[0, row] = labels.code(LabelKind.INSTANCE, predicate)
        for number, side in enumerate(sides, start=1):
            codes[number, row] = labels.role(Role(predicate, side))
    return codes[:, records.predicate_content]


def _structures(records: TripleRecords, starts: Int64, graph: UInt32, codes: UInt32) -> FlatStructures:
    """Return the structures whose first triples are `starts`."""
    size = records.num_records
    num_instances = np.diff(records.structure_offsets)
    has_graph = graph != NO_ROW
    # Occurrences: of each triple the subject unless it is shown, the object, and the graph unless it is shown.
    is_first = np.zeros(size, np.bool_)
    is_first[starts] = True
    shows_subject = is_first | _differs(records.subject_content)
    shows_graph = has_graph & (is_first | _differs(graph))
    widths = 1 + shows_subject.astype(np.int64) + shows_graph
    first_at = np.cumsum(widths) - widths
    object_at = first_at + shows_subject
    subject_at, graph_at = _latest(first_at, shows_subject), _latest(object_at + 1, shows_graph)
    tau = np.empty(int(widths.sum()), np.uint32)
    tau[subject_at], tau[object_at] = records.subject_content, records.object_content
    tau[graph_at[has_graph]] = graph[has_graph]
    # Incidences: subject, object and perhaps graph of each triple.
    sizes = 2 + has_graph.astype(np.int64)
    first = np.cumsum(sizes) - sizes
    occurrence, sigma = np.empty(int(sizes.sum()), np.uint32), np.empty(int(sizes.sum()), np.uint32)
    begins = np.repeat(first_at[starts], num_instances)
    occurrence[first], occurrence[first + 1] = subject_at - begins, object_at - begins
    sigma[first], sigma[first + 1] = codes[1], codes[2]
    occurrence[first[has_graph] + 2] = (graph_at - begins)[has_graph]
    sigma[first[has_graph] + 2] = codes[3, has_graph]
    return FlatStructures(
        begin=records.begin[starts],
        end=records.end[records.structure_offsets[1:] - 1],
        num_occurrences=np.diff(first_at[starts], append=len(tau)),
        num_instances=num_instances,
        num_incidences=np.diff(first[starts], append=len(sigma)),
        tau=tau,
        label=codes[0],
        ordinal=records.begin if records.ordinal is None else records.ordinal,
        occurrence=occurrence,
        instance=np.repeat(count_from_zero(num_instances), sizes),
        sigma=sigma,
        position=np.zeros(len(sigma), np.int64),
    )


def _differs(values: UInt32) -> Bools:
    """Tell for each value whether it is not that before it."""
    found = np.ones(len(values), np.bool_)
    found[1:] = values[1:] != values[:-1]
    return found


def _latest(values: Int64, is_chosen: Bools) -> Int64:
    """Return for each place the last of the ascending `values` up to there that is chosen, 0 if there is none."""
    latest: Int64 = np.maximum.accumulate(np.where(is_chosen, values, 0))
    return latest


def _used(contents: pa.RecordBatch, rows: UInt32) -> tuple[UInt32, pa.RecordBatch]:
    """Return the contents that `rows` name, and for each row of `contents` its number among these."""
    is_used = np.zeros(contents.num_rows, np.bool_)
    is_used[rows] = True
    numbers = (np.cumsum(is_used) - 1).astype(np.uint32)
    return numbers, contents.filter(pa.array(is_used))


def _renumbered(handles: pa.LargeListArray, numbers: UInt32) -> pa.LargeListArray:
    """Return the lists with the numbers that their contents have now."""
    values = pa.array(numbers).take(handles.values)
    offsets = np.concatenate(([0], np.cumsum(np.asarray(handles.value_lengths().fill_null(0)))))
    return pa.LargeListArray.from_arrays(
        pa.array(offsets, pa.int64()), values, type=handles.type, mask=handles.is_null()
    )


TRIPLES = TriplesConverter()
