"""Writes token shards: rows are checked against the schema, narrowed, and written as Arrow files, one a part."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.errors import SchemaError
from lisdata.schema import StructureKind
from lisdata.shards.manifest import file_entry, sync_folder
from lisdata.token_shards.schema import INPUT_IDS, INT64_MAX, TokenColumn, TokenSchema

Int64 = npt.NDArray[np.int64]
Ids = Sequence[str] | pa.Array | None

FOLDER = "tokens"
_STAGED_TOKENS = 1 << 16


class TokenShardWriter:
    """Writes one part, `tokens/<part>.arrow`, through a temporary name; `close` renames it and returns its commit.

    A record batch of the file ends at `rows_per_batch` rows or with the row that reaches `tokens_per_batch` tokens,
    whichever comes first, so that the bytes depend on the rows alone and not on how they were handed over. As a
    context manager it removes the temporary file unless `close` was called.
    """

    def __init__(
        self,
        directory: str | Path,
        part: str,
        schema: TokenSchema,
        *,
        rows_per_batch: int = 1 << 16,
        tokens_per_batch: int = 1 << 22,
    ) -> None:
        if rows_per_batch < 1 or tokens_per_batch < 1:
            raise ValueError(f"expected at least 1 a batch, got {rows_per_batch=}, {tokens_per_batch=}")
        self.schema, self.part = schema, part
        self.num_rows = self.num_tokens = 0
        self._limits = (rows_per_batch, tokens_per_batch)
        self._directory = Path(directory)
        self._name = f"{FOLDER}/{part}.arrow"
        self._path = self._directory / self._name
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._temporary = self._path.with_name(f".{part}.arrow.{os.getpid()}.tmp")
        self._stage = _Stage(schema)
        self._batch = _OpenBatch(schema)
        self._stream = self._temporary.open("wb")
        self._writer: pa.RecordBatchFileWriter | None = pa.ipc.new_file(self._stream, schema.to_arrow())

    def append(self, row: Mapping[str, Any], *, kind: int | None = None, record_id: str | None = None) -> None:
        """Add one row: column -> its integers (array or list, all equally long).

        Cheap for many small rows: they are copied to a buffer, and checked and written in bulk, so that an error may be
        raised by a later call; it names the row.
        """
        self._check_row_columns(kind is None, record_id is None)
        if not self._stage.add(row, kind, record_id):
            self._flush_stage()
            if not self._stage.add(row, kind, record_id):
                self._append_long_row(row, kind, record_id)

    def append_batch(
        self,
        offsets: Int64,
        columns: Mapping[str, npt.NDArray[Any]],
        *,
        kind: npt.NDArray[np.uint8] | None = None,
        record_ids: Ids = None,
    ) -> None:
        """Add N rows: row n has the tokens offsets[n] to offsets[n + 1] of every flat column (offsets int64, N + 1)."""
        self._check_row_columns(kind is None, record_ids is None)
        self._flush_stage()
        self._store(np.asarray(offsets, np.int64), columns, kind, record_ids)

    def close(self) -> dict[str, Any]:
        """Write what is left, make the file durable under its name, and return the part's commit."""
        writer = self._open_writer()
        self._flush_stage()
        self._write_batch()
        writer.close()
        self._writer = None
        with self._stream:
            self._stream.flush()
            os.fsync(self._stream.fileno())
        entry = file_entry(self._temporary)
        self._temporary.replace(self._path)
        sync_folder(self._path.parent)
        return {
            "part": self.part,
            "schema": self.schema.to_json(),
            "num_rows": self.num_rows,
            "num_tokens": self.num_tokens,
            "files": {self._name: entry},
        }

    def __enter__(self) -> TokenShardWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._writer is not None:
            self._writer = None
            self._stream.close()
            self._temporary.unlink(missing_ok=True)

    def _open_writer(self) -> pa.RecordBatchFileWriter:
        if self._writer is None:
            raise ValueError(f"part {self.part} is closed")
        return self._writer

    def _check_row_columns(self, no_kind: bool, no_record_id: bool) -> None:
        self._open_writer()
        if no_kind is (self.schema.kind is None):
            raise ValueError(f"a kind for each row is {'needed' if no_kind else 'one too many'} in {self.schema.kind=}")
        if no_record_id is self.schema.has_record_id:
            raise ValueError(f"a record_id is {'needed' if no_record_id else 'one too many'} in this schema")

    def _append_long_row(self, row: Mapping[str, Any], kind: int | None, record_id: str | None) -> None:
        columns = {name: _integers(name, row[name]) for name in self.schema.names}
        kinds = None if kind is None else np.array([kind], np.uint8)
        ids = None if record_id is None else [record_id]
        self._store(np.array([0, len(columns[INPUT_IDS])]), columns, kinds, ids)

    def _flush_stage(self) -> None:
        if self._stage.lengths:
            self._store(*self._stage.take())

    def _store(
        self, offsets: Int64, columns: Mapping[str, npt.NDArray[Any]], kinds: npt.NDArray[np.uint8] | None, ids: Ids
    ) -> None:
        """Check the rows, then add them to the open record batch, which is written at each of its limits."""
        check = _RowCheck(self.part, self.num_rows, offsets, ids)
        check.rows(self.schema, columns, kinds)
        narrow = {c.name: check.values(c, columns[c.name]).astype(c.type, copy=False) for c in self.schema.columns}
        begin, num_rows = 0, len(offsets) - 1
        while begin < num_rows:
            room_rows, room_tokens = self._limits[0] - self._batch.num_rows, self._limits[1] - self._batch.num_tokens
            full = int(np.searchsorted(offsets, offsets[begin] + room_tokens))
            end = min(num_rows, begin + room_rows, max(full, begin + 1))
            self._batch.add(offsets[begin : end + 1], narrow, kinds, ids, begin)
            if self._batch.num_rows == self._limits[0] or self._batch.num_tokens >= self._limits[1]:
                self._write_batch()
            begin = end
        self.num_rows += num_rows
        self.num_tokens += int(offsets[-1] - offsets[0])

    def _write_batch(self) -> None:
        if self._batch.num_rows:
            self._open_writer().write_batch(self._batch.to_arrow())
            self._batch = _OpenBatch(self.schema)


class _Stage:
    """Rows that came one at a time, copied to int64 buffers (so the caller may reuse its arrays)."""

    def __init__(self, schema: TokenSchema) -> None:
        self._buffers = {name: np.empty(_STAGED_TOKENS, np.int64) for name in schema.names}
        self._end = 0
        self.lengths: list[int] = []
        self._kinds: list[int] = []
        self._ids: list[str] = []

    def add(self, row: Mapping[str, Any], kind: int | None, record_id: str | None) -> bool:
        """Copy a row; return False, and copy nothing, where it does not fit any more."""
        if len(row) != len(self._buffers) or INPUT_IDS not in row:
            raise SchemaError(f"expected the columns {', '.join(self._buffers)}, found {', '.join(row)}")
        begin, length = self._end, len(row[INPUT_IDS])
        end = begin + length
        if end > _STAGED_TOKENS:
            return False
        for name, buffer in self._buffers.items():
            values = row.get(name)
            if not isinstance(values, np.ndarray) or values.dtype.kind != "i":
                values = _integers(name, values)
            if len(values) != length:
                who = f"record {record_id!r}" if record_id is not None else "a row"
                raise SchemaError(f"{who}: column {name}: expected {length} values as in input_ids, found {len(values)}")
            buffer[begin:end] = values
        self._end = end
        self.lengths.append(length)
        if kind is not None:
            self._kinds.append(kind)
        if record_id is not None:
            self._ids.append(record_id)
        return True

    def take(self) -> tuple[Int64, dict[str, Int64], npt.NDArray[np.uint8] | None, list[str] | None]:
        """Return the staged rows, and forget them (the arrays are valid until the next `add`)."""
        offsets = np.concatenate(([0], np.cumsum(self.lengths, dtype=np.int64)))
        columns = {name: buffer[: self._end] for name, buffer in self._buffers.items()}
        kinds = np.array(self._kinds, np.uint8) if self._kinds else None
        ids = self._ids or None
        self._end, self.lengths, self._kinds, self._ids = 0, [], [], []
        return offsets, columns, kinds, ids


class _OpenBatch:
    """Checked and narrowed rows of the record batch to be written next."""

    def __init__(self, schema: TokenSchema) -> None:
        self._schema = schema
        self.num_rows = self.num_tokens = 0
        self._lengths: list[Int64] = []
        self._values: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in schema.names}
        self._kinds: list[npt.NDArray[np.uint8]] = []
        self._ids: list[pa.Array] = []

    def add(
        self,
        offsets: Int64,
        columns: Mapping[str, npt.NDArray[Any]],
        kinds: npt.NDArray[np.uint8] | None,
        ids: Ids,
        first: int,
    ) -> None:
        """Add the rows between `offsets`; `first` is the number of the first one in `kinds` and `ids`."""
        num_rows = len(offsets) - 1
        begin, end = int(offsets[0]), int(offsets[-1])
        self._lengths.append(np.diff(offsets))
        for name, chunks in self._values.items():
            chunks.append(columns[name][begin:end].copy())
        if kinds is not None:
            self._kinds.append(np.asarray(kinds[first : first + num_rows], np.uint8).copy())
        if ids is not None:
            self._ids.append(pa.array(ids[first : first + num_rows], pa.large_string()))
        self.num_rows += num_rows
        self.num_tokens += end - begin

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


class _RowCheck:
    """Checks rows before they are stored; errors name the record, or the row where records have no id."""

    def __init__(self, part: str, first_row: int, offsets: Int64, ids: Ids) -> None:
        self._part, self._first_row, self._offsets, self._ids = part, first_row, offsets, ids

    def rows(
        self, schema: TokenSchema, columns: Mapping[str, npt.NDArray[Any]], kinds: npt.NDArray[np.uint8] | None
    ) -> None:
        """Raise SchemaError unless the columns are the schema's, equally long, and no row exceeds the longest."""
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
        if kinds is not None and len(kinds) and int(kinds.max()) > max(StructureKind):
            row = int(np.argmax(kinds > max(StructureKind)))
            raise SchemaError(f"{self._who(row)}: expected a kind up to {max(StructureKind)}, found {kinds[row]}")
        if schema.max_length is not None and len(lengths) and int(lengths.max()) > schema.max_length:
            row = int(np.argmax(lengths > schema.max_length))
            raise SchemaError(f"{self._who(row)}: expected at most {schema.max_length} tokens, found {lengths[row]}")

    def values(self, column: TokenColumn, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the values of a column; raise SchemaError at the first one outside its limits."""
        values = _integers(column.name, values)
        if not len(values) or (values.min() >= column.minimum and values.max() <= column.maximum):
            return values
        index = int(np.argmax((values < column.minimum) | (values > column.maximum)))
        row = int(np.searchsorted(self._offsets, index, side="right")) - 1
        raise SchemaError(
            f"{self._who(row)}: column {column.name}: expected {column.minimum} to {column.maximum} "
            f"(stored as {column.type}), found {values[index]}"
        )

    def _who(self, row: int) -> str:
        place = f"part {self._part}, row {self._first_row + row}"
        return place if self._ids is None else f"record {str(self._ids[row])!r} ({place})"


def _integers(name: str, values: Any) -> npt.NDArray[Any]:
    """Return `values` as an array of integers that an int64 holds; raise SchemaError for others."""
    array = np.asarray(values)
    if array.ndim == 1 and not array.size:
        return array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise SchemaError(f"column {name}: expected a flat array of integers, found {array.dtype} {array.shape}")
    if array.dtype == np.uint64 and int(array.max()) > INT64_MAX:
        raise SchemaError(f"column {name}: expected values up to {INT64_MAX}, found {array.max()}")
    return array
