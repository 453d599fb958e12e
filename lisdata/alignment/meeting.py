"""Which contents meet: how many contents datasets share, by kind, in memory bounded by the keys of one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.converters.table_roles import SCOPE_PREFIX
from lisdata.kernels.arrays import fixed_rows, one_array
from lisdata.kernels.groups import sort_pairs
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset, Part
from lisdata.shards.same_as import SameAs, key_pairs

UInt64 = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]

KEYS_A_PASS = 1 << 23  # about 80 bytes each
MAX_DATASETS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """Contents that all the datasets `members` (numbers) have: how many by kind, and some of them as text.

    `by_table` counts those of them that are keys of tables, by their scope.
    """

    members: tuple[int, ...]
    by_kind: dict[str, int]
    by_table: dict[str, int]
    examples: tuple[str, ...]

    @property
    def count(self) -> int:
        """Contents of all kinds."""
        return sum(self.by_kind.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingReport:
    """Distinct contents by kind of each dataset, and what each two of them share; of three or more also what all do."""

    names: tuple[str, ...]
    contents: tuple[dict[str, int], ...]
    meetings: tuple[Meeting, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            "datasets": [
                {"name": name, "contents": sum(found.values()), "by_kind": found}
                for name, found in zip(self.names, self.contents, strict=True)
            ],
            "meetings": [
                {
                    "datasets": [self.names[member] for member in meeting.members],
                    "contents": meeting.count,
                    "by_kind": meeting.by_kind,
                    "by_table": meeting.by_table,
                    "examples": list(meeting.examples),
                }
                for meeting in self.meetings
            ],
        }


def find_meetings(
    datasets: Sequence[IncidenceDataset],
    *,
    same_as: SameAs | None = None,
    num_examples: int = 3,
    keys_a_pass: int = KEYS_A_PASS,
) -> MeetingReport:
    """Return which contents of the datasets have one key; with `same_as`, which are shown as one.

    The kind is that of the content in the first dataset that has it. Examples are entities as far as there are any.
    """
    if not 2 <= len(datasets) <= MAX_DATASETS:
        raise ValueError(f"expected 2 to {MAX_DATASETS} datasets, got {len(datasets)}")
    pairs = list(combinations(range(len(datasets)), 2))
    wanted = [*pairs, *([tuple(range(len(datasets)))] if len(datasets) > 2 else [])]
    totals: Counter[tuple[int, int]] = Counter()  # (mask of the datasets that have it, kind)
    of_tables: Counter[tuple[int, int]] = Counter()  # (mask, number of the scope)
    scopes: dict[str, int] = {}
    places: dict[tuple[int, ...], list[tuple[int, int, int, int]]] = {members: [] for members in wanted}
    for found in _iter_passes(datasets, same_as, keys_a_pass, scopes):
        totals.update(_counted(found.mask, found.kind))
        of_tables.update(_counted(found.mask, found.scope))
        for members in wanted:
            places[members] = sorted(places[members] + found.examples(_mask(members), num_examples))[:num_examples]
    return MeetingReport(
        names=tuple(str(dataset.path) for dataset in datasets),
        contents=tuple(_by_kind(totals, _mask((number,))) for number in range(len(datasets))),
        meetings=tuple(
            Meeting(
                members=members,
                by_kind=_by_kind(totals, _mask(members)),
                by_table=_by_table(of_tables, _mask(members), scopes),
                examples=tuple(_text(datasets, place) for place in places[members]),
            )
            for members in wanted
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pass:
    """Distinct contents of all datasets: the datasets that have each (a bit each), and its first place.

    `scope` numbers the scopes of tables' keys from 1; it is 0 for all other contents.
    """

    mask: Int64
    kind: Int64
    scope: Int64
    dataset: Int64
    part: Int64
    row: Int64

    def examples(self, mask: int, limit: int) -> list[tuple[int, int, int, int]]:
        at = np.flatnonzero((self.mask & mask) == mask)
        at = at[np.lexsort((self.row[at], self.part[at], self.kind[at]))[:limit]]
        columns = (self.kind[at], self.dataset[at], self.part[at], self.row[at])
        return list(zip(*(column.tolist() for column in columns), strict=True))


def _iter_passes(
    datasets: Sequence[IncidenceDataset], same_as: SameAs | None, keys_a_pass: int, scopes: dict[str, int]
) -> Iterator[_Pass]:
    """Yield a share of all contents at a time, chosen by the bits of the key; number the scopes of tables' keys."""
    num_keys = sum(part.counts["contents"] for dataset in datasets for part in dataset.parts)
    num_passes = max(1, -(-num_keys // keys_a_pass))
    for number in range(num_passes):
        keys: list[UInt64] = [np.empty((0, 2), np.uint64)]
        columns: list[Int64] = [np.empty((5, 0), np.int64)]  # kind, dataset, part, row, scope
        for owner, dataset in enumerate(datasets):
            for index, part in enumerate(dataset.parts):
                table = part.read("contents", ("key", "kind", "scope"))
                found = key_pairs(fixed_rows(one_array(table.column("key")))) if table.num_rows else keys[0]
                found = found if same_as is None else same_as.show(found)
                row = np.flatnonzero(found[:, 1] % np.uint64(num_passes) == number)
                kind = np.asarray(table.column("kind"))[row].astype(np.int64)
                keys.append(found[row])
                scope = _table_scopes(part, table, scopes)[row]
                columns.append(np.stack([kind, np.full(len(row), owner), np.full(len(row), index), row, scope]))
        yield _joined(np.concatenate(keys), np.concatenate(columns, axis=1))


def _table_scopes(part: Part, contents: pa.Table, known: dict[str, int]) -> Int64:
    """Return the number of each content's scope in `known`, which grows, where a table's key has it; else 0."""
    labels = part.read("labels", ("label",)).column("label").to_pylist()
    numbers = [known.setdefault(name, 1 + len(known)) if name.startswith(SCOPE_PREFIX) else 0 for name in labels]
    codes = np.asarray(one_array(contents.column("scope")).fill_null(len(labels))).astype(np.int64)
    return np.array([*numbers, 0], np.int64)[codes]


def _joined(keys: UInt64, columns: Int64) -> _Pass:
    order, is_first = sort_pairs(keys)  # stable: the first dataset that has a key comes first
    columns, first = columns[:, order], np.flatnonzero(is_first)
    kind, dataset, part, row, scope = columns[:, first]
    mask = np.bitwise_or.reduceat(1 << columns[1], first) if len(first) else first
    return _Pass(mask=mask, kind=kind, scope=scope, dataset=dataset, part=part, row=row)


def _mask(members: tuple[int, ...]) -> int:
    return sum(1 << member for member in members)


def _counted(mask: Int64, number: Int64) -> dict[tuple[int, int], int]:
    """Return how often each pair of a mask and a number comes."""
    pairs, counts = np.unique(np.stack([mask, number]), axis=1, return_counts=True)
    return {(m, n): count for m, n, count in zip(*pairs.tolist(), counts.tolist(), strict=True)}


def _by_table(totals: Counter[tuple[int, int]], mask: int, scopes: dict[str, int]) -> dict[str, int]:
    found: Counter[int] = Counter()
    for (owners, number), count in totals.items():
        if owners & mask == mask:
            found[number] += count
    return {name: found[number] for name, number in sorted(scopes.items()) if found[number]}


def _by_kind(totals: Counter[tuple[int, int]], mask: int) -> dict[str, int]:
    found: Counter[int] = Counter()
    for (owners, kind), count in totals.items():
        if owners & mask == mask:
            found[kind] += count
    return {ContentKind(kind).name.lower(): count for kind, count in sorted(found.items())}


def _text(datasets: Sequence[IncidenceDataset], place: tuple[int, int, int, int]) -> str:
    _, dataset, part, row = place
    return datasets[dataset].parts[part].reader.content(row).text
