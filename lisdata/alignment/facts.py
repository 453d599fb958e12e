"""Facts of a dataset as 128-bit digests, by which two datasets are compared as multisets.

* A *content* is its key, where a structure shows it.
* An *instance* is its label, its handle and the multiset of its participants, each a role, a position, a content, and
  the head and dependency relation where the occurrence has them; with `ordinals`, its ordinal too.
* An *incidence* is one participant and the label of its instance: it tells which one of an instance differs.
* A *document* is the kind of a structure and its bytes or its tensor (dtype, shape, values).

Contents count once a side, and so does what an RDF 1.2 triple term is of: each structure that shows the term says it
again, with an ordinal of its own, so that how often depends on the grouping. What tells how an input was written counts
once an input (`fact_files.Origins`). All else counts as often as it comes.

What a record tells of what the conversion left out of it (how many labels in other languages) is no fact of it: its
export, read again, lacks nothing. How facts are grouped into structures, record ids, spans and hexatags (which follow
from heads) are not compared. The participants are added up after mixing, so that their order does not matter: two
different multisets agree by chance alone, with a probability of about 2^-128 a pair; digests are no defence against
forged data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from lisdata.contents import key_message
from lisdata.converters.triple_terms import TRIPLE_TERM
from lisdata.encoding.pieces import row_numbers
from lisdata.encoding.structure_rows import StructureRows, iter_slices
from lisdata.kernels.arrays import fixed_rows, one_array
from lisdata.schema import CONTENTS, ContentKind, StructureKind
from lisdata.shards import Part
from lisdata.shards.same_as import key_pairs

UInt64 = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LEVELS = ("contents", "instances", "incidences", "documents")
TOKEN_LEVELS = ("rows", "tokens")
_COLUMNS = (
    "kind", "tau", "document", "instance_label", "instance_handle", "instance_ordinal", "incidence", "sigma",
    "position", "shape", "tensor", "head", "deprel",
)  # fmt: skip
_PLACED = re.compile(rb"([0-9]+)-.*", re.DOTALL)
_PLACED_KINDS = (ContentKind.SOMEVALUE, ContentKind.INSTANCE)
_SEEDS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
_FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts of one level: digests (N, 2), the row of the part, and in it the number of the instance or incidence.

    The row is that of the table `contents` for contents, of `structures` for all else. `is_once` tells which facts
    count once, however often they come.
    """

    level: str
    digest: UInt64
    row: Int64
    item: Int64
    is_once: Bools


def iter_facts(
    part: Part, scopes: Mapping[str, str], *, ordinals: bool = False, notes: Bools | None = None
) -> Iterator[Facts]:
    """Yield the facts of a part, a bounded number at a time; a scope in `scopes` counts as the name it has there.

    `notes` tells which incidences of the part are no facts (`find_notes`).
    """
    keys = scoped_keys(part, scopes)
    rows = np.flatnonzero(_shown_contents(part, len(keys), notes))
    yield Facts(level="contents", digest=keys[rows], row=rows, item=rows, is_once=np.ones(len(rows), np.bool_))
    labels = _Labels.of(part)
    first_row, first = 0, 0
    for slice_ in iter_slices(part, _COLUMNS):
        end = first + len(slice_.sigma)
        is_fact = np.ones(end - first, np.bool_) if notes is None else ~notes[first:end]
        yield from _facts_of_rows(slice_, first_row, keys, labels, is_fact, ordinals)
        first_row, first = first_row + slice_.num_rows, end


def _shown_contents(part: Part, num_contents: int, notes: Bools | None) -> Bools:
    """Return which contents a structure shows or names an instance by; a source may have made others on its way."""
    is_shown = np.zeros(num_contents, np.bool_)
    for batch in part.iter_batches("structures", ("tau", "instance_handle") if notes is None else ("instance_handle",)):
        for column in batch.columns:
            is_shown[np.asarray(column.flatten().drop_null()).astype(np.int64)] = True
    if notes is None:
        return is_shown
    first = 0
    for rows in iter_slices(part, ("tau", "incidence", "sigma")):
        is_note = notes[first : first + len(rows.sigma)]
        is_only_note = np.zeros(len(rows.tau), np.bool_)
        is_only_note[rows.incidence_occurrence[is_note]] = True
        is_only_note[rows.incidence_occurrence[~is_note]] = False
        is_shown[rows.tau[~is_only_note]] = True
        first += len(rows.sigma)
    return is_shown


def scoped_keys(part: Part, scopes: Mapping[str, str]) -> UInt64:
    """Return the keys of a part's contents (N, 2), those of the named scopes as if it were called otherwise.

    A name in such a scope that begins with the place of its record in the file (a somevalue, a reference without a
    hash) counts as if it began with the first content of that record instead: a place is no part of what is said.
    """
    table = part.contents
    if not table.num_rows:
        return np.empty((0, 2), np.uint64)
    keys = key_pairs(fixed_rows(one_array(table.column("key"))))
    names = part.labels.column("label").to_pylist()
    known = pa.array([code for code, name in enumerate(names) if name in scopes], pa.uint32())
    chosen = np.flatnonzero(np.asarray(pc.is_in(table.column("scope"), known)))
    if not len(chosen):
        return keys
    columns = (table.column(name).take(pa.array(chosen)).to_pylist() for name in CONTENTS.names[1:])
    rows = list(zip(*columns, strict=True))
    placed = _placed_names(part, [(names[row[-1]], row[0], row[1]) for row in rows])
    for at, (kind, lexical, datatype, language, scope) in zip(chosen, rows, strict=True):
        name = placed.get((names[scope], lexical), lexical)
        symbols = [None if code is None else names[code].encode() for code in (datatype, language)]
        message = key_message(kind, name, symbols[0], symbols[1], scopes[names[scope]].encode())
        keys[at] = key_pairs(np.frombuffer(xxhash.xxh3_128_digest(message), np.uint8).reshape(1, 16))[0]
    return keys


def _placed_names(part: Part, contents: list[tuple[str, int, bytes]]) -> dict[tuple[str, bytes], bytes]:
    """Return what contents (scope, kind, lexical) are called that are called by the place of their record."""
    found = {(scope, name): _PLACED.fullmatch(name) for scope, kind, name in contents if kind in _PLACED_KINDS}
    records = {key: f"{key[0]}#{match[1].decode()}" for key, match in found.items() if match is not None}
    if not records:
        return {}
    lexical = part.contents.column("lexical")
    wanted = pa.array(sorted(set(records.values())), pa.large_string())
    first: dict[str, bytes] = {}
    for batch in part.iter_batches("structures", ("record_id", "tau")):
        for row in np.flatnonzero(np.asarray(pc.is_in(batch.column("record_id"), wanted))).tolist():
            tau = batch.column("tau")[row].as_py()
            if tau:
                first[batch.column("record_id")[row].as_py()] = lexical[tau[0]].as_py()
    return {key: first[record] + key[1][key[1].index(b"-") :] for key, record in records.items() if record in first}


@dataclass(frozen=True, slots=True)
class _Labels:
    """Digests (N, 2) of a part's labels, and which of them is that of triple terms."""

    digest: UInt64
    is_term: Bools

    @classmethod
    def of(cls, part: Part) -> _Labels:
        names = part.labels.column("label").to_pylist()
        digests = [xxhash.xxh3_128_digest(name.encode()) for name in names]
        pairs = key_pairs(np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 16))
        return cls(pairs, np.array([name == TRIPLE_TERM for name in names], np.bool_))


def _facts_of_rows(
    rows: StructureRows, first_row: int, keys: UInt64, labels: _Labels, is_fact: Bools, ordinals: bool
) -> Iterator[Facts]:
    participant = _participants(rows, keys, labels.digest)
    instance_row = row_numbers(rows.instance_offsets)
    label, handle = labels.digest[rows.instance_label], _handles(rows, keys)
    is_term = labels.is_term[rows.instance_label] & handle.any(axis=1)
    is_term &= rows.kinds[instance_row] == StructureKind.TRIPLES
    of = rows.incidence_instance
    digest = _mixed(label[of], participant)
    in_term = np.flatnonzero(is_term[of])
    digest[in_term] = _mixed(digest[in_term], handle[of[in_term]])
    per_row = np.bincount(rows.incidence_row, minlength=rows.num_rows)
    begin = np.cumsum(per_row) - per_row
    yield Facts(
        level="incidences",
        digest=digest[is_fact],
        row=rows.incidence_row[is_fact] + first_row,
        item=(np.arange(len(digest)) - begin[rows.incidence_row])[is_fact],
        is_once=is_term[of[is_fact]],
    )
    columns = [label, handle, _summed(participant[is_fact], of[is_fact], len(label))]
    if ordinals:
        ordinal = np.asarray(rows.batch.column("instance_ordinal").flatten()).astype(np.uint64)
        columns.append(_pair(np.where(is_term, np.uint64(0), ordinal)))
    yield Facts(
        level="instances",
        digest=_mixed(*columns),
        row=instance_row + first_row,
        item=np.arange(len(label)) - rows.instance_offsets[instance_row],
        is_once=is_term,
    )
    yield _documents(rows, first_row)


def _participants(rows: StructureRows, keys: UInt64, labels: UInt64) -> UInt64:
    """Return a digest for each incidence: role, position, content, head, dependency relation."""
    occurrence = rows.incidence_occurrence
    position = np.asarray(rows.batch.column("position").flatten()).astype(np.int64).view(np.uint64)
    head, deprel = (_spread(rows, name)[occurrence] for name in ("head", "deprel"))
    relation = np.where((deprel >= 0)[:, None], labels[deprel], np.uint64(0))
    return _mixed(
        labels[rows.sigma], _pair(position), keys[rows.tau[occurrence]], _pair(head.view(np.uint64)), relation
    )


def _spread(rows: StructureRows, name: str) -> Int64:
    """Return a nullable list column with a value an occurrence, -1 for null."""
    column = rows.batch.column(name)
    spread = np.full(rows.occurrence_offsets[-1], -1, np.int64)
    has_list = np.repeat(np.asarray(column.is_valid()), np.diff(rows.occurrence_offsets))
    spread[has_list] = np.asarray(column.flatten().fill_null(-1)).astype(np.int64)
    return spread


def _handles(rows: StructureRows, keys: UInt64) -> UInt64:
    column = rows.batch.column("instance_handle")
    found = np.zeros((rows.instance_offsets[-1], 2), np.uint64)
    has_list = np.repeat(np.asarray(column.is_valid()), np.diff(rows.instance_offsets))
    flat = np.asarray(column.flatten().fill_null(len(keys))).astype(np.int64)
    found[has_list] = np.concatenate([keys, np.zeros((1, 2), np.uint64)])[flat]
    return found


def _documents(rows: StructureRows, first_row: int) -> Facts:
    """Return a fact for each structure that has a document or a tensor."""
    documents = rows.batch.column("document")
    at = np.flatnonzero(np.asarray(documents.is_valid()) | rows.is_grid)
    digests = []
    for row in at.tolist():
        digest = xxhash.xxh3_128(bytes((int(rows.kinds[row]),)))
        if documents[row].is_valid:
            digest.update(memoryview(documents[row].as_buffer() or b""))
        if rows.is_grid[row]:
            dtype, shape, values = rows.tensor(row)
            digest.update(f"{dtype} {shape}".encode())
            digest.update(values)
        digests.append(digest.digest())
    pairs = key_pairs(np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 16))
    nothing = np.zeros(len(at), np.int64)
    return Facts(level="documents", digest=pairs, row=at + first_row, item=nothing, is_once=nothing.astype(np.bool_))


def _summed(digest: UInt64, group: Int64, size: int) -> UInt64:
    """Return for each group the sum of its digests and, mixed in, how many there are; groups are 0 to size - 1."""
    counts = np.bincount(group, minlength=size)
    order = slice(None) if np.all(group[1:] >= group[:-1]) else np.argsort(group, kind="stable")
    sums = np.zeros((size + 1, 2), np.uint64)
    if len(digest):
        ends = np.concatenate([np.zeros((1, 2), np.uint64), np.cumsum(digest[order], axis=0, dtype=np.uint64)])
        offsets = np.concatenate([[0], np.cumsum(counts)])
        sums = ends[offsets[1:]] - ends[offsets[:-1]]
    return _mixed(sums[:size], _pair(counts.astype(np.uint64)))


def _pair(values: npt.NDArray[Any]) -> UInt64:
    return np.stack([values, values], axis=1)


def _mixed(*columns: UInt64) -> UInt64:
    """Return a digest of columns (N, 2), in two lanes of the finaliser of SplitMix64 with seeds of their own."""
    lanes = []
    for seed, factor in zip(_SEEDS, _FACTORS, strict=True):
        state = np.full(len(columns[0]), seed, np.uint64)
        for column in columns:
            for half in (0, 1):
                state = finalised((state ^ column[:, half]) * np.uint64(factor) + np.uint64(seed))
        lanes.append(state)
    return np.stack(lanes, axis=1)


def finalised(state: UInt64) -> UInt64:
    """Mix all bits of each number into all bits (the finaliser of SplitMix64)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
