"""Datasets without repeats: of structures that say the same (or nearly), the first is kept.

Digests of all structures lie in a file of scratch, and are looked at a share at a time, chosen by their bits.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from lisdata.atomic import write_atomically
from lisdata.locks import hold_lock
from lisdata.runs import JsonDict, OnProgress
from lisdata.selection.fingerprints import (
    NUM_BANDS,
    NUM_HASHES,
    band_digests,
    fact_digests,
    text_digests,
    text_signatures,
    with_whole_inputs,
)
from lisdata.selection.selecting import check_target, select
from lisdata.selection.taking import Bools
from lisdata.shards import IncidenceDataset, Part
from lisdata.shards.companions import find_companions
from lisdata.shards.manifest import MANIFEST, file_entry

Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]
By = Literal["facts", "text", "similar-text"]

SCRATCH = ".duplicates"
SIMILARITY = 0.8
DIGESTS_A_PASS = 1 << 24  # about 50 bytes each
_MOST_COMPARED = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstOfEach:
    """Takes the structures that repeat none before them, as an earlier pass wrote down in `scratch`."""

    by: By
    similarity: float | None
    scratch: Path

    def to_json(self) -> JsonDict:
        """See `Choice`."""
        return {"first of each": {"by": self.by, "similarity": self.similarity}}

    def is_taken(self, dataset: IncidenceDataset, part: Part) -> Bools:
        """See `Choice`."""
        first = sum(p.counts["structures"] for p in dataset.parts[: dataset.parts.index(part)])
        is_first = np.memmap(self.scratch / "first", np.bool_, "r") if len(dataset) else np.zeros(0, np.bool_)
        return np.array(is_first[first : first + part.counts["structures"]])


def deduplicate(
    dataset: str | Path,
    to: str | Path,
    *,
    by: By = "facts",
    similarity: float = SIMILARITY,
    compression: str = "zstd",
    workers: int = 1,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
) -> JsonDict:
    """Write the structures that repeat none before them as a dataset at `to`; return its manifest's body.

    What makes a repeat: by "facts" the same kind, document (or tensor) and multiset of facts; by "text" the same
    document; by "similar-text" a document of which at least `similarity` of the 5-word shingles are the same, about, as
    MinHash estimates it, or a chain of such. Structures without a document are compared by their facts ("text"), or
    all kept ("similar-text"). Raises ValueError for wrong settings.
    """
    source, target = IncidenceDataset(dataset), Path(to).absolute()
    _check(by, similarity)
    check_target(source.path, target)
    choice = _write_choice(source, target, by, similarity, fresh)
    body = select(
        source, target, choice, compression=compression, workers=workers, fresh=fresh, on_progress=on_progress
    )
    shutil.rmtree(choice.scratch, ignore_errors=True)
    return body


def count_firsts(dataset: str | Path, *, by: By = "facts", similarity: float = SIMILARITY) -> tuple[int, int]:
    """Return how many structures `deduplicate` would keep, and how many there are; see `count_taken`."""
    _check(by, similarity)
    source = IncidenceDataset(dataset)
    with TemporaryDirectory() as scratch:
        is_first = _find_firsts(source, by, similarity, Path(scratch))
    is_record = np.concatenate([np.zeros(0, np.bool_), *(~find_companions(source, part) for part in source.parts)])
    return int(np.count_nonzero(is_first & is_record)), int(np.count_nonzero(is_record))


def _check(by: str, similarity: float) -> None:
    if by not in get_args(By):
        raise ValueError(f"expected repeats by one of {', '.join(get_args(By))}, got {by!r}")
    if not 0 < similarity <= 1:
        raise ValueError(f"expected a similarity above 0, of 1 at most, got {similarity}")


def _write_choice(dataset: IncidenceDataset, target: Path, by: By, similarity: float, fresh: bool) -> FirstOfEach:
    """Return the choice, its scratch (beside `target`) written unless it is there from before."""
    scratch = target.with_name(f".{target.name}{SCRATCH}")
    choice = FirstOfEach(by=by, similarity=similarity if by == "similar-text" else None, scratch=scratch)
    if (target / MANIFEST).exists() and not fresh:
        return choice
    with hold_lock(scratch, "another run"):
        mark = f"{file_entry(dataset.path / MANIFEST)['sha256']} {choice.to_json()}".encode()
        if not (scratch / "of").exists() or (scratch / "of").read_bytes() != mark:
            (scratch / "of").unlink(missing_ok=True)
            write_atomically(scratch / "first", _find_firsts(dataset, by, similarity, scratch).tobytes())
            write_atomically(scratch / "of", mark)
    return choice


def _find_firsts(dataset: IncidenceDataset, by: By, similarity: float, scratch: Path) -> Bools:
    return _firsts_of_similar(dataset, similarity) if by == "similar-text" else _firsts(dataset, by, scratch)


def _firsts(dataset: IncidenceDataset, by: By, scratch: Path) -> Bools:
    """Return which structures repeat none before them."""
    path = scratch / "digests"
    with path.open("wb") as stream:
        for part in dataset.parts:
            digests = (text_digests if by == "text" else fact_digests)(part)
            stream.write(with_whole_inputs(dataset, part, digests).tobytes())
            part.release()
    is_first = np.ones(len(dataset), np.bool_)
    if len(dataset):
        digests = np.memmap(path, np.uint64, "r").reshape(-1, 2)
        for rows in _iter_groups(digests):
            is_first[rows[1:]] = False
    path.unlink()
    return is_first


def _iter_groups(digests: UInt64) -> Iterator[Int64]:
    """Yield the rows, ascending, of each digest (N, K) that there is more than once."""
    num_passes = -(-len(digests) // DIGESTS_A_PASS)
    for number in range(num_passes):
        rows = np.flatnonzero(digests[:, 0] % np.uint64(num_passes) == number)
        chosen = np.array(digests[rows])
        order = np.lexsort(chosen.T)  # stable, so that rows ascend inside a group
        is_new = np.ones(len(order), np.bool_)
        is_new[1:] = (chosen[order[1:]] != chosen[order[:-1]]).any(axis=1)
        bounds = np.append(np.flatnonzero(is_new), len(order))
        for group in np.flatnonzero(np.diff(bounds) > 1).tolist():
            yield rows[order[bounds[group] : bounds[group + 1]]]


def _firsts_of_similar(dataset: IncidenceDataset, similarity: float) -> Bools:
    """Return which structures are like none before them: each signature is held, 512 bytes a structure."""
    signatures = np.empty((len(dataset), NUM_HASHES), np.uint32)
    begin = 0
    for part in dataset.parts:
        end = begin + part.counts["structures"]
        signatures[begin:end] = text_signatures(part)
        begin = end
        part.release()
    parent = np.arange(len(dataset))
    has_words = (signatures != np.uint32(0xFFFF_FFFF)).any(axis=1)
    for band in range(NUM_BANDS):
        for rows in _iter_groups(band_digests(signatures, band)):
            _join_similar(rows[has_words[rows]], signatures, similarity, parent)
    return np.asarray(parent == np.arange(len(dataset)))


def _join_similar(rows: Int64, signatures: npt.NDArray[np.uint32], similarity: float, parent: Int64) -> None:
    """Join each of `rows`, which agree in a band, with the first of them that it is like; roots are the first rows.

    Only so many are compared with all others: else many that agree in a band and are not alike take quadratic time.
    """
    waiting = rows
    for _ in range(_MOST_COMPARED):
        if len(waiting) < 2:
            break
        first, others = waiting[0], waiting[1:]
        is_like = (signatures[others] == signatures[first]).mean(axis=1) >= similarity
        for row in others[is_like].tolist():
            one, other = sorted((_root(parent, int(first)), _root(parent, row)))
            parent[other] = one
        waiting = others[~is_like]


def _root(parent: Int64, row: int) -> int:
    while parent[row] != row:
        parent[row] = parent[parent[row]]
        row = int(parent[row])
    return row
