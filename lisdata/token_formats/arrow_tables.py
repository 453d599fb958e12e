"""Rows from Arrow tables of any origin: which columns are tokens, and their values laid end to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.errors import SchemaError
from lisdata.token_formats.column_choice import ColumnChoice, choose_columns
from lisdata.token_formats.formats import ImportOptions
from lisdata.token_formats.row_blocks import RowBlock
from lisdata.token_shards.schema import INPUT_IDS, KIND, RECORD_ID


def find_columns(schema: pa.Schema, options: ImportOptions, origin: str) -> ColumnChoice:
    """Choose the columns of integers a token; raise SchemaError where those asked for are not such."""
    repeated = [name for name, count in Counter(schema.names).items() if count > 1]
    if repeated:
        raise SchemaError(f"{origin}: expected columns of different names, found {repeated[0]!r} more than once")
    types = dict(zip(schema.names, schema.types, strict=True))
    kind, record_id = types.get(KIND, pa.null()), types.get(RECORD_ID, pa.null())
    return choose_columns(
        schema.names,
        [name for name, type_ in types.items() if _is_integers(type_, takes_empty=name == options.input_ids)],
        options,
        has_kind=pa.types.is_integer(kind),
        has_record_id=pa.types.is_string(record_id) or pa.types.is_large_string(record_id),
        origin=origin,
        describe=lambda name: str(types[name]),
    )


def _is_integers(type_: pa.DataType, *, takes_empty: bool) -> bool:
    """Tell whether a type is of lists of integers, or (`takes_empty`) of lists that are all empty."""
    if not (pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_)):
        return False
    return bool(pa.types.is_integer(type_.value_type) or (takes_empty and pa.types.is_null(type_.value_type)))


def iter_rows(batches: Iterable[pa.RecordBatch], columns: ColumnChoice, origin: str) -> Iterator[RowBlock]:
    """Yield the rows of record batches that have the `stored` columns; SchemaError for nulls and uneven lists."""
    first_row = 0
    for batch in batches:
        yield _block(batch, columns, f"{origin}: rows from {first_row}")
        first_row += batch.num_rows


def _block(batch: pa.RecordBatch, columns: ColumnChoice, where: str) -> RowBlock:
    for name in columns.stored:
        if batch.column(name).null_count:
            raise SchemaError(f"{where}: column {name}: expected a value in each row, found nulls")
    lengths = pc.list_value_length(batch.column(columns.arrays[INPUT_IDS]))
    values: dict[str, Any] = {}
    for name, stored in columns.arrays.items():
        array = batch.column(stored)
        if not pc.list_value_length(array).cast(pa.int64()).equals(lengths.cast(pa.int64())):
            raise SchemaError(
                f"{where}: column {stored}: expected as many values as {columns.arrays[INPUT_IDS]} in each row; "
                "name the columns to take, without this one"
            )
        flat = array.flatten()
        if flat.null_count:
            raise SchemaError(f"{where}: column {stored}: expected integers, found nulls among them")
        values[name] = np.asarray(flat.cast(pa.int64()) if pa.types.is_null(flat.type) else flat)
    return RowBlock(
        offsets=np.concatenate(([0], np.cumsum(np.asarray(lengths), dtype=np.int64))),
        columns=values,
        kinds=np.asarray(batch.column(KIND)) if columns.has_kind else None,
        record_ids=batch.column(RECORD_ID) if columns.has_record_id else None,
    )
