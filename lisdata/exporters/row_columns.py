"""Table structures of a part as flat arrays, for exporters that write rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from lisdata.converters.table_roles import DIALECT, column_of_side
from lisdata.errors import ExportError
from lisdata.schema import ContentKind, LabelKind
from lisdata.shards import IncidenceDataset
from lisdata.shards.dataset import Part


class RowColumns:
    """The columns of one part's table structures: cells of rows, and facts of dialect structures."""

    def __init__(self, part: Part) -> None:
        from lisdata.kernels.arrays import binary_buffers

        self._part = part
        self._kinds = np.asarray(part.contents["kind"])
        offsets, data = binary_buffers(part.contents["lexical"].combine_chunks())
        self._lexical_offsets, self._lexicals = offsets, data.tobytes()
        self._roles = [(row["relation"], row["side"]) for row in part.labels.to_pylist()]
        names = part.labels["label"].to_pylist()
        self._dialects = {
            code
            for code, (kind, name) in enumerate(zip(part.labels["kind"].to_pylist(), names, strict=True))
            if kind == LabelKind.INSTANCE and name == DIALECT
        }
        self._in_tau, self._tau = _flat(part, "tau")
        self._in_instances, self._labels = _flat(part, "instance_label")
        self._in_incidences, pairs = _flat(part, "incidence")
        self._occurrence, self._instance = (np.asarray(pairs.field(name)) for name in ("occurrence", "instance"))
        self._sigma, self._position = (np.asarray(_flat(part, name)[1]) for name in ("sigma", "position"))
        self._tau, self._labels = np.asarray(self._tau), np.asarray(self._labels)
        self._numbers: tuple[Sequence[str], dict[int, int]] = ((), {})

    def is_dialect(self, row: int) -> bool:
        """Say whether a structure tells how rows are written; a table called "dialect" has no cells of kind text."""
        first, end = self._in_instances[row : row + 2]
        if end - first != 1 or int(self._labels[first]) not in self._dialects:
            return False
        contents = self._tau[self._in_tau[row] : self._in_tau[row + 1]]
        return len(contents) > 0 and bool((self._kinds[contents] == ContentKind.TEXT).all())

    def facts(self, row: int) -> dict[str, list[str]]:
        """Return the facts of a dialect structure: side -> texts in order of position."""
        facts: dict[str, list[str]] = {}
        for _, code, _, content in sorted(self._participants(row), key=lambda p: (p[1], p[2])):
            facts.setdefault(self._roles[code][1], []).append(self._lexical(content).decode())
        return facts

    def cells(self, row: int, columns: Sequence[str]) -> Iterator[list[bytes | None]]:
        """Yield the cells of each row of a structure in the order of `columns`, None for NULL."""
        numbers = self._column_numbers(columns)
        num_rows = int(self._in_instances[row + 1] - self._in_instances[row])
        rows: list[list[bytes | None]] = [[None] * len(columns) for _ in range(num_rows)]
        num_found = [0] * num_rows
        for instance, code, _, content in self._participants(row):
            number = numbers.get(code)
            if number is None:
                continue
            num_found[instance] += 1
            if self._kinds[content] != ContentKind.NULL:
                rows[instance][number] = self._lexical(content)
        if any(found != len(columns) for found in num_found):
            name = self._part.structures.column("record_id")[row]
            raise ExportError(f"{name}: expected one cell for each of {', '.join(columns)}, found another number")
        yield from rows

    def _participants(self, row: int) -> Iterator[tuple[int, int, int, int]]:
        """Return (instance, role code, position, content) of each incidence of a structure."""
        places = slice(self._in_incidences[row], self._in_incidences[row + 1])
        contents = self._tau[self._in_tau[row] + self._occurrence[places]]
        arrays = (self._instance[places], self._sigma[places], self._position[places], contents)
        return zip(*(array.tolist() for array in arrays), strict=True)

    def _lexical(self, content: int) -> bytes:
        return self._lexicals[self._lexical_offsets[content] : self._lexical_offsets[content + 1]]

    def _column_numbers(self, columns: Sequence[str]) -> dict[int, int]:
        """Return role code -> number of its column."""
        if self._numbers[0] != columns:
            wanted = {name: number for number, name in enumerate(columns)}
            sides = {code: column_of_side(side) for code, (_, side) in enumerate(self._roles) if side is not None}
            found = {code: wanted[side] for code, side in sides.items() if side in wanted}
            self._numbers = (columns, found)
        return self._numbers[1]


def iter_row_structures(dataset: IncidenceDataset, file_index: int) -> Iterator[tuple[RowColumns, int]]:
    """Yield (columns, row) for the structures of one input, in source order."""
    part: Part | None = None
    for found, row in dataset.iter_rows(file_index):
        if found is not part:
            part, columns = found, RowColumns(found)
        yield columns, row


def _flat(part: Part, name: str) -> tuple[np.ndarray, pa.Array]:
    """Return the offsets and the values of a list column."""
    column = part.structures.column(name).combine_chunks()
    return np.asarray(column.offsets), column.values
