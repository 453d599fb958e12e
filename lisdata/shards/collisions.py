"""Refuses parts in which one key stands for two contents, in memory that grows with the parts' keys, not contents."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import key_message
from lisdata.errors import KeyCollisionError
from lisdata.shards.dataset import Part
from lisdata.shards.writer import describe_content

Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]

KEYS_A_PASS = 1 << 25  # about 50 bytes each


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repeated:
    """Contents whose key several parts hold: key group, part and row of each; a group's first row comes first."""

    group: Int64
    part: Int64
    row: Int64


def refuse_collisions(parts: Sequence[Part], *, keys_a_pass: int = KEYS_A_PASS) -> None:
    """Raise KeyCollisionError, naming both, when two of `parts` hold different contents under one key."""
    total = sum(part.counts["contents"] for part in parts)
    num_passes = -(-total // keys_a_pass)
    for number in range(num_passes):
        repeated = _find_repeated(parts, number, num_passes)
        digests = np.zeros(len(repeated.row), np.uint64)
        for index, part in enumerate(parts):
            chosen = np.flatnonzero(repeated.part == index)
            if len(chosen):
                digests[chosen] = _digests(part, repeated.row[chosen])
        _compare(parts, repeated, digests)


def _find_repeated(parts: Sequence[Part], number: int, num_passes: int) -> _Repeated:
    """Return the repeated ones among the keys of this pass: a share of all keys, chosen by their own bits."""
    keys, owners, rows = [], [], []
    for index, part in enumerate(parts):
        pairs = _keys(part)
        row = np.flatnonzero(pairs[:, 0] % np.uint64(num_passes) == number)
        keys.append(pairs[row])
        rows.append(row)
        owners.append(np.full(len(row), index))
    everything = np.concatenate(keys)
    order = np.lexsort((everything[:, 1], everything[:, 0]))  # stable: the first part's row stays first
    is_first = np.ones(len(order), bool)
    is_first[1:] = (everything[order[1:]] != everything[order[:-1]]).any(axis=1)
    group = np.cumsum(is_first) - 1
    is_repeated = np.bincount(group)[group] > 1
    kept = order[is_repeated]
    return _Repeated(group=group[is_repeated], part=np.concatenate(owners)[kept], row=np.concatenate(rows)[kept])


def _keys(part: Part) -> UInt64:
    """Return the keys of a part's contents as pairs of integers, (N, 2)."""
    column = part.read("contents", columns=("key",)).column("key").combine_chunks()
    buffer = column.buffers()[1]
    if buffer is None or not len(column):
        return np.empty((0, 2), np.uint64)
    return np.frombuffer(buffer, np.uint64).reshape(-1, 2)[column.offset : column.offset + len(column)]


def _digests(part: Part, rows: Int64) -> UInt64:
    """Return 64 bits of BLAKE2b of what each content's key is the XXH3-128 of."""
    contents = part.read("contents").take(pa.array(rows))
    labels = [label.encode() for label in part.labels.column("label").to_pylist()]
    symbols = [
        [None if code is None else labels[code] for code in contents.column(name).to_pylist()]
        for name in ("datatype", "language", "scope")
    ]
    kinds, lexicals = contents.column("kind").to_pylist(), contents.column("lexical").to_pylist()
    digests = b"".join(
        hashlib.blake2b(key_message(*content), digest_size=8).digest()
        for content in zip(kinds, lexicals, *symbols, strict=True)
    )
    return np.frombuffer(digests, np.uint64)


def _compare(parts: Sequence[Part], repeated: _Repeated, digests: UInt64) -> None:
    first_of_group = np.flatnonzero(np.diff(repeated.group, prepend=-1))
    first = first_of_group[np.cumsum(np.diff(repeated.group, prepend=-1) > 0) - 1]
    different = np.flatnonzero(digests != digests[first])
    if not len(different):
        return
    places = [(parts[repeated.part[at]], int(repeated.row[at])) for at in (first[different[0]], different[0])]
    key = places[0][0].contents.column("key")[places[0][1]].as_py().hex()
    names = []
    for part, row in places:
        labels = part.labels.column("label").to_pylist()
        names.append(f"{describe_content(part.contents, row, labels)} ({part.path('contents')})")
    raise KeyCollisionError(f"two contents meet under the key {key}: {names[0]} and {names[1]}")
