"""`same_as` tables: which contents are shown as which others, applied when a dataset is loaded or encoded.

They stand beside a dataset's shards (`same_as/part-*.arrow`) or in a folder of their own, are carried by `merge`, and
never change a shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.errors import DamagedShardError
from lisdata.kernels.arrays import fixed_binary, fixed_rows, one_array
from lisdata.kernels.groups import number_pairs
from lisdata.schema import KEY_TYPE, SAME_AS, check_schema
from lisdata.shards.dataset import IncidenceDataset

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
        keys, number = number_pairs(np.concatenate(sides))
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
        at = self.find(pairs)
        return np.where((at >= 0)[:, None], self.canonical[at], pairs) if len(self.keys) else pairs

    def find(self, pairs: UInt64) -> Int64:
        """Return the row of each of these keys (N, 2), -1 where it is not here."""
        if not len(self.keys) or not len(pairs):
            return np.full(len(pairs), -1, np.int64)
        _, number = number_pairs(np.concatenate([self.keys, pairs]))
        row = np.full(int(number.max()) + 1, -1, np.int64)
        row[number[: len(self.keys)]] = np.arange(len(self.keys))
        return row[number[len(self.keys) :]]

    def show_array(self, keys: pa.FixedSizeBinaryArray) -> pa.FixedSizeBinaryArray:
        """Return what contents are shown as, keys in and out as a column of the table `contents`."""
        return fixed_binary(pairs_to_keys(self.show(key_pairs(fixed_rows(keys)))), KEY_TYPE)

    @property
    def num_classes(self) -> int:
        """How many classes of two keys or more there are."""
        _, number = number_pairs(self.canonical)
        return int(np.count_nonzero(np.bincount(number) > 1)) if len(number) else 0


def same_as_rows(pairs: Sequence[tuple[bytes, bytes]], source: str) -> pa.Table:
    """Return a table of the schema SAME_AS: in each pair a key and the key that it is shown as."""
    columns = [[key for key, _ in pairs], [same for _, same in pairs], [source] * len(pairs)]
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, SAME_AS, strict=True)], schema=SAME_AS)


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
