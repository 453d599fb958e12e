"""Documents to structures: an instance a unit, which holds its units by their handles and its words as tokens."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.content_columns import ContentColumns
from lisdata.contents import LabelBuilder, Role
from lisdata.converters.structure_rows import incidence_array, struct_array, structure_rows
from lisdata.converters.tokens import Tokens, find_tokens
from lisdata.kernels.arrays import binary_array, binary_buffers
from lisdata.kernels.groups import rank_in_group
from lisdata.records import DocumentRecords, TextRecords
from lisdata.schema import NO_CONTENTS, NO_LABELS, SPAN_TYPE, ContentKind, LabelKind, StructureKind
from lisdata.structure_batch import StructureBatch, list_array

Int64 = npt.NDArray[np.int64]

UNIT, TOKEN = "child", "token"  # sides of roles


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentStructureOptions:
    """Documents have no options."""


@dataclass(frozen=True, slots=True)
class DocumentsConverter:
    """Makes a structure of each document.

    Instances are the units, the document first, parents before children; each but the document has a handle, named by
    its label and the byte of the file where it begins. Occurrences are the handles in that order, then the words. A
    unit takes part in its parent's instance (PARENT#child), a word in that of its innermost unit (UNIT#token), both
    with positions from 0.
    """

    name: str = "documents"
    options_type: type[DocumentStructureOptions] = DocumentStructureOptions

    def convert(self, records: DocumentRecords, options: DocumentStructureOptions) -> StructureBatch:
        """Return one structure a document."""
        labels = LabelBuilder()
        tokens, words = find_tokens(_segments_as_units(records))
        numbers = _Numbers.of(records, tokens)
        handles, of_unit = _handles(records, numbers, labels)
        instance_labels = [labels.code(LabelKind.INSTANCE, label) for label in records.unit_labels]
        handle = pa.array((of_unit + len(words)).astype(np.uint32), mask=numbers.is_root)
        ordinal = np.arange(len(numbers.document)) - records.unit_offsets[numbers.document]
        columns = {
            "document": records.documents,
            "instance_label": list_array(records.unit_offsets, pa.array(_pick(instance_labels, records.unit_label))),
            "instance_handle": list_array(records.unit_offsets, handle, nullable=True),
            "instance_ordinal": list_array(records.unit_offsets, pa.array(ordinal.astype(np.uint64))),
            **_occurrences(records, tokens, numbers, of_unit + len(words)),
            **_incidences(records, numbers, labels),
        }
        rows = structure_rows(StructureKind.TEXT, records.files or records.file, records.begin, records.end, columns)
        contents = pa.concat_batches([words, handles])
        return StructureBatch(structures=rows, contents=contents, labels=labels.to_arrow())


def _segments_as_units(records: DocumentRecords) -> TextRecords:
    """Return the segments as units of text, each with bytes of its own, so that no word reaches out of one."""
    offsets, data = binary_buffers(records.documents)
    document = np.repeat(np.arange(records.num_records), np.diff(records.segment_offsets))
    begin, end = (bound + offsets[document] for bound in (records.segment_begin, records.segment_end))
    ends = np.concatenate(([0], np.cumsum(end - begin)))
    view = data.data
    picked = b"".join(view[first:last] for first, last in zip(begin.tolist(), end.tolist(), strict=True))
    nothing = np.zeros(len(begin) + 1, np.int64)
    none = np.empty(0, np.uint32)
    return TextRecords(
        file=records.file,
        unit="",
        documents=binary_array(ends, np.frombuffer(picked, np.uint8), pa.large_binary()),
        begin=begin.astype(np.uint64),
        end=begin.astype(np.uint64),
        contents=NO_CONTENTS,
        labels=NO_LABELS,
        mention_offsets=nothing,
        mention_begin=none.astype(np.uint64),
        mention_end=none.astype(np.uint64),
        mention_content=none,
        field_offsets=nothing,
        field_role=none,
        field_content=none,
        field_mention=none.astype(np.int64),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbers:
    """Of each unit: its document, whether it is that; of each word: its document, its unit among all, its segment.

    Occurrence k of document n is row occurrence_offsets[n] + k; `unit_row` and `token_row` are those of units (of roots
    without meaning) and words.
    """

    document: Int64
    is_root: npt.NDArray[np.bool_]
    token_document: Int64
    token_unit: Int64
    segment: Int64
    occurrence_offsets: Int64
    unit_row: Int64
    token_row: Int64

    @staticmethod
    def of(records: DocumentRecords, tokens: Tokens) -> _Numbers:
        offsets, units = records.unit_offsets, np.arange(len(records.unit_label))
        document = np.repeat(np.arange(records.num_records), np.diff(offsets))
        is_root = units == offsets[document]
        segment = np.repeat(np.arange(len(records.segment_unit)), np.diff(tokens.offsets))
        segment_document = np.repeat(np.arange(records.num_records), np.diff(records.segment_offsets))
        token_offsets = tokens.offsets[records.segment_offsets]
        children = offsets - np.arange(len(offsets))
        token_document = segment_document[segment]
        return _Numbers(
            document=document,
            is_root=is_root,
            token_document=token_document,
            token_unit=(records.segment_unit + offsets[segment_document])[segment],
            segment=segment,
            occurrence_offsets=children + token_offsets,
            unit_row=units - 1 - document + token_offsets[document],
            token_row=np.arange(len(segment)) + children[1:][token_document],
        )

    def join(self, of_unit: npt.NDArray[Any], of_token: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return what units (but the documents) and words have, in the order of occurrences."""
        joined = np.empty(self.occurrence_offsets[-1], of_token.dtype)
        joined[self.unit_row[~self.is_root]] = of_unit[~self.is_root]
        joined[self.token_row] = of_token
        return joined


def _handles(records: DocumentRecords, numbers: _Numbers, labels: LabelBuilder) -> tuple[pa.RecordBatch, Int64]:
    """Return the handles as contents, and the row of each unit's; a document has none (its row is of no meaning)."""
    begin = records.unit_begin + records.begin.astype(np.int64)[numbers.document]
    place = begin  # apart for each document, where these are files that all begin at 0
    if records.files is not None:
        place = begin + numbers.document * (int(begin.max(initial=0)) + 1)
    rank = _rank_inside(place * len(records.unit_labels) + records.unit_label, numbers.is_root)
    inner = ~numbers.is_root
    names = pa.array(records.unit_labels, pa.large_string()).take(pa.array(records.unit_label[inner]))
    space, point = (pa.scalar(mark, pa.large_string()) for mark in " .")
    names = pc.binary_join_element_wise(names, pa.array(begin[inner]).cast(pa.large_string()), space)
    numbered = pc.binary_join_element_wise(names, pa.array(rank[inner]).cast(pa.large_string()), point)
    contents = ContentColumns(labels)
    lexicals = pc.if_else(pa.array(rank[inner] > 0), numbered, names)
    if records.files is None:
        contents.add(ContentKind.INSTANCE, lexicals, scope=records.file.scope)
    else:
        ends = np.cumsum(np.diff(records.unit_offsets) - 1).tolist()  # of all units but the documents
        for file, (first, last) in zip(records.files, pairwise([0, *ends]), strict=True):
            contents.add(ContentKind.INSTANCE, lexicals[first:last], scope=file.scope)
    table, rows_of = contents.finish()
    rows = np.zeros(len(numbers.is_root), np.int64)
    rows[inner] = np.concatenate(rows_of)
    return table, rows


def _occurrences(records: DocumentRecords, tokens: Tokens, numbers: _Numbers, handle: Int64) -> dict[str, pa.Array]:
    shift = records.segment_begin[numbers.segment].astype(np.uint64)
    bounds = [
        numbers.join(records.unit_begin.astype(np.uint64), tokens.begin.astype(np.uint64) + shift),
        numbers.join(records.unit_end.astype(np.uint64), tokens.end.astype(np.uint64) + shift),
    ]
    tau = numbers.join(handle.astype(np.uint32), tokens.content)
    offsets = numbers.occurrence_offsets
    return {
        "tau": list_array(offsets, pa.array(tau)),
        "span": list_array(offsets, struct_array(SPAN_TYPE, bounds), nullable=True),
    }


def _incidences(records: DocumentRecords, numbers: _Numbers, labels: LabelBuilder) -> dict[str, pa.Array]:
    """Return incidence, sigma and position: one incidence an occurrence, in their order."""
    child_roles = [labels.role(Role(label, UNIT)) for label in records.unit_labels]
    token_roles = [labels.role(Role(label, TOKEN)) for label in records.unit_labels]
    parent = np.where(numbers.is_root, 0, records.unit_parent) + records.unit_offsets[numbers.document]
    instance = numbers.join(parent, numbers.token_unit)
    document = numbers.join(numbers.document, numbers.token_document)
    position = numbers.join(_rank_inside(parent, numbers.is_root), rank_in_group(numbers.token_unit))
    sigma = numbers.join(
        _pick(child_roles, records.unit_label[parent]), _pick(token_roles, records.unit_label[numbers.token_unit])
    )
    offsets = numbers.occurrence_offsets
    occurrence = np.arange(len(instance)) - offsets[document]
    return {
        "incidence": list_array(offsets, incidence_array(occurrence, instance - records.unit_offsets[document])),
        "sigma": list_array(offsets, pa.array(sigma)),
        "position": list_array(offsets, pa.array(position)),
    }


def _pick(codes: list[int], rows: Int64) -> npt.NDArray[np.uint32]:
    return np.array(codes, np.uint32)[rows]


def _rank_inside(group: Int64, is_root: npt.NDArray[np.bool_]) -> Int64:
    """Return the rank of each unit in its group; roots are in none."""
    return rank_in_group(np.where(is_root, -1, group))


DOCUMENTS = DocumentsConverter()
