"""Text structures of a part as flat arrays, for exporters that look at few of a row's occurrences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import Role
from lisdata.errors import ExportError
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset
from lisdata.shards.dataset import Part

Int64 = npt.NDArray[np.int64]


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
    """The columns of one part's text structures that say more than their documents do."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._documents = part.structures.column("document").combine_chunks()
        self._kinds = np.asarray(part.contents["kind"])
        self._tau_offsets, tau = _flat(part, "tau")
        self._tau = np.asarray(tau).astype(np.int64)
        self._offsets, pairs = _flat(part, "incidence")
        self._occurrence, self._instance = (np.asarray(pairs.field(n)) for n in ("occurrence", "instance"))
        self._ordinal_offsets, ordinals = _flat(part, "instance_ordinal")
        self._ordinals = np.asarray(ordinals)
        self._sigma = np.asarray(_flat(part, "sigma")[1])
        self._spans = _flat(part, "span")
        further = np.concatenate(([0], np.cumsum(self._kinds[self._tau] != ContentKind.WORD)))
        self._has_further = further[self._tau_offsets[1:]] > further[self._tau_offsets[:-1]]

    def document(self, row: int) -> bytes:
        """Return the bytes of a unit; ExportError when the structure is no text."""
        document: bytes | None = self._documents[row].as_py()
        if document is None:
            name = self._part.structures.column("record_id")[row]
            raise ExportError(f"{name}: expected a structure of text, found one without a document")
        return document

    def participants(self, row: int) -> Iterator[Participant]:
        """Yield the incidences that show no word, in order."""
        if not self._has_further[row]:
            return
        first, last = self._offsets[row : row + 2]
        contents = self._tau[self._tau_offsets[row] + self._occurrence[first:last].astype(np.int64)]
        for at in np.flatnonzero(self._kinds[contents] != ContentKind.WORD).tolist():
            occurrence, instance = int(self._occurrence[first + at]), int(self._instance[first + at])
            content = int(contents[at])
            span = self._spans[1][int(self._spans[0][row]) + occurrence].as_py() if len(self._spans[1]) else None
            yield Participant(
                occurrence=occurrence,
                instance=instance,
                ordinal=int(self._ordinals[self._ordinal_offsets[row] + instance]),
                role=self._part.reader.role(int(self._sigma[first + at])),
                kind=ContentKind(int(self._kinds[content])),
                lexical=self._part.contents["lexical"][content].as_py(),
                span=None if span is None else (span["begin"], span["end"]),
            )


def iter_text_rows(dataset: IncidenceDataset, file_index: int) -> Iterator[tuple[TextColumns, int]]:
    """Yield (columns, row) for the structures of one input, in source order."""
    part: Part | None = None
    for found, row in dataset.iter_rows(file_index):
        if found is not part:
            part, columns = found, TextColumns(found)
        yield columns, row


def _flat(part: Part, name: str) -> tuple[Int64, pa.Array]:
    """Return the offsets and the values of a list column."""
    column = part.structures.column(name).combine_chunks()
    return np.asarray(column.offsets).astype(np.int64), column.values
