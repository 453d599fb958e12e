"""Opens a token dataset: rows by number, straight from the mapped shards."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.errors import DamagedShardError, SchemaError
from lisdata.schema import StructureKind
from lisdata.shards.manifest import TOKEN_FORMAT, canonical_json, check_hashes, check_sizes, read_manifest
from lisdata.storage import local_folder
from lisdata.token_shards.archive import refuse_archive
from lisdata.token_shards.batch import TokenBatch
from lisdata.token_shards.schema import KIND, RECORD_ID, TokenSchema
from lisdata.token_shards.segments import DOCUMENT, TOKEN_KIND, Segments, copy_rows, map_segments, record_id_of

ROLES = "roles.json"


class TokenDataset:
    """The rows of a token dataset, in the order of its parts: a map-style dataset of PyTorch.

    `path` is a folder, or a URL that fsspec opens, which is fetched into the local cache first.
    `columns` chooses some of the stored columns (`document` and `token_kind` stay). `verify`: "open" checks that every
    file is there, whole, with the schema and the rows that the manifest says; "full" also hashes each file and checks
    every row; "none" puts all of it off to the first use. Pickled copies (worker processes) open the files again.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        verify: Literal["none", "open", "full"] = "open",
        columns: Sequence[str] | None = None,
    ) -> None:
        self.path = local_folder(path)
        self.manifest = read_manifest(self.path, TOKEN_FORMAT)
        refuse_archive(self.path, self.manifest)
        self.schema = TokenSchema.from_json(self.manifest.get("schema"), str(self.path))
        chosen = self.schema.names if columns is None else tuple(columns)
        for name in chosen:
            self.schema.column(name)
        # What keeps the structures of a row apart always comes along.
        kept = (name for name in (DOCUMENT, TOKEN_KIND) if name in self.schema.names)
        self.columns: tuple[str, ...] = tuple(dict.fromkeys((*chosen, *kept)))
        if verify not in ("none", "open", "full"):
            raise ValueError(f"expected verify of none, open or full, got {verify!r}")
        if verify != "none":
            (check_hashes if verify == "full" else check_sizes)(self.path, self.manifest)
            self.segments  # noqa: B018  maps the parts, which checks them
        if verify == "full":
            for part in self.manifest["parts"]:
                check_token_part(self.path, self.manifest, part)

    @cached_property
    def segments(self) -> Segments:
        """The mapped record batches; made on first use in each process."""
        paths = [(self.path / name, part["num_rows"]) for part in self.manifest["parts"] for name in part["files"]]
        return map_segments(paths, self.schema, self.columns)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "segments"}

    @property
    def num_tokens(self) -> int:
        """Tokens of all rows."""
        return int(self.manifest["num_tokens"])

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of schema, row counts and hashes of the shards: what decides which row has which number."""
        parts = [
            [part["num_rows"], *(self.manifest["files"][name]["sha256"] for name in part["files"])]
            for part in self.manifest["parts"]
        ]
        return hashlib.sha256(canonical_json([self.schema.to_json(), parts])).hexdigest()

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The role labels by number; empty where the dataset has no roles.json."""
        if ROLES not in self.manifest["files"]:
            return ()
        from lisdata.vocabulary import RoleVocabulary

        return RoleVocabulary.read(self.path / ROLES).roles

    def __len__(self) -> int:
        return int(self.manifest["num_rows"])

    def __getitem__(self, row: int) -> dict[str, Any]:
        """Return a row: column -> array (T) of int32 or int64, with `kind`, `row` and, where stored, `record_id`."""
        number = range(len(self))[row]
        found = self.gather([number])[0]
        return found | {RECORD_ID: self.record_id(number)} if self.schema.has_record_id else found

    def __getitems__(self, rows: Sequence[int]) -> TokenBatch:
        """Return several rows at once (what a DataLoader calls): a sequence of them, which `BatchCollator` pads."""
        return self.gather(rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[row] for row in range(len(self)))

    def gather(self, rows: Iterable[int] | npt.NDArray[np.int64], columns: Sequence[str] | None = None) -> TokenBatch:
        """Return rows by number, each as often and in the order asked for; raise IndexError outside 0 to len - 1."""
        chosen = self.columns if columns is None else columns
        for name in chosen:
            if name not in self.columns:
                raise ValueError(f"no column {name!r}: expected one of {', '.join(self.columns)}")
        numbers = np.ascontiguousarray(rows if isinstance(rows, np.ndarray) else list(rows), np.int64)
        selection = self.segments.select(chosen, all_wide=False)
        located = self.segments.locate(numbers)
        num_wide, num_narrow = selection.num_wide, len(chosen) - selection.num_wide
        wide, narrow = np.empty((num_wide, located.total), np.int64), np.empty((num_narrow, located.total), np.int32)
        copy_rows(selection, located, 0, wide.reshape(-1), narrow.reshape(-1))
        values = dict(zip(selection.names, [*wide, *narrow], strict=True))
        _, _, row, length, kind = located.table
        return TokenBatch(row=row, length=length, kind=kind, columns={name: values[name] for name in chosen})

    def lengths(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the number of tokens of some rows."""
        lengths: npt.NDArray[np.int64] = self.segments.locate(np.ascontiguousarray(rows, np.int64)).table[3]
        return lengths

    def record_id(self, row: int) -> str:
        """Return the id of the record that a row came from; raise ValueError where none are stored."""
        if not self.schema.has_record_id:
            raise ValueError(f"{self.path}: this dataset stores no record ids")
        return record_id_of(self.segments, range(len(self))[row])


def check_token_part(directory: Path, manifest: dict[str, Any], part: dict[str, Any]) -> None:
    """Raise DamagedShardError or SchemaError where the rows of a part break the schema: lengths, limits, counts."""
    schema = TokenSchema.from_json(manifest.get("schema"), str(directory))
    num_rows = num_tokens = 0
    for name in part["files"]:
        path = directory / name
        segments = map_segments([(path, part["num_rows"])], schema, schema.names)
        for batch in segments.owners:
            _check_rows(batch, schema, f"{path}, row {num_rows} and after")
            num_rows += batch.num_rows
            num_tokens += len(batch.column(0).values)
    if num_tokens != part["num_tokens"]:
        raise DamagedShardError(f"part {part['name']}: expected {part['num_tokens']} tokens, found {num_tokens}")


def _check_rows(batch: pa.RecordBatch, schema: TokenSchema, where: str) -> None:
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DamagedShardError(f"{where}: {error}") from error
    offsets = batch.column(schema.names[0]).offsets
    lengths = np.diff(np.asarray(offsets))
    if schema.max_length is not None and len(lengths) and lengths.max() > schema.max_length:
        raise SchemaError(f"{where}: expected at most {schema.max_length} tokens a row, found {lengths.max()}")
    for column in schema.columns:
        array = batch.column(column.name)
        if not array.offsets.equals(offsets):
            raise SchemaError(f"{where}: column {column.name}: expected the lengths of {schema.names[0]}")
        least, greatest = pc.min_max(array.values).values()  # in one pass: verify takes little longer than its hashes
        if least.is_valid and (least.as_py() < column.minimum or greatest.as_py() > column.maximum):
            found = f"{least} to {greatest}"
            raise SchemaError(
                f"{where}: column {column.name}: expected {column.minimum} to {column.maximum}, found {found}"
            )
    if KIND in batch.schema.names and batch.num_rows:
        highest = int(np.asarray(batch.column(KIND)).max())
        if highest > max(StructureKind):
            raise SchemaError(f"{where}: expected a kind up to {max(StructureKind)}, found {highest}")
