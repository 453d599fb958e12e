"""Inputs that merged shares of one dataset have in common: each as one input again, its records in order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.kernels.arrays import one_array
from lisdata.paths import StrPath
from lisdata.shards.companions import find_companions, find_headers
from lisdata.shards.dataset import IncidenceDataset, InputInfo, Part

Int64 = npt.NDArray[np.int64]
_NUMBERS = re.compile(r"#([0-9]{1,18})(?:\.([0-9]{1,18}))?$", re.ASCII)  # at the end of a record id
_NO_PLACES: Int64 = np.empty((0, 3), np.int64)
_Piece = tuple[int, Int64]
"""A part by its number, and rows of it."""


def join_inputs(dataset: IncidenceDataset) -> IncidenceDataset:
    """Return the dataset, or where several of its inputs are shares of one a view in which they are one."""
    joined = JoinedDataset(dataset.path)
    return joined if len(joined.inputs) < len(dataset.inputs) else dataset


class JoinedDataset(IncidenceDataset):
    """A merged dataset whose inputs of one scope, read in one way, are one: the first of them.

    What tells how the input was written, which each share has, is there once. Records come in the order of the source,
    or where a share has them in another, share after share.
    """

    def __init__(self, path: StrPath) -> None:
        super().__init__(path, verify="none")
        self._apart = IncidenceDataset(path, verify="none")
        groups: dict[tuple[str, ...], list[InputInfo]] = {}
        for info in self.inputs:
            groups.setdefault(self._likeness(info), []).append(info)
        self._members = {infos[0].index: [info.index for info in infos] for infos in groups.values()}
        self.inputs = tuple(
            replace(infos[0], records={name: sum(info.records[name] for info in infos) for name in infos[0].records})
            for infos in groups.values()
        )

    def _likeness(self, info: InputInfo) -> tuple[str, ...]:
        """Return what inputs have in common that are one; of a sorted dataset, whose facts stand anywhere, none are."""
        origin = self.manifest["origins"][self.manifest["inputs"][info.index]["origin"]]
        apart = (str(info.index),) if "sorted" in origin else ()
        return info.scope, info.name, info.source, repr(sorted(info.options.items())), *apart

    def find_repeats(self, part: Part) -> npt.NDArray[np.bool_]:
        """Return which structures of a part tell how an input of several shares, or blocks, was written."""
        is_shared = any(len(members) > 1 for members in self._members.values())
        return find_companions(self._apart, part) if is_shared else find_headers(self._apart, part)

    def first_members(self, numbers: Int64) -> Int64:
        """Return for inputs by number (-1 for none) the number of the one that each counts as."""
        first = np.full(len(self.manifest["inputs"]) + 1, -1, np.int64)
        for number, members in self._members.items():
            first[members] = number
        return first[numbers]

    def is_shared(self, file_index: int) -> bool:
        """Tell whether records of an input lie in several shares."""
        return len(self._members.get(file_index, [])) > 1

    def iter_share_rows(self, file_index: int) -> Iterator[tuple[Part, Int64]]:
        """Yield all that `iter_part_rows` does, but a part at a time: share after share."""
        has_companions = True
        for member in self._members.get(file_index, []):
            pieces = list(self._pieces(member, with_companions=has_companions))
            has_companions = has_companions and not pieces
            for number, rows in pieces:
                yield self.parts[number], rows
                self.parts[number].release()

    def iter_part_rows(self, file_index: int | None = None) -> Iterator[tuple[Part, Int64]]:
        """See `IncidenceDataset`; parts of several shares are held at once, each until its last row."""
        members = [] if file_index is None else self._members.get(file_index, [])
        if len(members) < 2:
            yield from super().iter_part_rows(file_index)
            return
        numbers, rows = self._in_order(members)
        if not len(rows):
            return
        bounds = np.flatnonzero(np.diff(numbers, prepend=-1))
        last = {int(numbers[begin]): begin for begin in bounds.tolist()}
        for begin, end in zip(bounds.tolist(), [*bounds[1:].tolist(), len(rows)], strict=True):
            part = self.parts[int(numbers[begin])]
            yield part, rows[begin:end]
            if last[int(numbers[begin])] == begin:
                part.release()

    def _in_order(self, members: list[int]) -> tuple[Int64, Int64]:
        """Return the part and the row of each structure of an input."""
        pieces: list[_Piece] = []
        keys: list[Int64] = [_NO_PLACES]
        is_sorted, has_first = True, False
        for member in members:
            found = list(self._pieces(member, with_companions=not has_first))
            has_first = has_first or bool(found)
            own = np.concatenate([_NO_PLACES, *(_places(self.parts[n], rows) for n, rows in found)])
            begins = own[:, 0]
            is_sorted = is_sorted and bool((begins[1:] >= begins[:-1]).all())
            pieces.extend(found)
            keys.append(own)
        numbers = np.concatenate([np.full(len(rows), number) for number, rows in pieces] or [np.empty(0, np.int64)])
        rows = np.concatenate([rows for _, rows in pieces] or [np.empty(0, np.int64)])
        if not is_sorted:
            return numbers, rows
        places = np.concatenate(keys)
        order = np.lexsort(places.T[::-1])
        return numbers[order], rows[order]

    def _pieces(self, member: int, *, with_companions: bool) -> Iterator[_Piece]:
        for number, part in enumerate(self.parts):
            rows = part.rows_of(member) if member in part.inputs else np.empty(0, np.int64)
            if len(rows) and not with_companions:
                rows = rows[~find_companions(self._apart, part)[rows]]
            if len(rows):
                yield number, rows


def _places(part: Part, rows: Int64) -> Int64:
    """Return where each row's record begins in its input, and its two numbers among those of one begin (N, 3)."""
    table = part.read("structures", ("record_id", "source"))
    begins = np.asarray(one_array(table.column("source")).field("begin")).astype(np.int64)[rows]
    ids = one_array(table.column("record_id")).take(pa.array(rows)).to_pylist()
    numbers = [[int(n) for n in found.groups("0")] if (found := _NUMBERS.search(i)) else [0, 0] for i in ids]
    return np.column_stack([begins, np.array(numbers, np.int64).reshape(-1, 2)])
