"""Facts gathered, one after another or a column at a time, into the flat columns of `FactRecords`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import ContentBuilder, LabelBuilder, Role
from lisdata.errors import KeyCollisionError
from lisdata.inputs import InputFile
from lisdata.kernels.csv_scan import NO_QUOTE, Cells, gather_column
from lisdata.kernels.key_table import KeyTable
from lisdata.kernels.keys import keys_of_contents
from lisdata.records import FactRecords
from lisdata.schema import CONTENTS, NO_ROW, ContentKind, LabelKind

UInt8 = npt.NDArray[np.uint8]
UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]


class FactColumns:
    """Call `add_fact`, `add_participant` for each participant, and `end_structure` behind the last of a structure.

    `contents` may be shared with other columns of the same batch.
    """

    def __init__(self, contents: ContentBuilder | None = None) -> None:
        self.contents = ContentBuilder(LabelBuilder()) if contents is None else contents
        self.labels = self.contents.labels
        self._structure_ends, self._participant_ends = [0], [0]
        self._begin: list[int] = []
        self._end: list[int] = []
        self._label: list[int] = []
        self._handle: list[int] = []
        self._ordinal: list[int] = []
        self._content: list[int] = []
        self._role: list[int] = []
        self._position: list[int] = []

    def add_fact(self, label: str, handle: int, ordinal: int) -> None:
        """Begin a fact; `handle` is a row of `contents`, or NO_ROW."""
        self._label.append(self.labels.code(LabelKind.INSTANCE, label))
        self._handle.append(handle)
        self._ordinal.append(ordinal)
        self._participant_ends.append(self._participant_ends[-1])

    def add_participant(self, role: Role | int, content: int, position: int) -> None:
        """Add row `content` of `contents` to the fact begun last; `role` may be a code that `labels` gave."""
        self._content.append(content)
        self._role.append(role if isinstance(role, int) else self.labels.role(role))
        self._position.append(position)
        self._participant_ends[-1] += 1

    def end_structure(self, begin: int, end: int) -> None:
        """Let the facts since the last call be one structure, from bytes [begin, end) of the input."""
        self._structure_ends.append(len(self._label))
        self._begin.append(begin)
        self._end.append(end)

    @property
    def num_structures(self) -> int:
        """Structures that were ended."""
        return len(self._begin)

    def extend(self, others: FactColumns) -> None:
        """Add the structures of `others`, which are as they would be if they had been added here."""
        rows, codes = self.contents.add_all(others.contents), self.labels.add_all(others.labels)
        first_fact, first_participant = len(self._label), len(self._content)
        self._structure_ends += [first_fact + end for end in others._structure_ends[1:]]
        self._participant_ends += [first_participant + end for end in others._participant_ends[1:]]
        self._begin += others._begin
        self._end += others._end
        self._label += [codes[label] for label in others._label]
        self._handle += [handle if handle == NO_ROW else rows[handle] for handle in others._handle]
        self._ordinal += others._ordinal
        self._content += [rows[content] for content in others._content]
        self._role += [codes[role] for role in others._role]
        self._position += others._position

    def to_records(
        self, file: InputFile, *, num_records: int, files: tuple[InputFile, ...] | None = None
    ) -> FactRecords:
        """Return the table; `num_records` is what counts as records of the input, `files` that of each structure."""
        contents = self.contents.to_arrow()  # numbers the scopes among the labels
        return FactRecords(
            file=file,
            contents=contents,
            labels=self.labels.to_arrow(),
            structure_offsets=np.array(self._structure_ends, np.int64),
            fact_label=np.array(self._label, np.uint32),
            fact_handle=np.array(self._handle, np.uint32),
            fact_ordinal=np.array(self._ordinal, np.uint64),
            begin=np.array(self._begin, np.uint64),
            end=np.array(self._end, np.uint64),
            participant_offsets=np.array(self._participant_ends, np.int64),
            participant_content=np.array(self._content, np.uint32),
            participant_role=np.array(self._role, np.uint32),
            participant_position=np.array(self._position, np.int64),
            num_records=num_records,
            files=files,
        )


class ParticipantTable:
    """The participants of a batch of facts, gathered a column at a time; a fact has them in the order of the columns.

    A column is (n,) arrays: the facts in ascending order (one may come several times), contents, roles and positions.
    """

    def __init__(self) -> None:
        self._columns: list[tuple[Int64, UInt32, UInt32, Int64]] = []

    def add(self, fact: Int64, content: UInt32, role: UInt32 | int, position: Int64 | int = 0) -> None:
        """Add a column; one role or position may stand for all."""
        roles = np.broadcast_to(np.asarray(role, np.uint32), fact.shape)
        positions = np.broadcast_to(np.asarray(position, np.int64), fact.shape)
        self._columns.append((fact, content, roles, positions))

    def finish(self, num_facts: int) -> tuple[Int64, UInt32, UInt32, Int64]:
        """Return (offsets of facts, contents, roles, positions)."""
        nothing = (np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0, np.int64))
        fact, content, role, position = (np.concatenate(parts) for parts in zip(nothing, *self._columns, strict=True))
        order = np.argsort(fact, kind="stable")
        offsets = np.zeros(num_facts + 1, np.int64)
        np.cumsum(np.bincount(fact, minlength=num_facts), out=offsets[1:])
        return offsets, content[order], role[order], position[order]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentColumn:
    """N contents, not all distinct: kind, lexical form, and the codes of datatype and language, NO_ROW for none."""

    kind: UInt8
    lexical: pa.LargeBinaryArray
    datatype: UInt32
    language: UInt32
    scope: int = NO_ROW

    @classmethod
    def of_kind(cls, kind: ContentKind, lexical: pa.LargeBinaryArray, *, scope: int = NO_ROW) -> ContentColumn:
        """Return contents of one kind without datatype and language."""
        none = np.full(len(lexical), NO_ROW, np.uint32)
        kinds = np.full(len(lexical), kind, np.uint8)
        return cls(kind=kinds, lexical=lexical, datatype=none, language=none, scope=scope)


class ContentRows:
    """The contents of a batch, gathered a column at a time; `finish` keeps each distinct one once."""

    def __init__(self, labels: LabelBuilder) -> None:
        self.labels = labels
        self._columns: list[ContentColumn] = []
        self._size = 0

    def add(self, column: ContentColumn) -> int:
        """Add contents; return the number of the first, those of the others follow."""
        first = self._size
        self._columns.append(column)
        self._size += len(column.lexical)
        return first

    def finish(self) -> tuple[pa.RecordBatch, UInt32]:
        """Return the distinct contents (CONTENTS schema), and the row in them of each content added.

        Raises KeyCollisionError where two different contents meet under one key.
        """
        columns = self._columns
        scopes = [np.full(len(c.lexical), c.scope, np.uint32) for c in columns]
        keyless = [
            pa.array(np.concatenate([np.empty(0, np.uint8), *(c.kind for c in columns)])),
            pa.concat_arrays([pa.array([], pa.large_binary()), *(c.lexical for c in columns)]),
            _nullable([c.datatype for c in columns]),
            _nullable([c.language for c in columns]),
            _nullable(scopes),
        ]
        contents = pa.RecordBatch.from_arrays(keyless, names=[f.name for f in CONTENTS][1:])
        keys = keys_of_contents(contents, self.labels.to_arrow())
        contents = pa.RecordBatch.from_arrays([keys, *contents.columns], schema=CONTENTS)
        rows, is_new = KeyTable().find_or_add(keys)
        if is_new.all():
            return contents, rows
        distinct, again = contents.filter(pa.array(is_new)), contents.filter(pa.array(~is_new))
        if not again.equals(distinct.take(pa.array(rows[~is_new]))):
            raise KeyCollisionError("two different contents of one batch meet under one key")
        return distinct, rows


def _nullable(codes: list[UInt32]) -> pa.Array:
    together = np.concatenate([np.empty(0, np.uint32), *codes])
    return pa.array(together, mask=together == NO_ROW)


def gather_spans(data: UInt8, begin: Int64, end: Int64) -> pa.LargeBinaryArray:
    """Return the texts that lie at bytes [begin, end) of `data`, which is below 2 GiB."""
    begins, ends = (array.astype(np.uint32)[:, None] for array in (begin, end))
    none = np.zeros(len(begin), np.uint8)
    cells = Cells(
        begin=begins, end=ends, size=ends - begins, flags=none[:, None], row_begin=begins[:, 0], ending=none
    )  # fmt: skip
    return gather_column(data, cells, 0, NO_QUOTE)
