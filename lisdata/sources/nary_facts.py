"""Facts of one block of lines in the making: those of good lines, of blank ones, and the one that tells the layout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import LabelBuilder, Role
from lisdata.inputs import InputFile
from lisdata.records import FactRecords
from lisdata.schema import NO_ROW, ContentKind, LabelKind
from lisdata.sources.fact_columns import ContentColumn, ContentRows, ParticipantTable
from lisdata.sources.layouts import layout_to_text
from lisdata.sources.nary_layout import LAYOUT, LAYOUT_TEXT, LINE, LINE_TEXT, NaryLayout

UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LineFault:
    """A bad line: its bytes in the block, the byte that is wrong, and why."""

    begin: int
    end: int
    at: int
    expected: str
    found: str


class LineFacts:
    """A fact a line of a block; `begin` and `end` (n,) are where these lines lie in it.

    Give each line a label (or leave it "line", as of a blank one) and perhaps a handle, and add participants to
    `participants` by `number`, the number of each line's fact.
    """

    def __init__(self, file: InputFile, base: int, begin: Int64, end: Int64, told: NaryLayout | None) -> None:
        self.file, self.labels = file, LabelBuilder()
        self.contents, self.participants = ContentRows(self.labels), ParticipantTable()
        self._base, self._begin, self._end = base, begin + base, end + base
        self._first = 0 if told is None else 1
        self.number = np.arange(len(begin)) + self._first
        self.label = np.zeros(len(begin), np.uint32)
        self.handle = np.full(len(begin), NO_ROW, np.uint32)
        self._told_label = NO_ROW
        if told is not None:
            self._told_label = self.labels.code(LabelKind.INSTANCE, LAYOUT)
            text = layout_to_text(told) or "{}"
            self.say(np.zeros(1, np.int64), LAYOUT_TEXT, [text.encode()], kind=ContentKind.JSON)

    def say(self, fact: Int64, role: Role, texts: list[bytes], *, kind: ContentKind = ContentKind.TEXT) -> None:
        """Add a text in `role` to each of the facts."""
        first = self.contents.add(ContentColumn.of_kind(kind, pa.array(texts, pa.large_binary())))
        content = np.arange(first, first + len(texts), dtype=np.uint32)
        self.participants.add(fact, content, self.labels.role(role))

    def keep_lines(self, lines: Int64, data: bytes) -> None:
        """Let lines be facts "line" that hold what stands on them."""
        if not len(lines):
            return
        self.label[lines] = self.labels.code(LabelKind.INSTANCE, LINE)
        begins, ends = ((array[lines] - self._base).tolist() for array in (self._begin, self._end))
        texts = [data[begin:end] for begin, end in zip(begins, ends, strict=True)]
        self.say(self.number[lines], LINE_TEXT, texts)

    def to_records(self) -> FactRecords:
        """Return the table, a structure a line."""
        size = len(self._begin)
        contents, rows = self.contents.finish()
        offsets, content, role, position = self.participants.finish(self._first + size)
        told, zeros = np.full(self._first, self._told_label), np.zeros(self._first)
        handle = np.full(size, NO_ROW, np.uint32)
        is_named = self.handle != NO_ROW
        handle[is_named] = rows[self.handle[is_named]]
        begin = np.concatenate((zeros, self._begin)).astype(np.uint64)
        return FactRecords(
            file=self.file,
            contents=contents,
            labels=self.labels.to_arrow(),
            structure_offsets=np.arange(self._first + size + 1, dtype=np.int64),
            fact_label=np.concatenate((told, self.label)).astype(np.uint32),
            fact_handle=np.concatenate((np.full(self._first, NO_ROW), handle)).astype(np.uint32),
            fact_ordinal=begin,
            begin=begin,
            end=np.concatenate((zeros, self._end)).astype(np.uint64),
            participant_offsets=offsets,
            participant_content=rows[content],
            participant_role=role,
            participant_position=position,
            num_records=size,
        )
