"""Facts divided among partitions by what they are sorted by: files of scratch, of which a partition reads its share.

A unit spills one part of a dataset: a file a table, with one record batch a partition.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.atomic import sync_path
from lisdata.errors import DamagedShardError
from lisdata.kernels.arrays import fixed_rows
from lisdata.regrouping.part_facts import FACTS, TERMS, PartFacts, facts_of
from lisdata.schema import CONTENTS, LABELS, NO_ROW
from lisdata.shards import IncidenceDataset
from lisdata.shards.manifest import file_entry

Int64 = npt.NDArray[np.int64]
JsonDict = dict[str, Any]

SPILL_FORMAT = "lisdata-spill"

_CONTENT_COLUMNS = ("subject", "predicate", "object", "graph")
_SYMBOLS = ("datatype", "language", "scope")
_SCHEMAS = {"facts": FACTS, "terms": TERMS, "contents": CONTENTS, "labels": LABELS}
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one partition has of a spilled part: facts and terms refer to these contents and labels."""

    facts: pa.RecordBatch
    terms: pa.RecordBatch
    contents: pa.RecordBatch
    labels: pa.RecordBatch


def spill_part(source: str, directory: Path, plan: JsonDict, unit: JsonDict) -> JsonDict:
    """Divide the facts of part unit["name"] of the dataset at `source` and return the unit's commit."""
    dataset = IncidenceDataset(source)
    part = next(part for part in dataset.parts if part.name == unit["name"])
    files = _SpillFiles(directory, part.name)
    try:
        for share in _iter_shares(facts_of(dataset, part), plan["by"], plan["partitions"]):
            files.write(share)
        return {"unit": part.name, "files": files.close()}
    except BaseException:
        files.abort()
        raise


def iter_shares(directory: Path, names: list[str], partition: int) -> Iterator[Share]:
    """Yield what a partition has of each spilled part that it has anything of."""
    for name in names:
        facts = _read_batch(directory, "facts", name, partition)
        if facts.num_rows:
            yield Share(
                facts=facts,
                terms=_read_batch(directory, "terms", name, partition),
                contents=_read_batch(directory, "contents", name, partition),
                labels=_read_batch(directory, "labels", name, partition),
            )


def _iter_shares(found: PartFacts, by: str, num_partitions: int) -> Iterator[Share]:
    partition = _partitions(found, by, num_partitions)
    order = np.argsort(partition, kind="stable")
    ends = np.cumsum(np.bincount(partition, minlength=num_partitions))
    for rows in np.split(order, ends[:-1]):
        facts = found.facts.take(pa.array(rows))
        terms, used = _used(facts, found.terms)
        contents = found.contents.take(pa.array(used))
        codes = np.unique(np.concatenate([np.asarray(contents.column(name).drop_null()) for name in _SYMBOLS]))
        yield Share(
            facts=_renumbered(facts, _CONTENT_COLUMNS, used),
            terms=_renumbered(terms, tuple(TERMS.names), used),
            contents=_renumbered(contents, _SYMBOLS, codes),
            labels=found.labels.take(pa.array(codes)),
        )


def _partitions(found: PartFacts, by: str, num_partitions: int) -> npt.NDArray[np.uint16 | np.uint32]:
    """Return the partition of each fact, told by the key of its subject or graph; the default graph has the first."""
    keys = fixed_rows(found.contents.column("key")).copy().view("<u8")[:, 0] % np.uint64(num_partitions)
    rows = np.asarray(found.facts.column(by))
    is_there = rows != NO_ROW
    partition = np.zeros(len(rows), np.uint32)
    partition[is_there] = keys[rows[is_there]]
    return partition.astype(np.uint16) if num_partitions <= 1 << 16 else partition  # a radix sort where that will do


def _used(facts: pa.RecordBatch, terms: pa.RecordBatch) -> tuple[pa.RecordBatch, Int64]:
    """Return the triple terms that `facts` show, those inside others too, and the rows of all contents shown."""
    used = np.unique(np.concatenate([np.asarray(facts.column(name)) for name in _CONTENT_COLUMNS]))
    used = used[used != NO_ROW]
    heads = np.asarray(terms.column("term"))
    chosen = np.isin(heads, used)
    while terms.num_rows:
        parts = [np.asarray(terms.column(name))[chosen] for name in TERMS.names]
        used = np.unique(np.concatenate([used, *parts]))
        more = np.isin(heads, used)
        if (more == chosen).all():
            break
        chosen = more
    return terms.filter(pa.array(chosen)), used.astype(np.int64)


def _renumbered(batch: pa.RecordBatch, names: tuple[str, ...], used: npt.NDArray[np.integer]) -> pa.RecordBatch:
    """Return a batch whose columns `names` hold places in the sorted `used` for the values; null and NO_ROW stay."""
    for name in names:
        column = batch.column(name)
        values = np.asarray(column.fill_null(NO_ROW))
        found = np.where(values == NO_ROW, NO_ROW, np.searchsorted(used, values)).astype(np.uint32)
        mask = np.asarray(column.is_null()) if column.null_count else None
        index = batch.schema.get_field_index(name)
        batch = batch.set_column(index, batch.schema.field(name), pa.array(found, mask=mask))
    return batch


def _path(directory: Path, table: str, name: str) -> Path:
    return directory / table / f"{name}.arrow"


def _read_batch(directory: Path, table: str, name: str, number: int) -> pa.RecordBatch:
    path = _path(directory, table, name)
    try:
        with pa.OSFile(str(path)) as source:
            return pa.ipc.open_file(source).get_batch(number)
    except (pa.ArrowException, OSError) as error:
        raise DamagedShardError(f"{path}: batch {number}: {error}; remove {directory} and run again") from error


class _SpillFiles:
    """The files of one unit: written aside, in place when all are whole."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory, self._name = directory, name
        self._open: dict[str, tuple[pa.OSFile, pa.ipc.RecordBatchFileWriter]] = {}
        for table, schema in _SCHEMAS.items():
            _path(directory, table, name).parent.mkdir(parents=True, exist_ok=True)
            sink = pa.OSFile(str(self._temporary(table)), "wb")
            self._open[table] = (sink, pa.ipc.new_file(sink, schema, options=_OPTIONS))

    def write(self, share: Share) -> None:
        """Write what the next partition has."""
        for table, (_, writer) in self._open.items():
            writer.write_batch(getattr(share, table))

    def close(self) -> JsonDict:
        """Put the files in place and return their entries."""
        entries = {}
        for table, (sink, writer) in self._open.items():
            writer.close()
            sink.close()
            path = _path(self._directory, table, self._name)
            sync_path(self._temporary(table))
            entries[f"{table}/{path.name}"] = file_entry(self._temporary(table))
            self._temporary(table).replace(path)
            sync_path(path.parent)
        return entries

    def abort(self) -> None:
        """Close and remove the temporary files."""
        for table, (sink, _) in self._open.items():
            sink.close()
            self._temporary(table).unlink(missing_ok=True)

    def _temporary(self, table: str) -> Path:
        path = _path(self._directory, table, self._name)
        return path.with_name(f".{path.name}.{os.getpid()}.tmp")
