"""Text structures of a part as flat arrays, for exporters that look at few of a row's occurrences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import Role
from lisdata.errors import ExportError
from lisdata.kernels.arrays import one_array
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset
from lisdata.shards.dataset import Part

Int64 = npt.NDArray[np.int64]
UInt32 = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    """An incidence whose content is no word: a linked mention or a field.

    `ordinal` is the instance's; `span` is None for a field.
    """

    occurrence: int
    instance: int
    ordinal: int
    role: Role
    kind: ContentKind
    lexical: bytes
    span: tuple[int, int] | None


class TextColumns:
    """The columns of one part's text structures that say more than their documents do.

    Only documents and contents are read until a row turns out to have more than words.
    """

    def __init__(self, part: Part) -> None:
        self._part = part
        units = part.read("structures", ("document", "tau"))
        self._documents = one_array(units.column("document"))
        self._kinds = np.asarray(part.contents["kind"])
        self._tau_offsets, tau = _flat(units, "tau")
        self._tau: UInt32 = np.asarray(tau)
        further = np.flatnonzero(self._is_further(self._tau))
        self._num_further = np.diff(np.searchsorted(further, self._tau_offsets))

    @cached_property
    def _num_heads(self) -> Int64:
        """How many words of each unit have a dependency head."""
        offsets, heads = _flat(self._part.read("structures", ("head",)), "head")
        return np.diff(np.searchsorted(np.flatnonzero(np.asarray(heads.is_valid())), offsets))

    @cached_property
    def _incidences(self) -> _Incidences:
        return _Incidences(self._part)

    def _is_further(self, contents: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
        """Tell which contents say more than the document: neither words nor the handles of its own units."""
        return ~np.isin(self._kinds[contents], (ContentKind.WORD, ContentKind.INSTANCE))

    def document(self, row: int) -> bytes:
        """Return the bytes of a unit; ExportError when the structure is no text."""
        document: bytes | None = self._documents[row].as_py()
        if document is None:
            name = self._part.structures.column("record_id")[row]
            raise ExportError(f"{name}: expected a structure of text, found one without a document")
        return document

    def has_tree(self, row: int) -> bool:
        """Tell whether a unit's words have dependency heads."""
        return bool(self._num_heads[row])

    def participants(self, row: int) -> Iterator[Participant]:
        """Yield the incidences that show no word and no unit of the document, in order."""
        if not self._num_further[row]:
            return
        columns = self._incidences
        first, last = columns.offsets[row : row + 2]
        contents = self._tau[self._tau_offsets[row] + columns.occurrence[first:last].astype(np.int64)]
        for at in np.flatnonzero(self._is_further(contents)).tolist():
            occurrence, instance = int(columns.occurrence[first + at]), int(columns.instance[first + at])
            content = int(contents[at])
            yield Participant(
                occurrence=occurrence,
                instance=instance,
                ordinal=int(columns.ordinals[columns.ordinal_offsets[row] + instance]),
                role=self._part.reader.role(int(columns.sigma[first + at])),
                kind=ContentKind(int(self._kinds[content])),
                lexical=self._part.contents["lexical"][content].as_py(),
                span=columns.span(row, occurrence),
            )


class _Incidences:
    """What the occurrences of a part's structures take part in, and where they are spelled."""

    def __init__(self, part: Part) -> None:
        rows = part.read("structures", ("span", "instance_ordinal", "incidence", "sigma"))
        self.offsets, pairs = _flat(rows, "incidence")
        self.occurrence, self.instance = (np.asarray(pairs.field(n)) for n in ("occurrence", "instance"))
        self.ordinal_offsets, ordinals = _flat(rows, "instance_ordinal")
        self.ordinals = np.asarray(ordinals)
        self.sigma = np.asarray(_flat(rows, "sigma")[1])
        self._span_offsets, self._spans = _flat(rows, "span")

    def span(self, row: int, occurrence: int) -> tuple[int, int] | None:
        """Return the bytes of the document that spell an occurrence."""
        found = self._spans[int(self._span_offsets[row]) + occurrence].as_py() if len(self._spans) else None
        return None if found is None else (found["begin"], found["end"])


def iter_text_rows(dataset: IncidenceDataset, file_index: int) -> Iterator[tuple[TextColumns, int]]:
    """Yield (columns, row) for the structures of one input, in source order."""
    for part, rows in dataset.iter_part_rows(file_index):
        columns = part.derived(TextColumns)
        for row in rows.tolist():
            yield columns, row


def _flat(rows: pa.Table, name: str) -> tuple[Int64, pa.Array]:
    """Return the offsets and the values of a list column."""
    column = one_array(rows.column(name))
    return np.asarray(column.offsets), column.values
