"""Triples and quads to structures: one instance a triple, labelled with its predicate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import LabelBuilder, Role, decode_text
from lisdata.converters.flat_structures import FlatStructures, count_from_zero
from lisdata.converters.structure_rows import labels_from
from lisdata.records import TripleRecords
from lisdata.schema import NO_ROW, LabelKind, StructureKind
from lisdata.structure_batch import StructureBatch

UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

SIDES = ("subject", "object", "graph")


@dataclass(frozen=True, slots=True, kw_only=True)
class TriplesOptions:
    """Options of converter triples."""

    group_by: Literal["subject", "fact"] = field(
        default="subject",
        metadata={"help": "What one structure holds: an adjacent run of triples of one subject, or one triple."},
    )


@dataclass(frozen=True, slots=True)
class TriplesConverter:
    """Makes of each triple an instance with roles predicate#subject, predicate#object and, in a named graph, #graph.

    A structure shows its subject once, and then an object (and a graph) for each of its triples, in the source's
    order. The predicate is a label and no content; an instance's ordinal is the offset of its line.
    """

    name: str = "triples"
    options_type: type[TriplesOptions] = TriplesOptions

    def convert(self, records: TripleRecords, options: TriplesOptions) -> StructureBatch:
        """Return the structures of a batch of triples."""
        size = records.num_records
        has_graph = np.zeros(size, np.bool_) if records.graph_content is None else records.graph_content != NO_ROW
        is_first = np.ones(size, np.bool_)
        if options.group_by == "subject":
            is_first[1:] = records.subject_content[1:] != records.subject_content[:-1]
        labels = labels_from(records.labels)
        codes = _label_codes(records, labels, has_graph)
        structures = _structures(records, np.flatnonzero(is_first), has_graph, codes)
        contents, tau = _used(records.contents, structures.tau)
        return StructureBatch(
            structures=replace(structures, tau=tau).to_arrow(StructureKind.TRIPLES, records.file),
            contents=contents,
            labels=labels.to_arrow(),
        )


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


def _structures(records: TripleRecords, starts: Int64, has_graph: Bools, codes: UInt32) -> FlatStructures:
    """Return the structures whose first triples are `starts`."""
    size = records.num_records
    ends = np.append(starts[1:], size).astype(np.int64)
    num_instances = ends[: len(starts)] - starts
    structure = np.repeat(np.arange(len(starts)), num_instances)
    # Occurrences: a subject before each structure's first triple, one or two of each triple.
    widths = 1 + has_graph.astype(np.int64)
    object_at = np.cumsum(widths) - widths + structure + 1
    subject_at = object_at[starts] - 1
    graph_at = object_at[has_graph] + 1
    tau = np.empty(len(starts) + int(widths.sum()), np.uint32)
    tau[subject_at], tau[object_at] = records.subject_content[starts], records.object_content
    # Incidences: subject, object and perhaps graph of each triple.
    sizes = widths + 1
    first = np.cumsum(sizes) - sizes
    occurrence, sigma = np.zeros(int(sizes.sum()), np.uint32), np.empty(int(sizes.sum()), np.uint32)
    occurrence[first + 1] = object_at - subject_at[structure]
    sigma[first], sigma[first + 1] = codes[1], codes[2]
    if records.graph_content is not None:
        tau[graph_at] = records.graph_content[has_graph]
        occurrence[first[has_graph] + 2] = graph_at - subject_at[structure[has_graph]]
        sigma[first[has_graph] + 2] = codes[3, has_graph]
    return FlatStructures(
        begin=records.begin[starts],
        end=records.end[ends[: len(starts)] - 1],
        num_occurrences=np.diff(subject_at, append=len(tau)),
        num_instances=num_instances,
        num_incidences=np.diff(first[starts], append=len(sigma)),
        tau=tau,
        label=codes[0],
        ordinal=records.begin,
        occurrence=occurrence,
        instance=np.repeat(count_from_zero(num_instances), sizes),
        sigma=sigma,
        position=np.zeros(len(sigma), np.int64),
    )


def _used(contents: pa.RecordBatch, rows: UInt32) -> tuple[pa.RecordBatch, UInt32]:
    """Return the contents that `rows` name, and their numbers among these."""
    is_used = np.zeros(contents.num_rows, np.bool_)
    is_used[rows] = True
    numbers = (np.cumsum(is_used) - 1).astype(np.uint32)
    return contents.filter(pa.array(is_used)), numbers[rows]


TRIPLES = TriplesConverter()
