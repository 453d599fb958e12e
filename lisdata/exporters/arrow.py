"""Rows of a table back to an Arrow IPC file or stream: cells, types, NULLs, metadata and batches as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from lisdata.exporters.arrow_columns import RowGroup, export_row_groups
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo


@dataclass(frozen=True, slots=True)
class ArrowExporter:
    """Writes one Arrow file (a stream where the input was one) for each input, uncompressed.

    A file has one dictionary a column: one with dictionary columns is put together in memory. Losses are rejected
    records.
    """

    name: str = "arrow"
    summary: str = "Arrow IPC files and streams"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the rows that came from `files`."""
        return export_row_groups(dataset, target, files, "arrow", _write_file)


def _write_file(stream: BinaryIO, first: RowGroup, others: Iterator[RowGroup], info: InputInfo) -> int:
    schema = first.schema
    is_stream = first.facts.get("form") == ["stream"]
    batches = (_one_batch(group) for group in chain([first], others))
    if not is_stream and any(_has_dictionary(field.type) for field in schema):
        table = pa.Table.from_batches(batches, schema)
        batches = iter(table.unify_dictionaries().to_batches())
    num_rows = 0
    with ExitStack() as stack:
        new_writer = pa.ipc.new_stream if is_stream else pa.ipc.new_file
        writer = stack.enter_context(new_writer(stream, schema))
        for batch in batches:
            writer.write_batch(batch)
            num_rows += batch.num_rows
    return num_rows


def _one_batch(group: RowGroup) -> pa.RecordBatch:
    if len(group.batches) == 1:
        return group.batches[0]
    table = pa.Table.from_batches(group.batches, group.schema).unify_dictionaries().combine_chunks()
    return next(iter(table.to_batches()), pa.RecordBatch.from_pylist([], group.schema))


def _has_dictionary(type_: pa.DataType) -> bool:
    if isinstance(type_, pa.BaseExtensionType):
        return _has_dictionary(type_.storage_type)
    if pa.types.is_dictionary(type_):
        return True
    return any(_has_dictionary(type_.field(number).type) for number in range(type_.num_fields))


ARROW = ArrowExporter()
