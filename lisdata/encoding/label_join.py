"""Labels joined to contents by key in bounded memory: candidates of each part, sorted, then merged by first byte."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.contents import encode_text, entity
from lisdata.encoding.pieces import Int64
from lisdata.encoding.structure_rows import StructureRows, iter_slices
from lisdata.encoding.surfaces import CHUNK, decode_surface
from lisdata.errors import SchemaError
from lisdata.inputs import find_inputs
from lisdata.kernels.arrays import UInt8, fixed_rows
from lisdata.schema import KEY_TYPE, ContentKind, LabelKind
from lisdata.shards import IncidenceDataset, Part
from lisdata.vocabulary import role_codes

_FORM = pa.schema([("key", KEY_TYPE), ("rank", pa.int32()), ("label", pa.large_binary())])
_NOT_LABELS = (
    ContentKind.ENTITY,
    ContentKind.BNODE,
    ContentKind.INSTANCE,
    ContentKind.NULL,
    ContentKind.SOMEVALUE,
    ContentKind.NOVALUE,
)
_COMPRESSED = re.compile(r"\.(gz|bz2|xz|zst)$")
ANY_LANGUAGE = "*"


class LabelTable:
    """The joined labels in a file, memory-mapped: batch b holds the keys that begin with byte b, ascending."""

    def __init__(self, path: Path) -> None:
        self._reader = pa.ipc.open_file(pa.memory_map(str(path)))

    def find(self, keys: UInt8) -> dict[int, str]:
        """Return row -> label of the keys (N, 16) that have one."""
        found: dict[int, str] = {}
        for byte in np.unique(keys[:, 0]).tolist():
            batch = self._reader.get_batch(byte)
            if not batch.num_rows:
                continue
            rows = np.flatnonzero(keys[:, 0] == byte)
            known, wanted = _sortable(fixed_rows(batch.column("key"))), _sortable(keys[rows])
            place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            hits = np.flatnonzero(known[place] == wanted)
            labels = batch.column("label").take(pa.array(place[hits])).to_pylist()
            found |= zip(rows[hits].tolist(), map(decode_surface, labels), strict=True)
        return found


def join_dataset_labels(
    dataset: IncidenceDataset, roles: Sequence[tuple[str, str]], languages: Sequence[str], folder: Path
) -> Path:
    """Write the labels that a dataset holds to a file in `folder`; return its path.

    `roles` are pairs: in an instance that has both, the participant in the second is a label of that in the first. Of
    several labels of one content that whose language comes first in `languages` counts, then the first one.
    """
    return _join((_candidates_of_part(part, roles, languages) for part in dataset.parts), folder)


def join_file_labels(path: str, folder: Path) -> Path:
    """Write the labels of a table of two columns, key (the exact name of an entity) and label; return the file's path.

    The first row of a key counts. A `.csv` file has quotes; any other is cut at tabs only. A first row `key, label` is
    a heading.
    """
    rows = _iter_table(path)
    chunks = iter(lambda: list(islice(rows, CHUNK)), [])
    return _join(map(_candidates_of_rows, chunks), folder)


def language_rank(language: str | None, preferences: Sequence[str]) -> int | None:
    """Return how far down the preferences a language stands (exact ones before its regions), None when it does not."""
    for rank, wanted in enumerate(preferences):
        if wanted == ANY_LANGUAGE:
            return 2 * rank
        if language is None or not wanted:
            if not wanted and language is None:
                return 2 * rank
        elif language.lower() == wanted.lower():
            return 2 * rank
        elif language.lower().startswith(f"{wanted.lower()}-"):
            return 2 * rank + 1
    return None


# -- candidates ------------------------------------------------------------------------------------------------------


def _candidates_of_part(part: Part, roles: Sequence[tuple[str, str]], languages: Sequence[str]) -> pa.Table:
    codes = {label: code for code, label in role_codes(part).items()}
    wanted = [(codes[named], codes[label]) for named, label in roles if named in codes and label in codes]
    if not wanted:
        return _FORM.empty_table()
    slices = iter_slices(part, ("tau", "instance_label", "incidence", "sigma"))
    pairs = [_pairs(rows, named, label) for rows in slices for named, label in wanted]
    none = np.zeros(0, np.int64)
    subjects = np.concatenate([none, *(named for named, _ in pairs)])
    labels = np.concatenate([none, *(label for _, label in pairs)])
    ranks = _ranks(part, languages)[labels]
    kept = np.flatnonzero(ranks >= 0)
    contents = part.contents
    columns = [
        contents.column("key").take(pa.array(subjects[kept])).combine_chunks(),
        pa.array(ranks[kept].astype(np.int32)),
        contents.column("lexical").take(pa.array(labels[kept])).combine_chunks(),
    ]
    return _best(pa.Table.from_arrays(columns, schema=_FORM))


def _pairs(rows: StructureRows, named: int, label: int) -> tuple[Int64, Int64]:
    """Return (content named, content that labels it) of each label in an instance that has both roles."""
    named_in = np.full(rows.instance_offsets[-1], -1, np.int64)
    contents = rows.tau[rows.incidence_occurrence]
    is_named, is_label = rows.sigma == named, rows.sigma == label
    named_in[rows.incidence_instance[is_named][::-1]] = contents[is_named][::-1]  # the first one stays
    subjects, labels = named_in[rows.incidence_instance[is_label]], contents[is_label]
    return subjects[subjects >= 0], labels[subjects >= 0]


def _ranks(part: Part, languages: Sequence[str]) -> Int64:
    """Return the rank of each content as a label, -1 where it is none."""
    kinds, names = part.labels.column("kind").to_pylist(), part.labels.column("label").to_pylist()
    by_code = [
        language_rank(name if kind == LabelKind.LANGUAGE else None, languages)
        for kind, name in zip(kinds, names, strict=True)
    ]
    untagged = language_rank(None, languages)
    # one more row than there are labels: the rank of contents without a language
    ranks = np.array([-1 if rank is None else rank for rank in (*by_code, untagged)], np.int64)
    codes = np.asarray(pc.fill_null(part.contents.column("language"), len(by_code))).astype(np.int64)
    is_text = ~np.isin(np.asarray(part.contents.column("kind")), _NOT_LABELS)
    return np.where(is_text, ranks[codes], -1)


def _iter_table(path: str) -> Iterator[tuple[str, str]]:
    file = find_inputs([path], suffixes=("",))[0]
    number = 0
    with io.TextIOWrapper(file.open(), encoding="utf-8-sig", newline="") as stream:
        try:
            for number, cells in enumerate(_iter_cells(stream, file.name), 1):
                if len(cells) != 2:
                    raise SchemaError(
                        f"{file.name}: row {number}: expected two cells, key and label, found {len(cells)}"
                    )
                if number > 1 or cells != ["key", "label"]:
                    yield cells[0], cells[1]
        except (UnicodeDecodeError, csv.Error) as error:
            raise SchemaError(f"{file.name}: row {number + 1}: expected UTF-8 text in cells, found {error}") from error


def _iter_cells(stream: io.TextIOWrapper, name: str) -> Iterator[list[str]]:
    if _COMPRESSED.sub("", name.lower()).endswith(".csv"):
        yield from csv.reader(stream, strict=True)
        return
    for line in stream:
        yield line.rstrip("\r\n").split("\t")


def _candidates_of_rows(rows: list[tuple[str, str]]) -> pa.Table:
    keys = pa.array([entity(name).key for name, _ in rows], KEY_TYPE)
    labels = pa.array([encode_text(label) for _, label in rows], pa.large_binary())
    return _best(pa.Table.from_arrays([keys, pa.array(np.zeros(len(rows), np.int32)), labels], schema=_FORM))


# -- merge -----------------------------------------------------------------------------------------------------------


def _sortable(keys: UInt8) -> npt.NDArray[np.bytes_]:
    """Return keys (N, 16) as values that compare byte by byte."""
    return np.ascontiguousarray(keys).view("S16").reshape(-1)


def _best(table: pa.Table) -> pa.Table:
    """Return the rows by key, of each key the one of least rank and then the first."""
    if not table.num_rows:
        return table
    keys = _sortable(fixed_rows(table.column("key").combine_chunks()))
    order = np.lexsort((np.arange(len(keys)), np.asarray(table.column("rank")), keys))
    ordered = keys[order]
    is_first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    return table.take(pa.array(order[is_first])).combine_chunks()


@dataclass(frozen=True, slots=True)
class _SortedFile:
    """Candidates on disk, ascending by key, and where the keys of each first byte begin."""

    table: pa.Table
    bounds: Int64

    @classmethod
    def write(cls, table: pa.Table, path: Path) -> _SortedFile:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, _FORM) as writer:
            writer.write_table(table)
        mapped = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        first = fixed_rows(table.column("key").combine_chunks())[:, 0]
        return cls(mapped, np.searchsorted(first, np.arange(257)))

    def of_byte(self, byte: int) -> pa.Table:
        return self.table.slice(self.bounds[byte], self.bounds[byte + 1] - self.bounds[byte])


def _join(tables: Iterable[pa.Table], folder: Path) -> Path:
    """Write each table of candidates to a file, and from these one file with a batch for each first byte of a key."""
    files = [_SortedFile.write(t, folder / f"candidates-{n:05d}.arrow") for n, t in enumerate(tables) if t.num_rows]
    path = folder / "labels.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, _FORM) as writer:
        for byte in range(256):
            rows = _best(pa.concat_tables([_FORM.empty_table(), *(f.of_byte(byte) for f in files)]))
            writer.write_batch(rows.combine_chunks().to_batches()[0] if rows.num_rows else _empty_batch())
    return path


def _empty_batch() -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in _FORM], schema=_FORM)
