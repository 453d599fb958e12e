"""Table structures of a part as flat arrays, for exporters that write rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.converters.flat_structures import count_from_zero
from lisdata.converters.table_roles import BINARY, DIALECT, column_of_side
from lisdata.errors import ExportError
from lisdata.kernels.arrays import one_array
from lisdata.schema import ContentKind, LabelKind
from lisdata.shards import IncidenceDataset
from lisdata.shards.dataset import Part

Int64 = npt.NDArray[np.int64]
_BLOCK_ROWS = 1 << 15


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedCells:
    """The cells of a column: texts (large_binary, null for NULL), and the type of cell n, names[types[n]]."""

    texts: pa.Array
    types: Int64
    names: tuple[str, ...]


class RowColumns:
    """The columns of one part's table structures: cells of rows, and facts of dialect structures."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._kinds = np.asarray(part.contents["kind"])
        self._datatypes = np.asarray(part.contents["datatype"].cast(pa.int64()).fill_null(-1))
        self._lexicals = one_array(part.contents["lexical"])
        self._sides: list[str | None] = part.labels["side"].to_pylist()
        self._columns: dict[str, int] = {}
        columns = [None if side is None else column_of_side(side) for side in self._sides]
        numbers = [-1 if c is None else self._columns.setdefault(c, len(self._columns)) for c in columns]
        self._column = np.array(numbers, np.int64)  # of each label
        is_instance = np.asarray(part.labels["kind"]) == LabelKind.INSTANCE
        self._is_dialect = is_instance & np.asarray(pc.equal(part.labels["label"], DIALECT))
        self._in_tau, tau = _flat(part, "tau")
        self._in_instances, labels = _flat(part, "instance_label")
        self._in_incidences, pairs = _flat(part, "incidence")
        self._tau, self._labels = np.asarray(tau), np.asarray(labels)
        self._occurrence, self._instance = (np.asarray(pairs.field(name)) for name in ("occurrence", "instance"))
        self._sigma, self._position = (np.asarray(_flat(part, name)[1]) for name in ("sigma", "position"))

    def dialects(self, rows: Int64) -> npt.NDArray[np.bool_]:
        """Say which structures tell how rows are written; a table called "dialect" has no cells of kind text."""
        if not len(self._tau):  # grids alone, which show nothing by number
            return np.zeros(len(rows), np.bool_)
        first_label, first_content = self._labels[self._in_instances[rows]], self._tau[self._in_tau[rows]]
        is_alone: npt.NDArray[np.bool_] = self._is_dialect[first_label] & (
            self._kinds[first_content] == ContentKind.TEXT
        )
        return is_alone

    def facts(self, row: int) -> dict[str, list[str]]:
        """Return the facts of a dialect structure: side -> texts in order of position."""
        _, places, contents = self._participants(np.array([row]))
        told = zip(self._sigma[places].tolist(), self._position[places].tolist(), contents.tolist(), strict=True)
        facts: dict[str, list[str]] = {}
        for code, _, content in sorted(told):
            facts.setdefault(str(self._sides[code]), []).append(self._lexicals[content].as_py().decode())
        return facts

    def cells(self, rows: Int64, columns: Sequence[str]) -> list[pa.Array]:
        """Return the cells of the rows in these structures: a large_binary array a column, null for NULL."""
        return [self._texts(contents) for contents in self._contents(rows, columns)]

    def typed_cells(self, rows: Int64, columns: Sequence[str], usual: Sequence[str]) -> list[TypedCells]:
        """Return the cells of the rows with their types; cells of keys that do not say theirs have the `usual` one."""
        contents = self._contents(rows, columns)
        return [self._typed(numbers, type_) for numbers, type_ in zip(contents, usual, strict=True)]

    def _typed(self, contents: Int64, usual: str) -> TypedCells:
        kinds, codes = self._kinds[contents], self._datatypes[contents]
        names: list[str] = ["string", usual, BINARY]
        types = np.where(kinds == ContentKind.ENTITY, 1, np.where(kinds == ContentKind.BYTES, 2, 0))
        for code in np.unique(codes[codes >= 0]).tolist():
            types[codes == code] = len(names)
            names.append(self._part.labels["label"][code].as_py().removeprefix("table:"))
        return TypedCells(texts=self._texts(contents), types=types, names=tuple(names))

    def _contents(self, rows: Int64, columns: Sequence[str]) -> Int64:
        """Return the content of each cell, (columns, rows)."""
        structure, places, contents = self._participants(rows)
        num_instances = self._in_instances[rows + 1] - self._in_instances[rows]
        first_row = np.cumsum(num_instances) - num_instances
        row = first_row[structure] + self._instance[places]
        number = self._places_among(columns)[self._column[self._sigma[places]]]
        is_cell = number >= 0
        shape = (int(num_instances.sum()), len(columns))
        place = row[is_cell] * shape[1] + number[is_cell]
        if not (np.bincount(place, minlength=shape[0] * shape[1]) == 1).all():
            name = self._part.structures.column("record_id")[int(rows[0])]
            raise ExportError(f"{name} ff.: expected one cell a row for each of the columns {', '.join(columns)}")
        content = np.empty(shape[0] * shape[1], np.int64)
        content[place] = contents[is_cell]
        by_column: Int64 = content.reshape(shape).T
        return by_column

    def _texts(self, contents: Int64) -> pa.Array:
        shown = pa.array(contents, mask=self._kinds[contents] == ContentKind.NULL)
        return self._lexicals.take(shown)

    def _participants(self, rows: Int64) -> tuple[Int64, Int64, Int64]:
        """Return (number in `rows`, place in the flat arrays, content) of each incidence of these structures."""
        counts = self._in_incidences[rows + 1] - self._in_incidences[rows]
        structure = np.repeat(np.arange(len(rows)), counts)
        places = np.repeat(self._in_incidences[rows], counts) + count_from_zero(counts)
        return structure, places, self._tau[self._in_tau[rows][structure] + self._occurrence[places]].astype(np.int64)

    def _places_among(self, columns: Sequence[str]) -> Int64:
        """Return the place in `columns` of each column of the part, -1 for others and, last, for none."""
        places = np.full(len(self._columns) + 1, -1)
        for place, name in enumerate(columns):
            if name in self._columns:
                places[self._columns[name]] = place
        return places


def iter_row_blocks(dataset: IncidenceDataset, file_index: int) -> Iterator[tuple[RowColumns, Int64]]:
    """Yield (columns, rows) for the structures of one input, in source order; a dialect structure comes alone."""
    for part, rows in dataset.iter_part_rows(file_index):
        columns = part.derived(RowColumns)
        for begin in range(0, len(rows), _BLOCK_ROWS):
            yield from _split_at_dialects(columns, rows[begin : begin + _BLOCK_ROWS])


def _split_at_dialects(columns: RowColumns, rows: Int64) -> Iterator[tuple[RowColumns, Int64]]:
    alone = np.flatnonzero(columns.dialects(rows))
    for block in np.split(rows, np.unique(np.concatenate((alone, alone + 1)))):
        if len(block):
            yield columns, block


def _flat(part: Part, name: str) -> tuple[Int64, pa.Array]:
    """Return the offsets and the values of a list column."""
    column = one_array(part.structures.column(name))
    return np.asarray(column.offsets), column.values
