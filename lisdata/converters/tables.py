"""Rows to structures: a row is an instance, a column a role, a cell an occurrence; keys are entities tables share."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.content_columns import ContentColumns
from lisdata.contents import LabelBuilder, Role
from lisdata.converters.flat_structures import FlatStructures, count_from_zero
from lisdata.converters.table_roles import BINARY, DIALECT, Key, column_role, split_keys
from lisdata.records import RowRecords
from lisdata.schema import NO_ROW, ContentKind, LabelKind, StructureKind
from lisdata.structure_batch import StructureBatch

UInt32 = npt.NDArray[np.uint32]
_TEXT_TYPES = ("string", "any")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """Options of converter tables."""

    rows_per_structure: int = field(default=1, metadata={"help": "Rows in one structure."})

    def __post_init__(self) -> None:
        if self.rows_per_structure < 1:
            raise ValueError(f"expected at least one row in a structure, got {self.rows_per_structure=}")


@dataclass(frozen=True, slots=True)
class TablesConverter:
    """Makes structures of rows.

    A row is an instance labelled with the table, a column the role table#column, a cell an occurrence. A cell of a
    single primary or foreign key is an entity scoped to the key's table; a composite key is a further entity in role
    table#key:<columns>, spelled as a JSON array, absent where a part is NULL. Other cells are literals with datatype
    table:<type> (none for text; bytes are of a kind of their own), and so is NULL. What the source says beyond cells
    comes first, in a structure whose one instance is labelled "dialect".
    """

    name: str = "tables"
    options_type: type[TableOptions] = TableOptions

    def convert(self, records: RowRecords, options: TableOptions) -> StructureBatch:
        """Return the structures of one batch of rows."""
        labels = LabelBuilder()
        contents = ContentColumns(labels)
        scopes, keys = split_keys(records.table)
        cells = [
            _add_cell_columns(contents, records, number, scopes.get(name))
            for number, name in enumerate(records.table.columns)
        ]
        null = contents.add(ContentKind.NULL, pa.array([""], pa.large_string()))
        beside = [_add_key(contents, records, key) for key in keys]
        said = list(_say_dialect(records))
        dialect = contents.add(ContentKind.TEXT, pa.array([text for _, text, _ in said], pa.large_string()))
        table, rows_of = contents.finish()
        columns = [_join_rows(rows_of, added) for added in cells]
        columns = [np.where(rows == NO_ROW, rows_of[null], rows) for rows in columns]
        columns += [_join_rows(rows_of, added) for added in beside]
        row_labels = _label_rows(records, keys, labels)
        first = _dialect_to_structure(records, rows_of[dialect], said, labels)
        structures = _add_rows(first, records, options.rows_per_structure, columns, row_labels)
        rows = structures.to_arrow(StructureKind.TABLE, records.file)
        return StructureBatch(structures=rows, contents=table, labels=labels.to_arrow())


def _add_cell_columns(contents: ContentColumns, records: RowRecords, number: int, scope: str | None) -> list[int]:
    """Add the cells of a column, those of each type by themselves; return the numbers of what was added."""
    cells, types = records.cells.column(number), records.cell_types.get(records.table.columns[number])
    usual = records.table.types[number]
    if types is None:
        return [_add_cells(contents, cells, usual, None if scope is None else (scope, usual))]
    added: list[int] = []
    for code, name in enumerate(types.dictionary.to_pylist()):
        of_type = pc.if_else(pc.equal(types.indices, code), cells, pa.scalar(None, cells.type))
        added.append(_add_cells(contents, of_type, name, None if scope is None else (scope, usual)))
    return added


def _add_cells(contents: ContentColumns, cells: pa.Array, type_: str, key: tuple[str, str] | None) -> int:
    """Add cells of one type; `key` is the scope of a key and the type that its cells usually have."""
    if key is not None:
        scope, usual = key
        datatype = None if type_ == usual else f"table:{type_}"
        return contents.add(ContentKind.ENTITY, cells, scope=scope, datatype=datatype)
    if type_ == BINARY:
        return contents.add(ContentKind.BYTES, cells)
    datatype = None if type_ in _TEXT_TYPES else f"table:{type_}"
    return contents.add(ContentKind.LITERAL, cells, datatype=datatype)


def _add_key(contents: ContentColumns, records: RowRecords, key: Key) -> list[int]:
    """Add the entities of a key that stands beside its cells; return the numbers of what was added.

    A composite key is a JSON array of its parts, absent where one is NULL; a part that is not of its column's type, or
    of bytes, is an object that names its type.
    """
    if len(key.columns) == 1:
        return _add_cell_columns(contents, records, records.table.columns.index(key.columns[0]), key.scope)
    comma, opening, closing = (pa.scalar(text, pa.large_string()) for text in (",", "[", "]"))
    parts = pc.binary_join_element_wise(*(_part_texts(records, c) for c in key.columns), comma)
    empty = pa.scalar("", pa.large_string())
    texts = pc.binary_join_element_wise(opening, parts, closing, empty)
    return [contents.add(ContentKind.ENTITY, texts, scope=key.scope)]


def _join_rows(rows_of: list[UInt32], added: list[int]) -> UInt32:
    """Return the content of each row, which one of the columns `added` has: NO_ROW is the largest number."""
    joined: UInt32 = np.minimum.reduce([rows_of[number] for number in added])
    return joined


def _part_texts(records: RowRecords, column: str) -> pa.Array:
    cells, types = records.cells.column(column), records.cell_types.get(column)
    usual = records.table.types[records.table.columns.index(column)]
    if types is None and usual != BINARY:
        return _as_json(cells)
    names = [usual] * len(cells) if types is None else types.to_pylist()
    parts = [
        None if cell is None else _part_text(cell, name, usual)
        for cell, name in zip(cells.cast(pa.large_binary()).to_pylist(), names, strict=True)
    ]
    return pa.array(parts, pa.large_string())


def _part_text(cell: bytes, type_: str, usual: str) -> str:
    if type_ == BINARY:
        return json.dumps({BINARY: cell.hex()})
    text = cell.decode()
    return json.dumps(text if type_ == usual else {type_: text}, ensure_ascii=False)


def _as_json(texts: pa.Array) -> pa.Array:
    encoded = texts.dictionary_encode()
    spelled = pa.array([json.dumps(t, ensure_ascii=False) for t in encoded.dictionary.to_pylist()], pa.large_string())
    return spelled.take(encoded.indices)


def _say_dialect(records: RowRecords) -> Iterable[tuple[str, str, int]]:
    """Yield (side, text, position) of what the dialect says; what is none, no or zero goes without saying."""
    facts = {k: v for k, v in records.dialect.items() if k not in ("begin", "end")}
    if not facts:
        return
    for side, value in ({"table": records.table.name, "column": records.table.columns} | facts).items():
        values = value if isinstance(value, tuple) else (value,) if value else ()
        for position, one in enumerate(values):
            yield side, str(one).lower() if isinstance(one, bool) else str(one), position


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowLabels:
    """Codes of what all rows of a table are labelled with: the instance, and role and position of each column."""

    instance: int
    roles: UInt32
    positions: npt.NDArray[np.int64]


def _label_rows(records: RowRecords, keys: tuple[Key, ...], labels: LabelBuilder) -> _RowLabels:
    table = records.table
    roles = [column_role(table.name, column) for column in table.columns] + [key.role(table.name) for key in keys]
    return _RowLabels(
        roles=np.array([labels.role(role) for role in roles], np.uint32),
        positions=np.array([0] * len(table.columns) + [key.position for key in keys], np.int64),
        instance=labels.code(LabelKind.INSTANCE, table.name),
    )


def _add_rows(
    first: FlatStructures, records: RowRecords, rows_per_structure: int, columns: list[UInt32], labels: _RowLabels
) -> FlatStructures:
    """Return the structures of the rows behind `first`.

    `columns` hold the content of each row, NO_ROW where there is none.
    """
    num_rows = records.num_records
    tau = np.stack(columns, axis=1)
    is_there = tau != NO_ROW
    are_all_there = bool(is_there.all())

    def of_cells(before: npt.NDArray[Any], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return `before`, then what the cells that are there have; `values` may stand for all of a row or a column."""
        spread = np.broadcast_to(values, tau.shape)
        if not are_all_there:
            return np.concatenate((before, spread[is_there]))
        joined = np.empty(len(before) + spread.size, before.dtype)
        joined[: len(before)] = before
        joined[len(before) :].reshape(spread.shape)[:] = spread
        return joined

    starts = np.arange(0, num_rows, rows_per_structure)
    ends = np.minimum(starts + rows_per_structure, num_rows)
    num_cells = np.full(num_rows, len(columns)) if are_all_there else is_there.sum(axis=1)
    if num_rows:
        num_cells = np.add.reduceat(num_cells, starts)
    in_row = np.arange(len(columns), dtype=np.uint32)
    in_structure = (np.arange(num_rows) % rows_per_structure).astype(np.uint32)
    occurrence = (
        of_cells(first.occurrence, in_row)
        if are_all_there and rows_per_structure == 1
        else np.concatenate((first.occurrence, count_from_zero(num_cells)))
    )
    return FlatStructures(
        begin=np.concatenate((first.begin, records.begin[starts])),
        end=np.concatenate((first.end, records.end[ends - 1])),
        num_occurrences=np.concatenate((first.num_occurrences, num_cells)),
        num_instances=np.concatenate((first.num_instances, ends - starts)),
        num_incidences=np.concatenate((first.num_incidences, num_cells)),
        tau=of_cells(first.tau, tau),
        label=np.concatenate((first.label, np.full(num_rows, labels.instance, np.uint32))),
        ordinal=np.concatenate((first.ordinal, records.ordinal)),
        occurrence=occurrence,
        instance=of_cells(first.instance, in_structure[:, None]),
        sigma=of_cells(first.sigma, labels.roles),
        position=of_cells(first.position, labels.positions),
    )


def _dialect_to_structure(
    records: RowRecords, contents: UInt32, said: list[tuple[str, str, int]], labels: LabelBuilder
) -> FlatStructures:
    """Return the one structure that says how the bytes of these rows are written; none where nothing is said."""
    begin, end = (np.array([records.dialect[name]] if said else [], np.uint64) for name in ("begin", "end"))
    one = np.ones(len(begin), np.int64)
    num_facts = one * len(said)
    return FlatStructures(
        begin=begin,
        end=end,
        num_occurrences=num_facts,
        num_instances=one,
        num_incidences=num_facts,
        tau=contents,
        label=np.array([labels.code(LabelKind.INSTANCE, DIALECT) for _ in one], np.uint32),
        ordinal=np.zeros(len(one), np.uint64),
        occurrence=np.arange(len(said), dtype=np.uint32),
        instance=np.zeros(len(said), np.uint32),
        sigma=np.array([labels.role(Role(DIALECT, side)) for side, _, _ in said], np.uint32),
        position=np.array([position for _, _, position in said], np.int64),
    )


TABLES = TablesConverter()
