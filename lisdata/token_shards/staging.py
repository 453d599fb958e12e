"""Rows on their way to a token shard: one by one into flat buffers, then as the columns of a record batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.errors import SchemaError
from lisdata.token_shards.checks import Ids, Int64, Kinds, integers
from lisdata.token_shards.schema import INPUT_IDS, TokenSchema

STAGED_TOKENS = 1 << 14  # eight columns of it stay in a core's cache


class RowStage:
    """Rows that came one at a time, copied to int64 buffers (so that the caller may reuse its arrays)."""

    def __init__(self, schema: TokenSchema) -> None:
        self._buffers = {name: np.empty(STAGED_TOKENS, np.int64) for name in schema.names}
        self._end = 0
        self._lengths: list[int] = []
        self._kinds: list[int] = []
        self._ids: list[str] = []

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, row: Mapping[str, Any], kind: int | None, record_id: str | None) -> bool:
        """Copy a row; return False, and copy nothing, where it does not fit any more."""
        if len(row) != len(self._buffers) or INPUT_IDS not in row:
            raise SchemaError(f"expected the columns {', '.join(self._buffers)}, found {', '.join(row)}")
        begin, length = self._end, len(row[INPUT_IDS])
        end = begin + length
        if end > STAGED_TOKENS:
            return False
        place = slice(begin, end)
        for name, buffer in self._buffers.items():
            values = row.get(name, ())
            if not isinstance(values, np.ndarray) or values.dtype.kind != "i":
                values = integers(name, values)
            if values.shape != (length,):
                who = "a row" if record_id is None else f"record {record_id!r}"
                found = values.shape
                raise SchemaError(f"{who}: column {name}: expected {length} values as in input_ids, found {found}")
            buffer[place] = values
        self._end = end
        self._lengths.append(length)
        if kind is not None:
            self._kinds.append(kind)
        if record_id is not None:
            self._ids.append(record_id)
        return True

    def take(self) -> tuple[Int64, dict[str, Int64], Kinds, list[str] | None]:
        """Return offsets, columns, kinds and ids of the staged rows and forget them (valid until the next `add`)."""
        offsets = np.concatenate(([0], np.cumsum(self._lengths, dtype=np.int64)))
        columns = {name: buffer[: self._end] for name, buffer in self._buffers.items()}
        kinds = np.array(self._kinds, np.int64) if self._kinds else None
        ids = self._ids or None
        self._end, self._lengths, self._kinds, self._ids = 0, [], [], []
        return offsets, columns, kinds, ids


class OpenBatch:
    """Checked and narrowed rows of the record batch that is written next."""

    def __init__(self, schema: TokenSchema) -> None:
        self._schema = schema
        self.num_rows = self.num_tokens = 0
        self._lengths: list[Int64] = []
        self._values: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in schema.names}
        self._kinds: list[npt.NDArray[np.uint8]] = []
        self._ids: list[pa.Array] = []

    def add(self, offsets: Int64, columns: Mapping[str, npt.NDArray[Any]], kinds: Kinds, ids: Ids, first: int) -> None:
        """Add the rows between `offsets`; `first` is the number of the first one in `kinds` and `ids`."""
        rows = slice(first, first + len(offsets) - 1)
        tokens = slice(int(offsets[0]), int(offsets[-1]))
        self._lengths.append(np.diff(offsets))
        for name, chunks in self._values.items():
            chunks.append(columns[name][tokens])
        if kinds is not None:
            self._kinds.append(kinds[rows].astype(np.uint8))
        if ids is not None:
            some: Any = ids[rows]
            is_arrow = isinstance(some, pa.Array)
            self._ids.append(some.cast(pa.large_string()) if is_arrow else pa.array(some, pa.large_string()))
        self.num_rows += len(offsets) - 1
        self.num_tokens += tokens.stop - tokens.start

    def to_arrow(self) -> pa.RecordBatch:
        """Return the rows as a record batch of the schema."""
        schema = self._schema.to_arrow()
        offsets = pa.array(np.concatenate(([0], np.cumsum(np.concatenate(self._lengths)))))
        arrays = [
            pa.LargeListArray.from_arrays(offsets, pa.array(np.concatenate(chunks)), type=schema.field(name).type)
            for name, chunks in self._values.items()
        ]
        if self._schema.kind is None:
            arrays.append(pa.array(np.concatenate(self._kinds)))
        if self._schema.has_record_id:
            arrays.append(pa.concat_arrays(self._ids))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
