"""Writes token shards: rows are checked against the schema, narrowed, and written as Arrow files, one a part."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.atomic import sync_path
from lisdata.errors import PlanError, SchemaError
from lisdata.shards.manifest import MANIFEST, TOKEN_FORMAT, check_sizes, file_entry, write_manifest
from lisdata.token_shards.checks import Ids, Int64, Kinds, RowCheck, integers
from lisdata.token_shards.schema import INPUT_IDS, KIND, RECORD_ID, TokenSchema
from lisdata.token_shards.staging import OpenBatch, RowStage

FOLDER = "tokens"


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
        if Path(part).name != part:
            raise ValueError(f"expected the name of a part without folders, got {part!r}")
        self.schema, self.part = schema, part
        self.num_rows = self.num_tokens = 0
        self._limits = (rows_per_batch, tokens_per_batch)
        self._name = f"{FOLDER}/{part}.arrow"
        self._path = Path(directory) / self._name
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._temporary = self._path.with_name(f".{part}.arrow.{os.getpid()}.tmp")
        self._stage = RowStage(schema)
        self._batch = OpenBatch(schema)
        self._stream = self._temporary.open("wb")
        self._writer: pa.RecordBatchFileWriter | None = pa.ipc.new_file(self._stream, schema.to_arrow())

    def append(self, row: Mapping[str, Any], *, kind: int | None = None, record_id: str | None = None) -> None:
        """Add one row: column -> its integers (array or list, all equally long).

        Cheap for many small rows: they are copied to a buffer, checked and written in bulk, so that a later call may
        raise the error; it names the row.
        """
        self._check_call(kind is None, record_id is None)
        if self._stage.add(row, kind, record_id):
            return
        self._flush_stage()
        if not self._stage.add(row, kind, record_id):  # longer than the stage
            columns = {name: integers(name, row.get(name, ())) for name in self.schema.names}
            kinds = None if kind is None else np.array([kind], np.int64)
            ids = None if record_id is None else [record_id]
            self._store(np.array([0, len(columns[INPUT_IDS])]), columns, kinds, ids)

    def append_batch(
        self,
        offsets: Int64,
        columns: Mapping[str, npt.NDArray[Any]],
        *,
        kind: npt.NDArray[Any] | None = None,
        record_ids: Ids = None,
    ) -> None:
        """Add N rows: row n has the tokens offsets[n] to offsets[n + 1] of every flat column (offsets int64, N + 1)."""
        self._check_call(kind is None, record_ids is None)
        self._flush_stage()
        self._store(np.asarray(offsets, np.int64), columns, kind, record_ids)

    def close(self) -> dict[str, Any]:
        """Write what is left, make the file durable under its name, and return the part's commit."""
        writer = self._open_writer()
        self._flush_stage()
        self._write_batch()
        writer.close()
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        entry = file_entry(self._temporary)
        self._temporary.replace(self._path)
        sync_path(self._path.parent)
        self._writer = None
        return {
            "part": self.part,
            "schema": self.schema.to_json(),
            "num_rows": self.num_rows,
            "num_tokens": self.num_tokens,
            "files": {self._name: entry},
        }

    def __enter__(self) -> TokenShardWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer = None
            self._stream.close()
            self._temporary.unlink(missing_ok=True)

    def _open_writer(self) -> pa.RecordBatchFileWriter:
        if self._writer is None:
            raise ValueError(f"part {self.part} is closed")
        return self._writer

    def _check_call(self, no_kind: bool, no_record_id: bool) -> None:
        self._open_writer()
        if no_kind is (self.schema.kind is None):
            raise ValueError(f"expected {'a' if no_kind else 'no'} kind for each row with {self.schema.kind=}")
        if no_record_id is self.schema.has_record_id:
            raise ValueError(f"expected {'a' if no_record_id else 'no'} record id with {self.schema.has_record_id=}")

    def _flush_stage(self) -> None:
        if len(self._stage):
            self._store(*self._stage.take())

    def _store(self, offsets: Int64, columns: Mapping[str, npt.NDArray[Any]], kinds: Kinds, ids: Ids) -> None:
        """Check the rows, then add them to the open record batch, which is written at each of its limits."""
        check = RowCheck(self.part, self.num_rows, offsets, ids)
        check.rows(self.schema, columns, kinds)
        narrow = {c.name: check.values(c, columns[c.name]) for c in self.schema.columns}
        rows_per_batch, tokens_per_batch = self._limits
        begin, num_rows = 0, len(offsets) - 1
        while begin < num_rows:
            full = int(np.searchsorted(offsets, offsets[begin] + tokens_per_batch - self._batch.num_tokens))
            end = min(num_rows, begin + rows_per_batch - self._batch.num_rows, max(full, begin + 1))
            self._batch.add(offsets[begin : end + 1], narrow, kinds, ids, begin)
            if self._batch.num_rows == rows_per_batch or self._batch.num_tokens >= tokens_per_batch:
                self._write_batch()
            begin = end
        self.num_rows += num_rows
        self.num_tokens += int(offsets[-1])

    def _write_batch(self) -> None:
        if self._batch.num_rows:
            self._open_writer().write_batch(self._batch.to_arrow())
            self._batch = OpenBatch(self.schema)


def token_manifest(directory: str | Path, commits: Sequence[dict[str, Any]], body: dict[str, Any]) -> dict[str, Any]:
    """Fold the commits of all parts into a manifest's body; `body` adds to it (vocabulary hash, view, files ...).

    Parts stand in the order of their names, which numbers the rows. Raises SchemaError when parts do not have one
    schema, DamagedShardError when a file is not there as it was committed.
    """
    if not commits:
        raise ValueError("expected the commit of at least one part")
    ordered = sorted(commits, key=lambda commit: str(commit["part"]))
    schema = ordered[0]["schema"]
    for commit in ordered:
        if commit["schema"] != schema:
            raise SchemaError(f"part {commit['part']}: its schema is not the one of part {ordered[0]['part']}")
    files = {name: entry for commit in ordered for name, entry in commit["files"].items()}
    check_sizes(Path(directory), {"files": files})
    parts = [
        {"name": c["part"], "num_rows": c["num_rows"], "num_tokens": c["num_tokens"], "files": sorted(c["files"])}
        for c in ordered
    ]
    folded = {
        "format": TOKEN_FORMAT,
        "schema": schema,
        "num_rows": sum(part["num_rows"] for part in parts),
        "num_tokens": sum(part["num_tokens"] for part in parts),
        "parts": parts,
        "files": files | body.get("files", {}),
    }
    return body | folded


def write_tokens(
    directory: str | Path,
    rows: Iterable[Mapping[str, Any] | npt.NDArray[Any] | Sequence[int]],
    *,
    schema: TokenSchema | None = None,
    vocab_size: int | None = None,
    tokens_per_part: int = 1 << 27,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Write a whole token dataset from rows in memory, and return its manifest.

    A row is an array of token ids, or a dict of the schema's columns (with "kind" and "record_id" where the schema
    stores them). Give a `schema`, or a `vocab_size` for token ids alone.
    """
    if (schema is None) is (vocab_size is None):
        raise ValueError(f"expected either a schema or a vocab_size, got {schema=}, {vocab_size=}")
    target = Path(directory)
    if (target / MANIFEST).exists() or (target / FOLDER).exists():
        raise PlanError(f"{target}: expected a new folder, found token shards (whole or not): remove them first")
    chosen = schema if schema is not None else TokenSchema.choose(vocab_size or 0, kind=0)
    commits: list[dict[str, Any]] = []
    remaining = iter(rows)
    finished = False
    while not finished:
        with TokenShardWriter(target, f"part-{len(commits):05d}", chosen) as writer:
            finished = _fill_part(writer, remaining, tokens_per_part)
            commits.append(writer.close())
    folded = token_manifest(target, commits, body or {})
    write_manifest(target, folded)
    return folded


def _fill_part(writer: TokenShardWriter, rows: Iterable[Any], num_tokens: int) -> bool:
    """Append rows until the part has `num_tokens`; return whether the rows ended."""
    appended = 0
    for row in rows:
        columns, kind, record_id = row, None, None
        if not isinstance(row, Mapping):
            columns = {INPUT_IDS: row}
        elif KIND in row or RECORD_ID in row:
            columns = dict(row)
            kind, record_id = columns.pop(KIND, None), columns.pop(RECORD_ID, None)
        writer.append(columns, kind=kind, record_id=record_id)
        appended += len(columns[INPUT_IDS])
        if appended >= num_tokens:
            return False
    return True
