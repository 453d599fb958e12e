"""Shares of a dataset by a stable hash: samples, and splits of which no two share a record, a file or an entity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import xxhash

from lisdata.alignment.facts import finalised
from lisdata.kernels.arrays import fixed_rows, one_array
from lisdata.runs import JsonDict, OnProgress
from lisdata.schema import ContentKind
from lisdata.selection.selecting import Choice, select
from lisdata.selection.taking import Bools
from lisdata.shards import IncidenceDataset, Part
from lisdata.shards.companions import file_numbers, find_companions

UInt64 = npt.NDArray[np.uint64]
By = Literal["record", "input", "content"]
SHARED_KINDS = ("entity", "bnode", "instance")
"""What structures of two shares do not have in common, by default, where shares are made by content."""

_END = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class HashShare:
    """Takes the structures whose hash lies in [begin, end) of the 2^64 that there are.

    By "record" a structure is hashed by its record id, by "input" by the scope of its input (so that all structures of
    a file go together). By "content" each content of `kinds` is hashed by its key, and a structure is taken when all
    that it shows lie in the share: two shares then have none of them in common, and what shows contents of both is in
    neither. One that shows none goes by its record id. `seed` makes another, independent, order.
    """

    begin: int
    end: int
    by: By = "record"
    seed: int = 0
    kinds: tuple[str, ...] = SHARED_KINDS

    def __post_init__(self) -> None:
        if self.by not in get_args(By):
            raise ValueError(f"expected shares by one of {', '.join(get_args(By))}, got {self.by!r}")
        known = [kind.name.lower() for kind in ContentKind]
        for kind in self.kinds:
            if kind not in known:
                raise ValueError(f"expected kinds of content among {', '.join(known)}, got {kind!r}")

    def to_json(self) -> JsonDict:
        """See `Choice`."""
        return {"share": asdict(self) | {"begin": str(self.begin), "end": str(self.end), "kinds": list(self.kinds)}}

    def is_taken(self, dataset: IncidenceDataset, part: Part) -> Bools:
        """See `Choice`."""
        if self.by == "input" and part.inputs:  # what was made in memory has none, and goes by record
            refuse_sorted(dataset)
            scopes = [entry.scope for entry in dataset.inputs]
            in_share = self._holds(hash_texts(scopes, self.seed))
            return in_share[file_numbers(part)]
        found = [
            self._of_records(batch.column("record_id")) for batch in part.iter_batches("structures", ("record_id",))
        ]
        by_record = np.concatenate(found or [_NONE])
        return self._of_contents(part, by_record) if self.by == "content" else by_record

    def _holds(self, hashes: UInt64) -> Bools:
        if self.end >= _END:
            return hashes >= np.uint64(self.begin)
        return (hashes >= np.uint64(self.begin)) & (hashes < np.uint64(self.end))

    def _of_records(self, record_ids: Any) -> Bools:
        return self._holds(hash_texts(record_ids.to_pylist(), self.seed))

    def _of_contents(self, part: Part, by_record: Bools) -> Bools:
        """Return which structures show no content outside the share; those that show none of `kinds` go by record."""
        matters, outside = self._contents_outside(part)
        taken, first = by_record.copy(), 0
        for batch in part.iter_batches("structures", ("tau", "instance_handle")):
            here = slice(first, first + batch.num_rows)
            first += batch.num_rows
            shows = np.stack([_any_in_row(batch.column(n), f) for n in batch.schema.names for f in (matters, outside)])
            has, leaves = shows[0] | shows[2], shows[1] | shows[3]
            taken[here] = np.where(has, ~leaves, by_record[here])
        return taken

    def _contents_outside(self, part: Part) -> tuple[Bools, Bools]:
        """Return which contents are of `kinds`, and which of these lie outside the share."""
        kinds = [ContentKind[kind.upper()] for kind in self.kinds]
        table = part.contents
        matters = np.isin(np.asarray(one_array(table.column("kind"))), kinds)
        salt = np.uint64(xxhash.xxh3_64_intdigest(b"content", seed=self.seed % _END))
        keys = fixed_rows(one_array(table.column("key"))).copy().view("<u8").reshape(-1, 2)
        return matters, matters & ~self._holds(finalised(keys[:, 0] ^ salt))


_NONE: Bools = np.zeros(0, np.bool_)


def refuse_sorted(dataset: IncidenceDataset) -> None:
    """Raise ValueError where structures hold facts of several inputs."""
    if any("sorted" in origin for origin in dataset.manifest["origins"]):
        raise ValueError(f"{dataset.path} is sorted: its structures hold facts of several inputs, so none is whole")


def hash_texts(texts: list[str], seed: int) -> UInt64:
    """Return a hash of each text, the same on every machine."""
    digest, seed = xxhash.xxh3_64_intdigest, seed % _END
    return np.array([digest(text.encode(), seed=seed) for text in texts], np.uint64)


def _any_in_row(column: Any, is_marked: Bools) -> Bools:
    """Return for each row of a list column of content numbers whether it has a marked one."""
    sizes = np.asarray(column.value_lengths().fill_null(0))
    values = column.flatten()
    marked = np.append(is_marked, False)[np.asarray(values.fill_null(len(is_marked))).astype(np.int64)]
    row = np.repeat(np.arange(len(column)), sizes)
    return np.bincount(row[marked], minlength=len(column)) > 0


# -- samples and splits ----------------------------------------------------------------------------------------------


def sample(
    dataset: str | Path,
    to: str | Path,
    *,
    fraction: float | None = None,
    num_structures: int | None = None,
    by: By = "record",
    seed: int = 0,
    compression: str = "zstd",
    workers: int = 1,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
) -> JsonDict:
    """Write a random share of the structures, in their order, as a dataset at `to`; return its manifest's body.

    Give `fraction` (each structure, or input, or content, is taken with that probability) or `num_structures`, by
    record only; what tells how an input was written comes with what is taken of it, and does not count. The choice
    depends on record ids (scopes, keys) and seed alone. Raises ValueError for wrong numbers.
    """
    source = IncidenceDataset(dataset)
    choice = sample_choice(source, fraction=fraction, num_structures=num_structures, by=by, seed=seed)
    return select(
        source, Path(to), choice, compression=compression, workers=workers, fresh=fresh, on_progress=on_progress
    )


def sample_choice(
    dataset: IncidenceDataset, *, fraction: float | None, num_structures: int | None, by: By = "record", seed: int = 0
) -> HashShare:
    """Return the share that `sample` takes."""
    if (fraction is None) == (num_structures is None):
        raise ValueError("expected either a fraction or a number of structures")
    if num_structures is not None:
        if by != "record":
            raise ValueError(f"a number of structures is chosen by record, not by {by}")
        return HashShare(begin=0, end=_end_of_smallest(dataset, num_structures, seed), seed=seed)
    assert fraction is not None
    if not 0 < fraction <= 1:
        raise ValueError(f"expected a fraction above 0, of 1 at most, got {fraction}")
    return HashShare(begin=0, end=round(fraction * _END), by=by, seed=seed)


def _end_of_smallest(dataset: IncidenceDataset, count: int, seed: int) -> int:
    """Return the end of the share that holds `count` structures: 8 bytes a structure are held."""
    if not 1 <= count <= len(dataset):
        raise ValueError(f"expected 1 to {len(dataset):,} structures, as many as there are, got {count:,}")
    hashes = []
    for part in dataset.parts:
        ids = [batch.column("record_id") for batch in part.iter_batches("structures", ("record_id",))]
        found = [hash_texts(some.to_pylist(), seed) for some in ids]
        hashes.append(np.concatenate([np.zeros(0, np.uint64), *found])[~find_companions(dataset, part)])
    of_records = np.concatenate(hashes)
    if len(of_records) <= count:
        return _END
    return int(np.partition(of_records, count - 1)[count - 1]) + 1


def split(
    dataset: str | Path,
    to: str | Path,
    shares: Mapping[str, float],
    *,
    by: By = "record",
    kinds: tuple[str, ...] = SHARED_KINDS,
    seed: int = 0,
    compression: str = "zstd",
    workers: int = 1,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
) -> dict[str, JsonDict]:
    """Write a dataset at `to`/NAME for each share and return their manifests' bodies.

    `shares` are names and weights, {"train": 0.9, "test": 0.1}; weights that sum to less than 1 leave the rest out,
    others are taken in proportion. See `HashShare` for `by` and `kinds`: shares by "content" have none of these kinds
    of content in common, which leaves out each structure that shows contents of two. Files that are added to the source
    later move no record of the others to another share; a file that changes is another one.
    """
    source = IncidenceDataset(dataset)
    choices = split_choices(shares, by=by, kinds=kinds, seed=seed)
    return {
        name: select(
            source,
            Path(to) / name,
            choice,
            compression=compression,
            workers=workers,
            fresh=fresh,
            on_progress=on_progress,
        )
        for name, choice in choices.items()
    }


def split_choices(
    shares: Mapping[str, float], *, by: By = "record", kinds: tuple[str, ...] = SHARED_KINDS, seed: int = 0
) -> dict[str, HashShare]:
    """Return the share of each name; ValueError for names that are no folder's, or wrong weights."""
    if not shares:
        raise ValueError("expected at least one share, NAME=WEIGHT")
    for name, weight in shares.items():
        if not name or name != Path(name).name or name.startswith(".") or not name.isprintable():
            raise ValueError(f"expected the name of a folder, got {name!r}")
        if not 0 < weight < float("inf"):
            raise ValueError(f"share {name}: expected a weight above 0, got {weight}")
    total = max(1.0, sum(shares.values()))
    if total == float("inf"):
        raise ValueError(f"expected weights that have a sum, got {', '.join(map(str, shares.values()))}")
    ends = np.cumsum(list(shares.values())) / total
    whole = abs(ends[-1] - 1) < 1e-9
    bounds = [0, *(round(float(end) * _END) for end in ends[:-1]), _END if whole else round(float(ends[-1]) * _END)]
    return {
        name: HashShare(begin=begin, end=end, by=by, seed=seed, kinds=kinds)
        for name, begin, end in zip(shares, bounds[:-1], bounds[1:], strict=True)
    }


def count_left_out(dataset: IncidenceDataset, choices: Mapping[str, Choice]) -> dict[str, int]:
    """Return how many structures each share would have, and how many ("") are in none.

    What tells how an input was written is not counted: it goes with each share of the input.
    """
    counts = dict.fromkeys([*choices, ""], 0)
    for part in dataset.parts:
        left_out = is_record = ~find_companions(dataset, part)
        for name, choice in choices.items():
            is_taken = choice.is_taken(dataset, part) & is_record
            counts[name] += int(np.count_nonzero(is_taken))
            left_out = left_out & ~is_taken
        counts[""] += int(np.count_nonzero(left_out))
        part.release()
    return counts
