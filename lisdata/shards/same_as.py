"""`same_as` tables: which contents are shown as which others, applied when a dataset is loaded or encoded.

They stand beside a dataset's shards (`same_as/part-*.arrow`) or in a folder of their own, are carried by `merge`, and
never change a shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.contents import Content
from lisdata.errors import DamagedShardError
from lisdata.kernels.arrays import fixed_binary, fixed_rows, one_array
from lisdata.schema import KEY_TYPE, SAME_AS, check_schema
from lisdata.shards.dataset import IncidenceDataset
from lisdata.structure import Instance, Occurrence, Structure

UInt8 = npt.NDArray[np.uint8]
UInt64 = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]

FOLDER = "same_as"


def same_as_names(names: Iterable[str]) -> list[str]:
    """Return the files of a manifest that are tables of this kind, in order."""
    return sorted(name for name in names if name.startswith(f"{FOLDER}/"))


def read_table(path: Path) -> pa.Table:
    """Return the table in a file; DamagedShardError where it is not readable, SchemaError where it is another."""
    try:
        with pa.memory_map(str(path)) as mapped:
            table = pa.ipc.open_file(mapped).read_all()
    except (pa.ArrowException, OSError) as error:
        raise DamagedShardError(f"{path}: expected an Arrow file with its footer, found {error}") from error
    check_schema(table.schema, SAME_AS, str(path))
    return table


def same_as_table(dataset: IncidenceDataset) -> pa.Table:
    """Return all rows that stand beside a dataset; none where there is no such table."""
    names = same_as_names(dataset.manifest["files"])
    return pa.concat_tables([SAME_AS.empty_table(), *(read_table(dataset.path / name) for name in names)])


def key_pairs(keys: UInt8) -> UInt64:
    """Return keys (N, 16) as pairs of numbers (N, 2), whose order is that of the bytes."""
    return np.ascontiguousarray(keys).view(">u8").reshape(-1, 2).astype(np.uint64)


def pairs_to_keys(pairs: UInt64) -> UInt8:
    """Undo `key_pairs`."""
    return np.ascontiguousarray(pairs.astype(">u8")).view(np.uint8).reshape(-1, 16)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SameAs:
    """The closure of `same_as` rows: the key keys[n] (ascending) is shown as canonical[n]; any other key as itself.

    Keys that rows join, directly or not, are one class. It is shown as its smallest key among those that no row says
    are shown as another; as its smallest key where there is none (a row each way).
    """

    keys: UInt64
    canonical: UInt64

    @classmethod
    def of_table(cls, table: pa.Table) -> SameAs:
        """Close rows of the schema SAME_AS under union; memory grows with the rows."""
        sides = [key_pairs(fixed_rows(one_array(table.column(name)))) for name in ("key", "same")]
        keys, number = _distinct(np.concatenate(sides))
        left, right = number[: table.num_rows], number[table.num_rows :]
        group = _components(left, right, len(keys))
        is_shown_otherwise = np.zeros(len(keys), bool)
        is_shown_otherwise[left[left != right]] = True
        order = np.lexsort((np.arange(len(keys)), is_shown_otherwise, group))
        first = order[np.flatnonzero(np.diff(group[order], prepend=-1))]
        chosen = np.zeros(len(keys), np.int64)
        chosen[group[first]] = first
        return cls(keys=keys, canonical=keys[chosen[group]])

    @classmethod
    def of_rows(cls, tables: Iterable[pa.Table]) -> SameAs:
        """Close the rows of several tables."""
        return cls.of_table(pa.concat_tables([SAME_AS.empty_table(), *tables]))

    @classmethod
    def of_dataset(cls, dataset: IncidenceDataset) -> SameAs:
        """Close the rows that stand beside a dataset."""
        return cls.of_table(same_as_table(dataset))

    def __len__(self) -> int:
        return len(self.keys)

    def show(self, pairs: UInt64) -> UInt64:
        """Return what contents are shown as, keys in and out as `key_pairs` gives them (N, 2)."""
        if not len(self.keys) or not len(pairs):
            return pairs
        _, number = _distinct(np.concatenate([self.keys, pairs]))
        row = np.full(int(number.max()) + 1, -1, np.int64)
        row[number[: len(self.keys)]] = np.arange(len(self.keys))
        at = row[number[len(self.keys) :]]
        return np.where((at >= 0)[:, None], self.canonical[at], pairs)

    def show_array(self, keys: pa.FixedSizeBinaryArray) -> pa.FixedSizeBinaryArray:
        """Return what contents are shown as, keys in and out as a column of the table `contents`."""
        return fixed_binary(pairs_to_keys(self.show(key_pairs(fixed_rows(keys)))), KEY_TYPE)

    @property
    def num_classes(self) -> int:
        """How many classes of two keys or more there are."""
        _, number = _distinct(self.canonical)
        return int(np.count_nonzero(np.bincount(number) > 1)) if len(number) else 0


class ShownContents:
    """Structures as `same_as` rows show them: contents of one class are one content.

    A class whose canonical content is in no part of the dataset stays as it is written.
    """

    def __init__(self, dataset: IncidenceDataset, same_as: SameAs | None = None) -> None:
        self._same_as = SameAs.of_dataset(dataset) if same_as is None else same_as
        self._by_key = self._find_canonical(dataset)

    def content(self, content: Content) -> Content:
        """Return what a content is shown as."""
        key = np.frombuffer(content.key, np.uint8).reshape(1, 16)
        return self._by_key.get(pairs_to_keys(self._same_as.show(key_pairs(key))).tobytes(), content)

    def structure(self, structure: Structure) -> Structure:
        """Return a structure with each content and handle as it is shown."""
        occurrences: list[Occurrence] = [replace(o, content=self.content(o.content)) for o in structure.occurrences]
        instances: list[Instance] = [
            e if e.handle is None else replace(e, handle=self.content(e.handle)) for e in structure.instances
        ]
        return replace(structure, occurrences=tuple(occurrences), instances=tuple(instances))

    def _find_canonical(self, dataset: IncidenceDataset) -> dict[bytes, Content]:
        wanted = pa.array(sorted({key.tobytes() for key in pairs_to_keys(self._same_as.canonical)}), KEY_TYPE)
        found: dict[bytes, Content] = {}
        for part in dataset.parts if len(wanted) else ():
            keys = part.contents.column("key")
            for row in np.flatnonzero(np.asarray(pc.is_in(keys, wanted))).tolist():
                found.setdefault(keys[row].as_py(), part.reader.content(row))
            part.release()
        return found


def same_as_rows(pairs: Sequence[tuple[bytes, bytes]], source: str) -> pa.Table:
    """Return a table of the schema SAME_AS: in each pair a key and the key that it is shown as."""
    columns = [[key for key, _ in pairs], [same for _, same in pairs], [source] * len(pairs)]
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, SAME_AS, strict=True)], schema=SAME_AS)


def _distinct(pairs: UInt64) -> tuple[UInt64, Int64]:
    """Return the distinct keys ascending, and which of them each key is."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    ordered = pairs[order]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(is_first) - 1
    return ordered[is_first], number


def _components(left: Int64, right: Int64, size: int) -> Int64:
    """Return for each of `size` nodes the smallest node that edges left[i] - right[i] join it with."""
    parent = np.arange(size)
    while True:
        a, b = parent[left], parent[right]
        is_open = np.flatnonzero(a != b)
        if not len(is_open):
            return parent
        low, high = np.minimum(a, b)[is_open], np.maximum(a, b)[is_open]
        np.minimum.at(parent, high, low)  # all of them roots: each hooks to a smaller one
        while not np.array_equal(above := parent[parent], parent):
            parent = above
