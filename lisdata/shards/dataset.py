"""Opens an incidence dataset: its parts as Arrow tables, its structures one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.errors import DamagedShardError
from lisdata.kernels.arrays import one_array
from lisdata.paths import StrPath
from lisdata.schema import TABLES, check_schema
from lisdata.shards.manifest import (
    INCIDENCE_FORMAT,
    PART_TABLES,
    check_hashes,
    check_sizes,
    read_manifest,
)
from lisdata.shards.positions import POSITION, SIGMA, read_positions
from lisdata.storage import local_folder
from lisdata.structure import Structure, StructureReader

T = TypeVar("T")
Int64 = npt.NDArray[np.int64]
Verify = Literal["none", "open", "full"]

MIN_CHUNK_BYTES = 16 << 20
"""Smaller batches of structures are joined when read: finding a row takes a step a chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputInfo:
    """An input that the dataset was made from, and by which source and options.

    `report` counts what happened on the way, by name; None in a dataset that only has the report on all its inputs.
    `prefixes` are those that an RDF file declares, IRIs by name.
    """

    index: int
    name: str
    scope: str
    compression: str | None
    source: str
    exporter: str
    options: dict[str, Any] = field(default_factory=dict)
    records: dict[str, int] = field(default_factory=dict)
    report: dict[str, int] | None = None
    prefixes: dict[str, str] = field(default_factory=dict)


def _schema(table: str, columns: tuple[str, ...] | None) -> pa.Schema:
    """Return the schema of a table, or of some of its columns, in the order that they have in the file."""
    schema = TABLES[table]
    return schema if columns is None else pa.schema([schema.field(n) for n in sorted(columns, key=schema.names.index)])


def _joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the batches in batches of at least MIN_CHUNK_BYTES; larger ones are not copied."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= MIN_CHUNK_BYTES:
            yield pa.concat_batches(waiting) if len(waiting) > 1 else batch
            waiting, size = [], 0
    if waiting:
        yield pa.concat_batches(waiting)


class Part:
    """One part of a dataset; tables are read when asked for, the label list and contents once."""

    def __init__(self, directory: Path, entry: dict[str, Any]) -> None:
        self.directory = directory
        self.name: str = entry["name"]
        self.first_file: int = entry["first_file"]
        self.inputs = range(*entry["inputs"])
        self.counts: dict[str, int] = entry["counts"]
        self._derived: dict[Callable[[Part], Any], Any] = {}

    def path(self, table: str) -> Path:
        """Return the file of one of the part's tables."""
        return self.directory / table / f"{self.name}.arrow"

    def open_table(self, table: str, columns: tuple[str, ...] | None = None) -> pa.ipc.RecordBatchFileReader:
        """Open a table's file, memory-mapped; raise DamagedShardError when its footer is not readable.

        With `columns` only these are read from it, in the order that they have there.
        """
        path, schema = self.path(table), _schema(table, columns)
        chosen = [] if columns is None else [TABLES[table].get_field_index(name) for name in columns]  # []: all
        try:
            mapped = pa.memory_map(str(path))
            reader = pa.ipc.open_file(mapped, options=pa.ipc.IpcReadOptions(included_fields=chosen))
        except (pa.ArrowException, OSError) as error:
            raise DamagedShardError(f"{path}: expected an Arrow file with its footer, found {error}") from error
        check_schema(reader.schema, schema, str(path))
        return reader

    def iter_batches(self, table: str, columns: tuple[str, ...] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a table one by one; raise DamagedShardError where one is not readable."""
        has_positions = table == "structures" and (columns is None or POSITION in columns)
        wanted = columns if columns is None or not has_positions else tuple({**dict.fromkeys(columns), SIGMA: None})
        reader = self.open_table(table, wanted)
        for number in range(reader.num_record_batches):
            try:
                batch = reader.get_batch(number)
                batch = self._with_positions(batch, columns) if has_positions else batch
            except (pa.ArrowException, OSError, ValueError) as error:
                raise DamagedShardError(f"{self.path(table)}: batch {number}: {error}") from error
            yield batch

    def _with_positions(self, batch: pa.RecordBatch, columns: tuple[str, ...] | None) -> pa.RecordBatch:
        """Return the columns asked for, positions that were left out among them."""
        whole = read_positions(batch)
        return whole if columns is None or SIGMA in columns else whole.drop_columns([SIGMA])

    def read(self, table: str, columns: tuple[str, ...] | None = None) -> pa.Table:
        """Return a whole table, or some of its columns; raise DamagedShardError where it is not readable."""
        return pa.Table.from_batches(self.iter_batches(table, columns), _schema(table, columns))

    @cached_property
    def structures(self) -> pa.Table:
        """All structures of the part, in few chunks: a batch may be as small as an input."""
        return pa.Table.from_batches(_joined(self.iter_batches("structures")), TABLES["structures"])

    @cached_property
    def contents(self) -> pa.Table:
        """The part's contents; row numbers are what `tau` and handles hold."""
        return self.read("contents").combine_chunks()

    @cached_property
    def labels(self) -> pa.Table:
        """The part's label list; row numbers are the codes in `sigma`, `instance_label` and `deprel`."""
        return self.read("labels").combine_chunks()

    @cached_property
    def reader(self) -> StructureReader:
        """What turns rows into `Structure`s."""
        return StructureReader(self.contents, self.labels)

    def derived(self, make: Callable[[Part], T]) -> T:
        """Return `make(part)`, made once for as long as the part is held."""
        if make not in self._derived:
            self._derived[make] = make(self)
        found: T = self._derived[make]
        return found

    def rows_of(self, file_index: int) -> Int64:
        """Return the rows of `structures` that came from one input, in source order."""
        index = self._row_index
        at = int(np.searchsorted(index.files, file_index))
        if at == len(index.files) or index.files[at] != file_index:
            return np.empty(0, np.int64)
        found = slice(int(index.begins[at]), int(index.begins[at + 1]))
        return np.arange(found.start, found.stop) if index.rows is None else index.rows[found]

    @cached_property
    def _row_index(self) -> _RowIndex:
        """Where each input's rows stand: small, so it is kept when the tables are not."""
        sources = one_array(self.read("structures", ("source",)).column("source"))
        files = np.asarray(sources.field("file")).astype(np.int64) + self.first_file
        rows = None
        if (files[1:] < files[:-1]).any():  # a conversion writes its inputs one after another
            rows = np.argsort(files, kind="stable")
            files = files[rows]
        present, begins = np.unique(files, return_index=True)
        return _RowIndex(files=present, begins=np.append(begins, len(files)), rows=rows)

    def release(self) -> None:
        """Let go of the tables that were read, and of what was derived from them."""
        self._derived.clear()
        for name in ("structures", "contents", "labels", "reader"):
            self.__dict__.pop(name, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowIndex:
    """The rows of input files[n] are rows[begins[n] : begins[n + 1]]; `rows` is None for 0, 1, 2 ..."""

    files: Int64
    begins: Int64
    rows: Int64 | None


class IncidenceDataset:
    """A dataset of structures in a folder, or at a URL that fsspec opens, through the local cache.

    `verify`: "open" checks that every file is there, whole by its size, and has the footer and schema of its table;
    "full" also hashes each file; "none" trusts.
    """

    def __init__(self, path: StrPath, *, verify: Verify = "open") -> None:
        if verify not in get_args(Verify):
            raise ValueError(f"expected verify to be one of {', '.join(get_args(Verify))}, got {verify!r}")
        self.path = local_folder(path)
        self.manifest = read_manifest(self.path, INCIDENCE_FORMAT)
        if verify != "none":
            (check_hashes if verify == "full" else check_sizes)(self.path, self.manifest)
        self.parts = tuple(Part(self.path, entry) for entry in self.manifest["parts"])
        if verify != "none":
            for part in self.parts:
                for table in PART_TABLES:
                    part.open_table(table)
        self.inputs = tuple(self._input(i, entry) for i, entry in enumerate(self.manifest["inputs"]))
        self._held: Part | None = None

    def _input(self, index: int, entry: dict[str, Any]) -> InputInfo:
        origin = self.manifest["origins"][entry["origin"]]
        return InputInfo(
            index=index,
            name=entry["name"],
            scope=entry["scope"],
            compression=entry["compression"],
            source=origin["source"],
            exporter=origin["exporter"],
            options=origin["options"],
            records=entry["records"],
            report=entry.get("report"),
            prefixes=entry.get("prefixes", {}),
        )

    def __len__(self) -> int:
        return int(self.manifest["counts"].get("structures", 0))

    def iter_part_rows(self, file_index: int | None = None) -> Iterator[tuple[Part, Int64]]:
        """Yield (part, rows of `part.structures`) where there are structures of one input (or any), in source order."""
        for part in self.parts:
            if file_index is None:
                self._hold(part)
                yield part, np.arange(part.structures.num_rows)
            elif file_index in part.inputs and len(rows := part.rows_of(file_index)):
                self._hold(part)
                yield part, rows

    def iter_rows(self, file_index: int | None = None) -> Iterator[tuple[Part, int]]:
        """Yield (part, row of `part.structures`) for the structures of one input (or all), in source order."""
        for part, rows in self.iter_part_rows(file_index):
            for row in rows:
                yield part, int(row)

    def _hold(self, part: Part) -> None:
        """Let go of the part read before: many small inputs stand in one part, so the last one read is kept."""
        if self._held is not None and self._held is not part:
            self._held.release()
        self._held = part

    def iter_structures(self, file_index: int | None = None) -> Iterator[Structure]:
        """Yield the structures of one input (or all), in the order of the source."""
        for part, row in self.iter_rows(file_index):
            yield part.reader.read(part.structures, row, first_file=part.first_file)

    def find_structure(self, record_id: str) -> Structure:
        """Return the structure with this id; raise KeyError when there is none."""
        for part in self.parts:
            for batch in part.iter_batches("structures"):
                row = pc.index(batch.column("record_id"), pa.scalar(record_id, pa.large_string())).as_py()
                if row >= 0:
                    return part.reader.read(batch, row, first_file=part.first_file)
        raise KeyError(record_id)
