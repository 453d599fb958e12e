"""Entities gathered into the flat columns of `FactRecords`: contents are numbered by their keys, a batch at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import LabelBuilder, Role, encode_text
from lisdata.errors import KeyCollisionError
from lisdata.inputs import InputFile
from lisdata.kernels.key_table import KeyTable
from lisdata.kernels.keys import SYMBOL_COLUMNS, keys_of_contents
from lisdata.records import FactRecords
from lisdata.schema import CONTENTS, NO_ROW, ContentKind, LabelKind
from lisdata.sources.wikidata_facts import Ends, FlatFacts, offsets_of, renumbered

UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]

_SYMBOL_KINDS = (LabelKind.DATATYPE, LabelKind.LANGUAGE, LabelKind.SCOPE)  # of SYMBOL_COLUMNS


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRecords(FactRecords):
    """Facts about entities; `counts` says what was left out on the way, by name, for the manifest."""

    counts: dict[str, int]


class ContentGroup(dict[str, int]):
    """Contents of one kind, datatype, language and scope: the number of each spelling, given when first asked for."""

    __slots__ = ("_columns", "_prefix", "number")

    def __init__(self, columns: EntityColumns, number: int, prefix: str = "") -> None:
        super().__init__()
        self._columns, self.number, self._prefix = columns, number, prefix

    def __missing__(self, spelling: str) -> int:
        number = self[spelling] = self._columns.add(self.number, self._prefix + spelling if self._prefix else spelling)
        return number


class RoleCodes(dict[str, int]):
    """The codes of the roles of a relation, by side."""

    __slots__ = ("_labels", "_relation")

    def __init__(self, columns: EntityColumns, relation: str) -> None:
        super().__init__()
        self._labels, self._relation = columns.labels, relation

    def __missing__(self, side: str) -> int:
        code = self[side] = self._labels.role(Role(self._relation, side))
        return code


class InstanceLabels(dict[str, int]):
    """The codes of labels of instances, `prefix` before each name."""

    __slots__ = ("_labels", "_prefix")

    def __init__(self, columns: EntityColumns, prefix: str = "") -> None:
        super().__init__()
        self._labels, self._prefix = columns.labels, prefix

    def __missing__(self, name: str) -> int:
        code = self[name] = self._labels.code(LabelKind.INSTANCE, self._prefix + name)
        return code


class EntityColumns:
    """The facts of a batch of entities as flat lists, which writers append to themselves: that is the hot path.

    A content's number is its row in `lexicals`, its spelling, and `groups`. A participant is an entry of `content` (a
    content's number) and of `role`; it stands at position 0 unless `place` says otherwise. `end_fact` makes a fact of
    the participants since the last one, `end_structure` a structure of the facts.
    """

    def __init__(self) -> None:
        self.labels = LabelBuilder()
        self.content: list[int] = []
        self.role: list[int] = []
        self.lexicals: list[str] = []
        self.groups: list[int] = []
        self._kinds: list[tuple[ContentKind, str | None, str | None, str | None]] = []  # of groups; SYMBOL_COLUMNS
        self._placed: list[tuple[int, int, int]] = []  # first participant, the one behind the last, position
        self._ranges: list[tuple[int, int]] = []  # participants at positions 0, 1, 2 ...
        self._fact_label: list[int] = []
        self._fact_handle: list[int] = []
        self._entity_facts: list[int] = []  # first fact of each entity
        self._participant_ends, self._structure_ends = [0], [0]
        self._begin: list[int] = []
        self._end: list[int] = []
        self._mark = (0, 0, 0, 0, 0)
        self._was_undone = False

    @property
    def num_facts(self) -> int:
        """Facts so far."""
        return len(self._fact_label)

    def group(
        self,
        kind: ContentKind,
        *,
        datatype: str | None = None,
        language: str | None = None,
        scope: str | None = None,
        prefix: str = "",
    ) -> ContentGroup:
        """Return a new group of contents, `prefix` before each spelling."""
        self._kinds.append((kind, datatype, language, scope))
        return ContentGroup(self, len(self._kinds) - 1, prefix)

    def add(self, group: int, lexical: str) -> int:
        """Return the number of a content that need not be new; TypeError when the lexical form is no text."""
        if type(lexical) is not str:
            raise TypeError(f"expected text, got {lexical!r}")
        number = len(self.lexicals)
        self.lexicals.append(lexical)
        self.groups.append(group)
        return number

    def add_participant(self, role: int, content: int, position: int = 0) -> None:
        """Add a participant to the fact that is open."""
        if position:
            self.place(len(self.content), len(self.content) + 1, position)
        self.content.append(content)
        self.role.append(role)

    def place(self, first: int, end: int, position: int) -> None:
        """Say at which position the participants [first, end) stand."""
        self._placed.append((first, end, position))

    def add_range(self, role: int, contents: Sequence[int]) -> None:
        """Add a participant a content, at positions 0, 1, 2 ..."""
        first = len(self.content)
        self.content += contents
        self.role += [role] * len(contents)
        self._ranges.append((first, len(self.content)))

    def add_all(self, groups: Iterable[int], lexicals: Sequence[str]) -> range:
        """Return the numbers of contents that need not be new."""
        first = len(self.lexicals)
        self.lexicals += lexicals
        self.groups += groups
        return range(first, len(self.lexicals))

    def end_fact(self, label: int, handle: int = NO_ROW) -> None:
        """Let the participants since the last call be a fact."""
        self._fact_label.append(label)
        self._fact_handle.append(handle)
        self._participant_ends.append(len(self.content))

    def end_structure(self, begin: int, end: int) -> None:
        """Let the facts since the last call, if any, be a structure, from bytes [begin, end) of the input."""
        if len(self._fact_label) > self._structure_ends[-1]:
            self._structure_ends.append(len(self._fact_label))
            self._begin.append(begin)
            self._end.append(end)

    def begin_entity(self) -> None:
        """Count the ordinals of facts from 0; `undo_entity` takes back all that follows."""
        self._entity_facts.append(len(self._fact_label))
        self._mark = (
            len(self.content), len(self._fact_label), len(self._begin), len(self._placed), len(self._ranges)
        )  # fmt: skip

    def undo_entity(self) -> None:
        """Take back all facts and structures since `begin_entity`."""
        num_participants, num_facts, num_structures, num_placed, num_ranges = self._mark
        for column in (self.content, self.role):
            del column[num_participants:]
        for column in (self._fact_label, self._fact_handle):
            del column[num_facts:]
        for column in (self._begin, self._end):
            del column[num_structures:]
        del self._participant_ends[num_facts + 1 :], self._structure_ends[num_structures + 1 :]
        del self._placed[num_placed:], self._ranges[num_ranges:], self._entity_facts[-1:]
        self._was_undone = True

    def ends(self) -> Ends:
        """Return how much there is so far; contents of what was undone count."""
        return Ends(len(self.lexicals), len(self.content), len(self._fact_label), len(self._begin))

    def to_flat(self) -> FlatFacts:
        """Return what was gathered as arrays."""
        return FlatFacts(
            group=_uint32(self.groups),
            lexicals=_binary(self.lexicals),
            content=_uint32(self.content),
            role=_uint32(self.role),
            position=self._positions(),
            label=_uint32(self._fact_label),
            handle=_uint32(self._fact_handle),
            ordinal=self._ordinals(),
            num_participants=_sizes(self._participant_ends),
            begin=np.array(self._begin, np.uint64),
            end=np.array(self._end, np.uint64),
            num_facts=_sizes(self._structure_ends),
        )

    def to_records(
        self, file: InputFile, num_records: int, counts: dict[str, int], facts: FlatFacts | None = None
    ) -> EntityRecords:
        """Return the table of `facts`, which are in our groups and labels, or of what was gathered."""
        if facts is None:
            facts = self.to_flat()
        contents, numbers = self._distinct_contents(facts.group, facts.lexicals)
        content, handle = numbers[facts.content], renumbered(facts.handle, numbers)
        if self._was_undone:
            contents, numbers = _used(contents, (content, handle[handle != NO_ROW]))
            content, handle = numbers[content], renumbered(handle, numbers)
        return EntityRecords(
            file=file,
            contents=contents,
            labels=self.labels.to_arrow(),
            structure_offsets=offsets_of(facts.num_facts),
            fact_label=facts.label,
            fact_handle=handle,
            fact_ordinal=facts.ordinal,
            begin=facts.begin,
            end=facts.end,
            participant_offsets=offsets_of(facts.num_participants),
            participant_content=content,
            participant_role=facts.role,
            participant_position=facts.position,
            num_records=num_records,
            counts=counts,
        )

    def _ordinals(self) -> npt.NDArray[np.uint64]:
        """Return the number of each fact in its entity."""
        first = np.array(self._entity_facts, np.int64)
        num_facts = np.diff(first, append=len(self._fact_label))
        return (np.arange(len(self._fact_label)) - np.repeat(first, num_facts)).astype(np.uint64)

    def _positions(self) -> Int64:
        positions = np.zeros(len(self.content), np.int64)
        for first, end, position in self._placed:
            positions[first:end] = position
        for first, end in self._ranges:
            positions[first:end] = np.arange(end - first)
        return positions

    def _distinct_contents(self, groups: UInt32, lexicals: pa.LargeBinaryArray) -> tuple[pa.RecordBatch, UInt32]:
        """Return the distinct contents, and the row of each among them."""
        codes = self._codes_of_groups(groups)[groups]
        symbols = [pa.array(codes[:, 1 + n], mask=codes[:, 1 + n] == NO_ROW) for n in range(len(SYMBOL_COLUMNS))]
        columns = [pa.array(codes[:, 0].astype(np.uint8)), lexicals, *symbols]
        keyless = pa.RecordBatch.from_arrays(columns, names=CONTENTS.names[1:])
        keys = keys_of_contents(keyless, self.labels.to_arrow())
        contents = pa.RecordBatch.from_arrays([keys, *columns], schema=CONTENTS)
        numbers, is_new = KeyTable().find_or_add(keys)
        if is_new.all():
            return contents, numbers
        distinct, again = contents.filter(pa.array(is_new)), contents.filter(pa.array(~is_new))
        if not again.equals(distinct.take(pa.array(numbers[~is_new]))):
            raise KeyCollisionError(f"two different contents among {again['lexical'].to_pylist()} meet under one key")
        return distinct, numbers

    def _codes_of_groups(self, used: UInt32) -> UInt32:
        """Return kind, datatype, language and scope of each group as codes; only used ones are numbered as labels."""
        codes = np.full((len(self._kinds), 1 + len(SYMBOL_COLUMNS)), NO_ROW, np.uint32)
        for group in np.flatnonzero(np.bincount(used)).tolist():
            kind, *symbols = self._kinds[group]
            codes[group, 0] = kind
            for column, (label_kind, symbol) in enumerate(zip(_SYMBOL_KINDS, symbols, strict=True), start=1):
                if symbol is not None:
                    codes[group, column] = self.labels.code(label_kind, symbol)
        return codes


def _uint32(numbers: list[int]) -> UInt32:
    """Return numbers as an array; by way of the standard library's it takes a third of the time."""
    return np.frombuffer(array("I", numbers), np.uint32)


def _sizes(ends: list[int]) -> Int64:
    return np.diff(np.array(ends, np.int64)).astype(np.int64)


def _binary(lexicals: list[str]) -> pa.LargeBinaryArray:
    try:
        return pa.array(lexicals, pa.large_binary())
    except UnicodeEncodeError:  # a lone surrogate
        return pa.array(list(map(encode_text, lexicals)), pa.large_binary())


def _used(contents: pa.RecordBatch, rows: Sequence[UInt32]) -> tuple[pa.RecordBatch, UInt32]:
    """Return the contents that `rows` name, and what their numbers become."""
    is_used = np.zeros(contents.num_rows, np.bool_)
    for named in rows:
        is_used[named] = True
    return contents.filter(pa.array(is_used)), (np.cumsum(is_used) - 1).astype(np.uint32)
