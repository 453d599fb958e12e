"""Units of running text to structures: one instance a unit, whose words and linked mentions are its tokens in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import LabelBuilder, Role
from lisdata.converters.documents import DOCUMENTS, DocumentStructureOptions
from lisdata.converters.structure_rows import labels_from, struct_array, structure_rows
from lisdata.converters.tokens import Tokens, find_tokens
from lisdata.records import DocumentRecords, TextRecords
from lisdata.schema import INCIDENCE_TYPE, SPAN_TYPE, LabelKind, StructureKind
from lisdata.structure_batch import StructureBatch, list_array

Int64 = npt.NDArray[np.int64]
UInt32 = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]
T = TypeVar("T", bound=np.generic)

TOKEN, MENTION, SPAN = "token", "mention", "span"  # sides of roles, and the label of a mention's instance


@dataclass(frozen=True, slots=True, kw_only=True)
class TextStructureOptions:
    """Text has no options: its words follow the one rule of `lisdata.converters.words`."""


@dataclass(frozen=True, slots=True)
class TextConverter:
    """Makes a structure of each unit.

    Instance 0 has the unit's label ("line", "record", ...). Its tokens are the words and, in place of the words that
    spell it, each linked mention, which shows its entity; role unit#token, positions from 0. Fields about the unit take
    part in instance 0 too, in their own roles. Of mentions that overlap, the longest (then the first) is a token; a
    mention that is none, one that has fields, and all where the source lists them out of text order, is the
    participant mention#span of an instance "mention" of its own, whose ordinal is its number in the source's list.
    """

    name: str = "text"
    options_type: type[TextStructureOptions] = TextStructureOptions

    def convert(self, records: TextRecords | DocumentRecords, options: TextStructureOptions) -> StructureBatch:
        """Return one structure a unit; one that is a tree of units becomes what `DocumentsConverter` makes of it."""
        if isinstance(records, DocumentRecords):
            return DOCUMENTS.convert(records, DocumentStructureOptions())
        labels = labels_from(records.labels)
        tokens, contents = find_tokens(records)
        columns = _Columns(records, tokens, labels).to_arrow()
        columns["document"] = records.documents
        structures = structure_rows(StructureKind.TEXT, records.file, records.begin, records.end, columns)
        return StructureBatch(structures=structures, contents=contents, labels=labels.to_arrow())


class _Grouped:
    """Items of several sorts put together unit by unit: in each the items of the first sort, then of the second ...

    The items of sort s and unit n are rows offsets[s][n] : offsets[s][n + 1] of the values of that sort.
    """

    def __init__(self, *offsets: Int64) -> None:
        self._offsets = offsets
        self.offsets: Int64 = np.sum(offsets, axis=0)

    def join(self, *values: npt.NDArray[T]) -> npt.NDArray[T]:
        """Return values of each sort, which have one type, in order of units."""
        from lisdata.kernels.interleave import interleave  # compiled on import

        joined, offsets = values[0], self._offsets[0]
        for more, more_offsets in zip(values[1:], self._offsets[1:], strict=True):
            if len(more):  # most text has tokens alone: then nothing is moved
                joined = interleave(joined, offsets, more, more_offsets)
            offsets = offsets + more_offsets
        return joined

    def first_numbers(self, sort: int) -> Int64:
        """Return the number in its unit of each unit's first item of a sort."""
        first: Int64 = np.sum([np.diff(offsets) for offsets in self._offsets[:sort]], axis=0)
        return first


class _Columns:
    """The list columns of a batch; occurrences are tokens, then the other mentions, then fields."""

    def __init__(self, records: TextRecords, tokens: Tokens, labels: LabelBuilder) -> None:
        self.records, self.tokens, self.labels = records, tokens, labels
        units = np.arange(records.num_records)
        self.mention_unit = np.repeat(units, np.diff(records.mention_offsets))
        self.field_unit = np.repeat(units, np.diff(records.field_offsets))
        is_token = np.zeros(len(self.mention_unit), bool)
        is_token[tokens.mention] = True
        self.others = np.flatnonzero(~is_token)
        self.apart = np.flatnonzero(self._stand_apart(is_token))
        self.others_offsets = np.searchsorted(self.others, records.mention_offsets)
        self.apart_offsets = np.searchsorted(self.apart, records.mention_offsets)
        self.occurrences = _Grouped(tokens.offsets, self.others_offsets, records.field_offsets)
        self.instances = _Grouped(np.arange(records.num_records + 1), self.apart_offsets)
        self.incidences = _Grouped(tokens.offsets, self.apart_offsets, records.field_offsets)

    def _stand_apart(self, is_token: Bools) -> Bools:
        """Return which mentions have an instance of their own."""
        apart = ~is_token
        apart[self.records.field_mention[self.records.field_mention >= 0]] = True
        plain = np.flatnonzero(~apart)
        unit, begin = self.mention_unit[plain], self.records.mention_begin[plain]
        falls = (unit[1:] == unit[:-1]) & (begin[1:] < begin[:-1])
        return apart | np.isin(self.mention_unit, unit[1:][falls])

    def to_arrow(self) -> dict[str, pa.Array]:
        records, tokens = self.records, self.tokens
        tau = self.occurrences.join(tokens.content, records.mention_content[self.others], records.field_content)
        label = np.full(records.num_records, self.labels.code(LabelKind.INSTANCE, records.unit), np.uint32)
        ordinal = np.zeros(records.num_records, np.uint64)
        if len(self.apart):
            mention = self.labels.code(LabelKind.INSTANCE, MENTION)
            number = self.apart - records.mention_offsets[self.mention_unit[self.apart]]
            label = self.instances.join(label, np.full(len(self.apart), mention, np.uint32))
            ordinal = self.instances.join(ordinal, number.astype(np.uint64))
        return {
            "tau": list_array(self.occurrences.offsets, pa.array(tau)),
            "span": self._spans(),
            "instance_label": list_array(self.instances.offsets, pa.array(label)),
            "instance_ordinal": list_array(self.instances.offsets, pa.array(ordinal)),
            **self._incidences(),
        }

    def _spans(self) -> pa.Array:
        records, tokens = self.records, self.tokens
        none = np.zeros(len(self.field_unit), np.uint64)
        begin = self.occurrences.join(tokens.begin, records.mention_begin[self.others], none)
        end = self.occurrences.join(tokens.end, records.mention_end[self.others], none)
        mask = None
        if len(none):
            spelled = (np.zeros(len(tokens.content), bool), np.zeros(len(self.others), bool))
            mask = pa.array(self.occurrences.join(*spelled, np.ones(len(none), bool)))
        return list_array(self.occurrences.offsets, struct_array(SPAN_TYPE, [begin, end], mask), nullable=True)

    def _incidences(self) -> dict[str, pa.Array]:
        """Return the columns incidence, sigma and position: tokens, then mentions that stand apart, then fields."""
        records, join, offsets = self.records, self.incidences.join, self.incidences.offsets
        num_tokens, num_apart, num_fields = len(self.tokens.content), len(self.apart), len(records.field_role)
        number = _numbers(self.tokens.offsets)  # tokens come first among a unit's occurrences
        position = join(number, np.zeros(num_apart, np.int64), np.zeros(num_fields, np.int64))
        occurrence_of, instance_of = self._places_of_mentions(number)
        field_number = _numbers(records.field_offsets) + self.occurrences.first_numbers(2)[self.field_unit]
        occurrence = join(number.astype(np.uint32), occurrence_of[self.apart], field_number.astype(np.uint32))
        instance = join(np.zeros(num_tokens, np.uint32), instance_of[self.apart], instance_of[records.field_mention])
        token_role = self.labels.role(Role(records.unit, TOKEN))
        span_role = self.labels.role(Role(MENTION, SPAN)) if num_apart else 0
        roles = (np.full(num_tokens, token_role, np.uint32), np.full(num_apart, span_role, np.uint32))
        return {
            "incidence": list_array(offsets, struct_array(INCIDENCE_TYPE, [occurrence, instance])),
            "sigma": list_array(offsets, pa.array(join(*roles, records.field_role))),
            "position": list_array(offsets, pa.array(position)),
        }

    def _places_of_mentions(self, number: Int64) -> tuple[UInt32, UInt32]:
        """Return each mention's occurrence and instance in its unit; one entry more stands for mention -1, the unit.

        `number` is that of each token in its unit.
        """
        occurrence_of = np.empty(len(self.mention_unit), np.uint32)
        occurrence_of[self.tokens.mention] = number[self.tokens.mention_token]
        first = self.occurrences.first_numbers(1)[self.mention_unit[self.others]]
        occurrence_of[self.others] = _numbers(self.others_offsets) + first
        instance_of = np.zeros(len(self.mention_unit) + 1, np.uint32)
        instance_of[self.apart] = _numbers(self.apart_offsets) + 1
        return occurrence_of, instance_of


def _numbers(offsets: Int64) -> Int64:
    """Return the number in its unit of each item; those of unit n are offsets[n] : offsets[n + 1]."""
    numbers = np.arange(offsets[-1])
    numbers -= np.repeat(offsets[:-1], np.diff(offsets))
    return numbers


TEXT = TextConverter()
