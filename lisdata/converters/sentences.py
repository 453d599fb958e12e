"""Sentences to structures: a sequence of words, an instance for each dependency, and what else is known as notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import LabelBuilder, Role
from lisdata.converters.flat_structures import count_from_zero
from lisdata.converters.structure_rows import labels_from, struct_array, structure_rows
from lisdata.kernels.interleave import interleave
from lisdata.records import SentenceRecords
from lisdata.schema import INCIDENCE_TYPE, NO_ROW, SPAN_TYPE, UNTAGGED, LabelKind, StructureKind
from lisdata.structure_batch import StructureBatch, list_array

UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]
T = TypeVar("T", bound=np.generic)

SENTENCE, DEPENDENCY = "sentence", "dependency"  # labels of instances, and relations of roles
TOKEN, PARENT, CHILD = "token", "parent", "child"  # sides of roles


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceStructureOptions:
    """How sentences become structures."""

    arcs: bool = field(default=True, metadata={"help": "Make an instance of each dependency, with parent and child."})


@dataclass(frozen=True, slots=True)
class SentenceConverter:
    """Makes a structure of each sentence.

    Its occurrences are the words, with head, deprel and hexatags, and then the notes, without a span. Instance 0
    ("sentence") holds the words in role sentence#token, positions from 0, and the notes in their own roles. With `arcs`
    each word whose head is a word makes an instance "dependency", in their order, of that parent and it as child.
    """

    name: str = "sentences"
    options_type: type[SentenceStructureOptions] = SentenceStructureOptions

    def convert(self, records: SentenceRecords, options: SentenceStructureOptions) -> StructureBatch:
        """Return one structure a sentence."""
        labels = labels_from(records.labels)
        occurrences = records.word_offsets + records.note_offsets
        columns = {"document": records.documents}
        columns |= _occurrence_columns(records, occurrences)
        columns |= _instance_columns(records, occurrences, _find_arcs(records, options.arcs), labels)
        structures = structure_rows(StructureKind.TEXT, records.file, records.begin, records.end, columns)
        return StructureBatch(structures=structures, contents=records.contents, labels=labels.to_arrow())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arcs:
    """Dependencies of words on words, by sentence; `ends` are the occurrences of parent and child of each in turn."""

    offsets: Int64
    ends: UInt32


def _find_arcs(records: SentenceRecords, wanted: bool) -> _Arcs:
    children = np.flatnonzero(records.head > 0) if wanted else np.zeros(0, np.int64)
    number = count_from_zero(np.diff(records.word_offsets))
    ends = np.empty((len(children), 2), np.uint32)
    ends[:, 0], ends[:, 1] = records.head[children] - 1, number[children]
    return _Arcs(offsets=np.searchsorted(children, records.word_offsets), ends=ends.ravel())


def _occurrence_columns(records: SentenceRecords, offsets: Int64) -> dict[str, pa.Array]:
    heads = _join(records, records.head, -1)
    deprels = _join(records, records.deprel_label, NO_ROW).view(np.int32)  # NO_ROW becomes -1
    is_note = _join(records, np.zeros(len(records.head), np.bool_), 1)
    span = [_join(records, records.word_begin, 0), _join(records, records.word_end, 0)]
    spans = struct_array(SPAN_TYPE, list(span), pa.array(is_note) if records.note_offsets[-1] else None)
    return {
        "tau": list_array(offsets, pa.array(_join(records, records.word_content, records.note_content))),
        "span": list_array(offsets, spans, nullable=True),
        "terminal": list_array(offsets, pa.array(_join(records, records.terminal, UNTAGGED))),
        "nonterminal": list_array(offsets, pa.array(_join(records, records.nonterminal, UNTAGGED))),
        "head": list_array(offsets, pa.array(heads, mask=heads < 0), nullable=True),
        "deprel": list_array(offsets, pa.array(deprels, mask=deprels < 0), nullable=True),
    }


def _instance_columns(
    records: SentenceRecords, occurrences: Int64, arcs: _Arcs, labels: LabelBuilder
) -> dict[str, pa.Array]:
    """Return the columns of instances and incidences: words and notes of the sentence, parent and child of each arc."""
    instances, in_arcs = arcs.offsets + np.arange(len(arcs.offsets)), 2 * arcs.offsets
    ordinal = count_from_zero(np.diff(instances))
    label = np.full(instances[-1], labels.code(LabelKind.INSTANCE, SENTENCE), np.uint32)
    token, sides = labels.role(Role(SENTENCE, TOKEN)), []
    if len(arcs.ends):
        label[ordinal > 0] = labels.code(LabelKind.INSTANCE, DEPENDENCY)
        sides = [labels.role(Role(DEPENDENCY, side)) for side in (PARENT, CHILD)]
    sigma = _join(records, np.full(len(records.head), token, np.uint32), records.note_role)
    position = _join(records, count_from_zero(np.diff(records.word_offsets)).astype(np.int64), records.note_position)

    def followed(of_sentence: npt.NDArray[T], of_arcs: npt.NDArray[T]) -> npt.NDArray[T]:
        return interleave(of_sentence, occurrences, of_arcs, in_arcs)

    pairs = [
        followed(count_from_zero(np.diff(occurrences)), arcs.ends),
        followed(np.zeros(len(sigma), np.uint32), np.repeat(ordinal[ordinal > 0], 2)),
    ]
    of_arcs = np.tile(np.array(sides, np.uint32), len(arcs.ends) // 2)
    incidences = occurrences + in_arcs
    return {
        "instance_label": list_array(instances, pa.array(label)),
        "instance_ordinal": list_array(instances, pa.array(ordinal.astype(np.uint64))),
        "incidence": list_array(incidences, struct_array(INCIDENCE_TYPE, list(pairs))),
        "sigma": list_array(incidences, pa.array(followed(sigma, of_arcs))),
        "position": list_array(incidences, pa.array(followed(position, np.zeros(len(of_arcs), np.int64)))),
    }


def _join(records: SentenceRecords, of_words: npt.NDArray[T], of_notes: npt.NDArray[T] | int) -> npt.NDArray[T]:
    """Return the values of each sentence's words, then of its notes; one number stands for those of all notes."""
    if not isinstance(of_notes, np.ndarray):
        of_notes = np.full(records.note_offsets[-1], of_notes, of_words.dtype)
    return interleave(of_words, records.word_offsets, of_notes, records.note_offsets)


SENTENCES = SentenceConverter()
