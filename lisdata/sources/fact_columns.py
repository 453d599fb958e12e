"""Facts gathered one after another into the flat columns of `FactRecords`."""

from __future__ import annotations

import numpy as np

from lisdata.contents import ContentBuilder, LabelBuilder, Role
from lisdata.inputs import InputFile
from lisdata.records import FactRecords
from lisdata.schema import LabelKind


class FactColumns:
    """Call `add_fact`, `add_participant` for each participant, and `end_structure` behind the last of a structure."""

    def __init__(self) -> None:
        self.labels = LabelBuilder()
        self.contents = ContentBuilder(self.labels)
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

    def add_participant(self, role: Role, content: int, position: int) -> None:
        """Add row `content` of `contents` to the fact begun last."""
        self._content.append(content)
        self._role.append(self.labels.role(role))
        self._position.append(position)
        self._participant_ends[-1] += 1

    def end_structure(self, begin: int, end: int) -> None:
        """Let the facts since the last call be one structure, from bytes [begin, end) of the input."""
        self._structure_ends.append(len(self._label))
        self._begin.append(begin)
        self._end.append(end)

    def to_records(self, file: InputFile, *, num_records: int) -> FactRecords:
        """Return the table; `num_records` is what counts as records of the input."""
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
        )
