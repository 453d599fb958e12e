"""Checks rows against a token schema before they are stored; errors name the record, the column and the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.errors import SchemaError
from lisdata.schema import StructureKind
from lisdata.token_shards.schema import INT64_MAX, TokenColumn, TokenSchema

Int64 = npt.NDArray[np.int64]
Ids: TypeAlias = Sequence[str] | pa.Array | None
Kinds: TypeAlias = npt.NDArray[Any] | None


def integers(name: str, values: Any) -> npt.NDArray[Any]:
    """Return `values` as a flat array of integers that an int64 holds; raise SchemaError for others."""
    array = np.asarray(values)
    if array.ndim == 1 and not array.size:
        return array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise SchemaError(f"column {name}: expected a flat array of integers, found {array.dtype} {array.shape}")
    if array.dtype == np.uint64 and int(array.max()) > INT64_MAX:
        raise SchemaError(f"column {name}: expected values up to {INT64_MAX}, found {array.max()}")
    return array


class RowCheck:
    """Checks the rows between `offsets`, of which the first is row `first_row` of its part."""

    def __init__(self, part: str, first_row: int, offsets: Int64, ids: Ids) -> None:
        self._part, self._first_row, self._offsets, self._ids = part, first_row, offsets, ids

    def rows(self, schema: TokenSchema, columns: Mapping[str, npt.NDArray[Any]], kinds: Kinds) -> None:
        """Raise SchemaError unless columns, kinds and ids fit schema and offsets, and no row is too long."""
        if set(columns) != set(schema.names):
            raise SchemaError(f"expected the columns {', '.join(schema.names)}, found {', '.join(columns)}")
        lengths = np.diff(self._offsets)
        if len(self._offsets) < 1 or self._offsets[0] != 0 or (lengths < 0).any():
            raise SchemaError(f"part {self._part}: expected offsets that begin at 0 and never decrease")
        for name, values in columns.items():
            if len(values) != self._offsets[-1]:
                total = self._offsets[-1]
                raise SchemaError(f"part {self._part}: column {name}: expected {total} values, found {len(values)}")
        for what, found in (("kinds", kinds), ("record ids", self._ids)):
            if found is not None and len(found) != len(lengths):
                raise SchemaError(f"part {self._part}: expected {len(lengths)} {what}, found {len(found)}")
        if isinstance(self._ids, pa.Array) and self._ids.null_count:
            nulls = self._ids.null_count
            raise SchemaError(f"part {self._part}: expected a record id for each row, found {nulls} nulls")
        if kinds is not None:
            is_bad = (kinds < 0) | (kinds > max(StructureKind))
            self._refuse_first(is_bad, f"a kind up to {max(StructureKind)}", kinds)
        if schema.max_length is not None:
            self._refuse_first(lengths > schema.max_length, f"at most {schema.max_length} tokens", lengths)

    def values(self, column: TokenColumn, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a column's values as stored; raise SchemaError at the first one outside its limits."""
        values = integers(column.name, values)
        if len(values) and (values.min() < column.minimum or values.max() > column.maximum):
            index = int(np.argmax((values < column.minimum) | (values > column.maximum)))
            row = int(np.searchsorted(self._offsets, index, side="right")) - 1
            raise SchemaError(
                f"{self._who(row)}: column {column.name}: expected {column.minimum} to {column.maximum} "
                f"(stored as {column.type}), found {values[index]}"
            )
        return values.astype(column.type)

    def _refuse_first(self, is_bad: npt.NDArray[np.bool_], expected: str, found: npt.NDArray[Any]) -> None:
        if is_bad.any():
            row = int(np.argmax(is_bad))
            raise SchemaError(f"{self._who(row)}: expected {expected}, found {found[row]}")

    def _who(self, row: int) -> str:
        place = f"part {self._part}, row {self._first_row + row}"
        return place if self._ids is None else f"record {str(self._ids[row])!r} ({place})"
