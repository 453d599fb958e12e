"""Writes the tables of one part of a dataset; numbers of each batch become numbers of the part."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.atomic import sync_path
from lisdata.contents import Content
from lisdata.errors import KeyCollisionError, PlanError
from lisdata.paths import StrPath
from lisdata.schema import CONTENTS, HANDLES, LABELS, NO_ROW, STRUCTURES
from lisdata.shards.counting import count_rows
from lisdata.shards.handles import handles_of, sort_handles
from lisdata.shards.manifest import INCIDENCE_FORMAT, MANIFEST, PART_TABLES, file_entry, write_manifest
from lisdata.shards.positions import POSITION, stored_positions
from lisdata.structure import Structure
from lisdata.structure_batch import StructureBatch

_SYMBOLS = ("datatype", "language", "scope")
_BATCH_BYTES = 1 << 20
_SMALL_CHUNK_ROWS = 1 << 16


class ShardWriter:
    """Appends batches to part `part` of the dataset at `directory`; nothing is in place until `close`.

    `compression` is "zstd" (the archive form) or None.
    """

    def __init__(self, directory: StrPath, part: str, *, compression: str | None = "zstd") -> None:
        from lisdata.kernels.key_table import KeyTable

        self.part = part
        self._directory = Path(directory)
        self._options = pa.ipc.IpcWriteOptions(compression=compression)
        self._keys = KeyTable()
        self._labels: dict[tuple[Any, ...], int] = {}
        self._contents: list[pa.RecordBatch] = []
        self._symbols: list[npt.NDArray[np.uint32]] = []
        self._handles: list[pa.RecordBatch] = []
        self._counts = dict.fromkeys(("structures", "occurrences", "instances", "incidences", "cells"), 0)
        self._kinds: dict[str, int] = {}
        self._waiting: list[pa.RecordBatch] = []  # a batch costs time to write and to read, however small it is
        self._waiting_bytes = 0
        self._structures = self._open("structures", STRUCTURES)

    def append(self, batch: StructureBatch) -> None:
        """Write the structures of `batch`; raise KeyCollisionError when two contents share a key."""
        labels = self._number_labels(batch.labels)
        contents = self._number_contents(batch.contents, labels)
        first_row = self._counts["structures"]
        columns = []
        for column in STRUCTURES:
            array = batch.structures.column(column.name)
            if column.name in ("tau", "instance_handle"):
                array = _map_list(array, contents)
            elif column.name in ("instance_label", "sigma", "deprel"):
                array = _map_list(array, labels)
            elif column.name == POSITION:
                array = stored_positions(array)
            columns.append(array)
        rows = pa.RecordBatch.from_arrays(columns, schema=STRUCTURES)
        self._waiting.append(rows)
        self._waiting_bytes += rows.nbytes
        if self._waiting_bytes >= _BATCH_BYTES:
            self._write_waiting()
        if rows.column("instance_handle").null_count < rows.num_rows:
            self._handles.append(handles_of(rows, pa.Table.from_batches(self._contents, CONTENTS), first_row))
        self._count(rows)

    def close(self) -> dict[str, Any]:
        """Put the part's files in place and return its commit record: counts, and size and hash of each file.

        "inputs" is the range of the dataset's inputs that the part holds structures of; "first_file" is added to the
        file number of a row.
        """
        self._write_waiting()
        self._structures[1].close()
        self._structures[0].close()
        self._write_table("contents", CONTENTS, self._contents)
        self._write_table("labels", LABELS, [self._label_batch()])
        self._write_table("handles", HANDLES, sort_handles(self._handles).to_batches())
        files = {}
        for table in PART_TABLES:
            temporary, final = self._paths(table)
            sync_path(temporary)
            files[f"{table}/{final.name}"] = file_entry(temporary)
            temporary.replace(final)
            sync_path(final.parent)
        counts = self._counts | {"contents": len(self._keys), "labels": len(self._labels)}
        about = {"name": self.part, "first_file": 0, "inputs": [0, 0]}
        return about | {"counts": counts, "kinds": self._kinds, "files": files}

    def abort(self) -> None:
        """Close and remove the temporary files."""
        sink, writer = self._structures
        with suppress(OSError):  # a full disk: the error that led here is the one to report
            if not sink.closed:
                writer.close()
        sink.close()
        for table in PART_TABLES:
            self._paths(table)[0].unlink(missing_ok=True)

    def _write_waiting(self) -> None:
        if self._waiting:
            self._structures[1].write_batch(_joined(self._waiting, STRUCTURES))
        self._waiting, self._waiting_bytes = [], 0

    def _paths(self, table: str) -> tuple[Path, Path]:
        final = self._directory / table / f"{self.part}.arrow"
        return final.with_name(f".{final.name}.{os.getpid()}.tmp"), final

    def _open(self, table: str, schema: pa.Schema) -> tuple[Any, Any]:
        temporary, _ = self._paths(table)
        temporary.parent.mkdir(parents=True, exist_ok=True)
        sink = pa.OSFile(str(temporary), "wb")
        return sink, pa.ipc.new_file(sink, schema, options=self._options)

    def _write_table(self, table: str, schema: pa.Schema, batches: list[pa.RecordBatch]) -> None:
        sink, writer = self._open(table, schema)
        with sink, writer:
            for batch in batches:
                writer.write_batch(batch)

    def _number_labels(self, labels: pa.RecordBatch) -> npt.NDArray[np.uint32]:
        rows = zip(*(labels.column(name).to_pylist() for name in LABELS.names), strict=True)
        codes = [self._labels.setdefault(row, len(self._labels)) for row in rows]
        return np.array(codes, np.uint32)

    def _label_batch(self) -> pa.RecordBatch:
        columns = list(zip(*self._labels, strict=True)) or [()] * len(LABELS)
        arrays = [pa.array(list(c), f.type) for c, f in zip(columns, LABELS, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=LABELS)

    def _number_contents(self, contents: pa.RecordBatch, labels: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        columns = [
            _map_values(contents.column(name), labels) if name in _SYMBOLS else contents.column(name)
            for name in CONTENTS.names
        ]
        numbered = pa.RecordBatch.from_arrays(columns, schema=CONTENTS)
        rows, is_new = self._keys.find_or_add(contents.column("key"))
        symbols = _symbol_columns(numbered)
        if is_new.all():
            self._keep(numbered, symbols)
            return rows
        if is_new.any():
            self._keep(numbered.filter(pa.array(is_new)), symbols[:, is_new])
        self._refuse_collisions(numbered, symbols, np.flatnonzero(~is_new), rows)
        return rows

    def _keep(self, contents: pa.RecordBatch, symbols: npt.NDArray[np.uint32]) -> None:
        if contents.num_rows:
            self._contents.append(contents)
            self._symbols.append(symbols)
            self._join_small_chunks()

    def _join_small_chunks(self) -> None:
        """Join chunks of contents that are no longer than the one after them, so that many small batches make few."""
        while len(self._contents) > 1 and len(self._contents[-2]) <= len(self._contents[-1]) <= _SMALL_CHUNK_ROWS:
            self._contents[-2:] = [_joined(self._contents[-2:], CONTENTS)]
            self._symbols[-2:] = [np.concatenate(self._symbols[-2:], axis=1)]

    def _refuse_collisions(
        self,
        found: pa.RecordBatch,
        symbols: npt.NDArray[np.uint32],
        again: npt.NDArray[np.int64],
        rows: npt.NDArray[np.uint32],
    ) -> None:
        """Compare the contents `again` of `found`, whose keys are known, with what their keys stood for."""
        starts = np.cumsum([0, *(len(chunk) for chunk in self._contents[:-1])])
        owner = np.searchsorted(starts, rows[again], side="right") - 1
        for number in np.flatnonzero(np.bincount(owner)):
            here = again[owner == number]
            known, known_rows = self._contents[number], rows[here].astype(np.int64) - starts[number]
            position = _first_unequal_row(known, self._symbols[number], known_rows, found, symbols, here)
            if position >= 0:
                labels = [row[1] for row in self._labels]
                places = ((known, known_rows), (found, here))
                names = [describe_content(table, int(at[position]), labels) for table, at in places]
                key = found.column("key")[int(here[position])].as_py().hex()
                raise KeyCollisionError(f"two contents meet under the key {key}: {names[0]} and {names[1]}")

    def _count(self, rows: pa.RecordBatch) -> None:
        counts, kinds = count_rows(rows)
        for total, more in ((self._counts, counts), (self._kinds, kinds)):
            for name, count in more.items():
                total[name] = total.get(name, 0) + count


def _joined(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Return the batches as one."""
    if len(batches) == 1:
        return batches[0]
    columns = [pa.concat_arrays([batch.column(field.name) for batch in batches]) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _symbol_columns(contents: pa.RecordBatch) -> npt.NDArray[np.uint32]:
    """Return kind, datatype, language and scope as rows of an array, NO_ROW for null."""
    rows = np.full((1 + len(_SYMBOLS), contents.num_rows), NO_ROW, np.uint32)
    rows[0] = contents.column("kind")
    for number, name in enumerate(_SYMBOLS, start=1):
        column = contents.column(name)
        if column.null_count < len(column):
            rows[number] = column.fill_null(NO_ROW) if column.null_count else column
    return rows


def _first_unequal_row(
    left: pa.RecordBatch,
    left_symbols: npt.NDArray[np.uint32],
    left_rows: npt.NDArray[np.int64],
    right: pa.RecordBatch,
    right_symbols: npt.NDArray[np.uint32],
    right_rows: npt.NDArray[np.int64],
) -> int:
    """Return the first i for which contents left_rows[i] and right_rows[i] differ in anything but the key, or -1."""
    from lisdata.kernels.compare import first_unequal

    differs = (left_symbols[:, left_rows] != right_symbols[:, right_rows]).any(axis=0)
    if differs.any():
        return int(np.argmax(differs))
    return first_unequal(left.column("lexical"), left_rows, right.column("lexical"), right_rows)


def _map_values(array: pa.Array, numbers: npt.NDArray[np.uint32]) -> pa.Array:
    if array.null_count == len(array):
        return array
    return pa.array(numbers).take(array).cast(array.type)


def _map_list(array: pa.LargeListArray, numbers: npt.NDArray[np.uint32]) -> pa.LargeListArray:
    if array.null_count == len(array) or np.array_equal(numbers, np.arange(len(numbers))):
        return array
    offsets = np.asarray(array.offsets)
    values = array.values.slice(offsets[0], offsets[-1] - offsets[0])
    mask = None if array.null_count == 0 else array.is_null()
    offsets = pa.array(offsets - offsets[0], pa.int64())
    return pa.LargeListArray.from_arrays(offsets, _map_values(values, numbers), type=array.type, mask=mask)


def describe_content(contents: pa.Table | pa.RecordBatch, row: int, labels: list[str]) -> str:
    """Return a content as people read it in an error."""
    from lisdata.schema import ContentKind

    kind, lexical = ContentKind(contents.column("kind")[row].as_py()), contents.column("lexical")[row].as_py()
    symbols = {name: contents.column(name)[row].as_py() for name in _SYMBOLS}
    shown = "".join(f", {name} {labels[code]!r}" for name, code in symbols.items() if code is not None)
    return f"{kind.name.lower()} {lexical[:80]!r}{shown}"


def write_structures(
    directory: StrPath,
    structures: list[Structure],
    *,
    isolated: tuple[Content, ...] = (),
    compression: str | None = "zstd",
) -> dict[str, Any]:
    """Write structures made in memory as a one-part dataset at `directory` and return its manifest.

    Raises PlanError when the folder holds a dataset already.
    """
    directory = Path(directory)
    if (directory / MANIFEST).exists():
        raise PlanError(f"{directory}: expected a folder without a dataset, found one")
    writer = ShardWriter(directory, "part-00000-000", compression=compression)
    try:
        writer.append(Structure.to_arrow(structures, isolated))
        part = writer.close()
    except BaseException:
        writer.abort()
        raise
    files = part.pop("files")
    body = {
        "format": INCIDENCE_FORMAT,
        "origins": [],
        "inputs": [],
        "parts": [part],
        "counts": part["counts"],
        "kinds": part["kinds"],
        "files": files,
    }
    return write_manifest(directory, body)
