"""Units of running text to structures: one instance a unit, whose words and linked mentions are its tokens in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import LabelBuilder, Role
from lisdata.converters.structure_rows import incidence_array, labels_from, struct_array, structure_rows
from lisdata.converters.tokens import Tokens, find_tokens
from lisdata.records import TextRecords
from lisdata.schema import SPAN_TYPE, LabelKind, StructureKind
from lisdata.structure_batch import StructureBatch, list_array

Int64 = npt.NDArray[np.int64]
UInt32 = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]

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

    def convert(self, records: TextRecords, options: TextStructureOptions) -> StructureBatch:
        """Return one structure a unit."""
        labels = labels_from(records.labels)
        tokens, contents = find_tokens(records)
        columns = _Columns(records, tokens, labels).to_arrow()
        columns["document"] = records.documents
        structures = structure_rows(StructureKind.TEXT, records.file, records.begin, records.end, columns)
        return StructureBatch(structures=structures, contents=contents, labels=labels.to_arrow())


class _Grouped:
    """Items of several units, put into order of units: a unit's items stay in the order given."""

    def __init__(self, units: list[Int64], num_units: int) -> None:
        unit = np.concatenate(units)
        is_grouped = bool((unit[1:] >= unit[:-1]).all())  # most text has tokens alone: then nothing is moved
        self.order: Int64 | slice = slice(None) if is_grouped else np.argsort(unit, kind="stable")
        self.offsets = np.concatenate(([0], np.cumsum(np.bincount(unit, minlength=num_units))))
        self.number = np.empty(len(unit), np.int64)  # of each item in its unit
        self.number[self.order] = np.arange(len(unit)) - self.offsets[unit[self.order]]

    def list_array(self, values: list[npt.NDArray[np.generic]], type_: pa.DataType) -> pa.Array:
        return list_array(self.offsets, pa.array(np.concatenate(values)[self.order], type_))


class _Columns:
    """The list columns of a batch; occurrences are tokens, then the other mentions, then fields."""

    def __init__(self, records: TextRecords, tokens: Tokens, labels: LabelBuilder) -> None:
        self.records, self.tokens, self.labels = records, tokens, labels
        size = records.num_records
        self.mention_unit = np.repeat(np.arange(size), np.diff(records.mention_offsets))
        self.field_unit = np.repeat(np.arange(size), np.diff(records.field_offsets))
        is_token = np.zeros(len(self.mention_unit), bool)
        is_token[tokens.mention[tokens.mention >= 0]] = True
        self.others = np.flatnonzero(~is_token)
        self.apart = np.flatnonzero(self._stand_apart(is_token))
        self.occurrences = _Grouped([tokens.unit, self.mention_unit[self.others], self.field_unit], size)
        self.instances = _Grouped([np.arange(size), self.mention_unit[self.apart]], size)
        self.incidences = _Grouped([tokens.unit, self.mention_unit[self.apart], self.field_unit], size)

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
        tau = [tokens.content, records.mention_content[self.others], records.field_content]
        unit_label = np.full(records.num_records, self.labels.code(LabelKind.INSTANCE, records.unit))
        instance_labels, ordinals = [unit_label], [np.zeros(records.num_records, np.int64)]
        if len(self.apart):
            instance_labels.append(np.full(len(self.apart), self.labels.code(LabelKind.INSTANCE, MENTION)))
            ordinals.append(self.apart - records.mention_offsets[self.mention_unit[self.apart]])
        return {
            "tau": self.occurrences.list_array(list(tau), pa.uint32()),
            "span": self._spans(),
            "instance_label": self.instances.list_array(list(instance_labels), pa.uint32()),
            "instance_ordinal": self.instances.list_array(list(ordinals), pa.uint64()),
            **self._incidences(),
        }

    def _spans(self) -> pa.Array:
        records, tokens, order = self.records, self.tokens, self.occurrences.order
        none = np.zeros(len(self.field_unit), np.int64)
        is_null = np.repeat([False, True], [len(tokens.unit) + len(self.others), len(none)])
        begin = np.concatenate([tokens.begin, records.mention_begin[self.others].astype(np.int64), none])
        end = np.concatenate([tokens.end, records.mention_end[self.others].astype(np.int64), none])
        mask = pa.array(is_null[order]) if len(none) else None
        spans = struct_array(SPAN_TYPE, [begin[order].astype(np.uint64), end[order].astype(np.uint64)], mask)
        return list_array(self.occurrences.offsets, spans, nullable=True)

    def _incidences(self) -> dict[str, pa.Array]:
        """Return the columns incidence, sigma and position: tokens, then mentions that stand apart, then fields."""
        records, tokens = self.records, self.tokens
        number, order = self.occurrences.number, self.incidences.order
        num_tokens, num_fields = len(tokens.unit), len(self.field_unit)
        occurrence_of = np.empty(len(self.mention_unit), np.int64)
        as_token = np.flatnonzero(tokens.mention >= 0)
        occurrence_of[tokens.mention[as_token]] = as_token
        occurrence_of[self.others] = num_tokens + np.arange(len(self.others))
        instance_of = np.zeros(len(self.mention_unit) + 1, np.int64)  # the last stands for mention -1: the unit itself
        instance_of[self.apart] = self.instances.number[records.num_records :]
        occurrence = [number[:num_tokens], number[occurrence_of[self.apart]], number[len(number) - num_fields :]]
        instance = [np.zeros(num_tokens, np.int64), instance_of[self.apart], instance_of[records.field_mention]]
        token_role = self.labels.role(Role(records.unit, TOKEN))
        span_role = self.labels.role(Role(MENTION, SPAN)) if len(self.apart) else 0
        sigma = [np.full(num_tokens, token_role), np.full(len(self.apart), span_role), records.field_role]
        position = np.zeros(sum(map(len, occurrence)), np.int64)
        position[:num_tokens] = number[:num_tokens]  # tokens come first among a unit's occurrences
        pairs = incidence_array(np.concatenate(occurrence)[order], np.concatenate(instance)[order])
        return {
            "incidence": list_array(self.incidences.offsets, pairs),
            "sigma": self.incidences.list_array(list(sigma), pa.uint32()),
            "position": self.incidences.list_array([position], pa.int64()),
        }


TEXT = TextConverter()
