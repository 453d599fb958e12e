"""Rows of a dataset as Arrow batches of the types that they had, group by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from lisdata.errors import ExportError
from lisdata.exporters.conversion_losses import REJECTED
from lisdata.exporters.row_columns import iter_row_blocks
from lisdata.exporters.sqlite_definitions import count_definition
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.arrow_rows import schema_from_text
from lisdata.sources.arrow_values import read_cells
from lisdata.sources.sql_schema import SqlTable

Facts = dict[str, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """Rows that stood together in the source (a row group, a record batch): batches of one schema, and the dialect."""

    facts: Facts
    schema: pa.Schema
    batches: tuple[pa.RecordBatch, ...]

    @property
    def num_rows(self) -> int:
        """Rows of all batches."""
        return sum(batch.num_rows for batch in self.batches)


WriteGroups = Callable[[BinaryIO, "RowGroup", Iterator["RowGroup"], InputInfo], int]
"""Writes the first group of an input and the others to a stream and returns the number of rows."""


def export_row_groups(
    dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...], source: str, write: WriteGroups
) -> ExportReport:
    """Write a file for each of `files`; one of which all was rejected has no columns, so none.

    Names get the suffix .SOURCE unless all files came from `source`. Losses are rejected records, and the keys and
    indexes of a database.
    """
    suffix = "" if all(info.source == source for info in files) else f".{source}"
    paths = target_paths(target, files, dataset.inputs, suffix=suffix)
    losses: Counter[str] = Counter()
    num_records = 0
    written: list[Path] = []
    for info, path in zip(files, paths, strict=True):
        groups = iter_row_groups(dataset, info)
        first = next(groups, None)
        losses[REJECTED] += info.records.get("rejected", 0)
        if first is not None:
            with replacing(path) as stream:
                num_records += write(stream, first, groups, info)
            written.append(path)
            if "definition" in first.facts:
                count_definition(SqlTable.from_json(first.facts["definition"][0]), losses)
    return ExportReport(files=tuple(written), num_records=num_records, losses=dict(+losses))


def iter_row_groups(dataset: IncidenceDataset, info: InputInfo) -> Iterator[RowGroup]:
    """Yield the rows of an input group by group; a source that has no groups gives one a block of rows.

    Columns have the types that the source kept, and are text where it kept none. ExportError for an input of several
    tables, and for cells that are none of the type.
    """
    facts: Facts | None = None
    waiting: list[pa.RecordBatch] = []
    group: list[str] | None = None
    for columns, rows in iter_row_blocks(dataset, info.index):
        if columns.dialects(rows)[0]:
            following = columns.facts(int(rows[0]))
            if facts is not None and following["table"] != facts["table"]:
                raise ExportError(f"{info.name}: expected one table, found {following['table'][0]!r} as well")
            if facts is not None and (group is None or following.get("group") != group):
                yield RowGroup(facts=facts, schema=_schema_of(facts), batches=tuple(waiting))
                waiting = []
            facts, group = following, following.get("group")
            continue
        if facts is None:
            raise ExportError(f"{info.name}: expected a structure that tells the dialect before the rows, found none")
        waiting.append(_read_batch(info, columns.cells(rows, facts["column"]), _schema_of(facts)))
    if facts is not None:
        yield RowGroup(facts=facts, schema=_schema_of(facts), batches=tuple(waiting))


def _schema_of(facts: Facts) -> pa.Schema:
    if "arrow_schema" in facts:
        return schema_from_text(facts["arrow_schema"][0])
    return pa.schema([pa.field(name, pa.large_string()) for name in facts["column"]])


def _read_batch(info: InputInfo, cells: list[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    arrays: list[pa.Array] = []
    for column, field in zip(cells, schema, strict=True):
        try:
            arrays.append(read_cells(column, field.type))
        except (pa.ArrowException, ValueError) as error:
            raise ExportError(f"{info.name}: column {field.name!r}: expected {field.type}, found {error}") from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
