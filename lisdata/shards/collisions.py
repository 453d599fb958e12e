"""Refuses parts in which one key stands for two contents; memory grows with repeated keys, not with contents."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lisdata.contents import key_message
from lisdata.errors import KeyCollisionError
from lisdata.shards.dataset import Part
from lisdata.shards.key_groups import KEYS_A_PASS, Int64, KeyGroups, UInt64, iter_key_groups
from lisdata.shards.writer import describe_content


def refuse_collisions(parts: Sequence[Part], *, keys_a_pass: int = KEYS_A_PASS) -> None:
    """Raise KeyCollisionError, naming both, when two of `parts` hold different contents under one key."""
    for groups in iter_key_groups(parts, keys_a_pass=keys_a_pass):
        repeated = groups.select(np.bincount(groups.group)[groups.group] > 1)
        digests = np.zeros(len(repeated.row), np.uint64)
        for index, part in enumerate(parts):
            chosen = np.flatnonzero(repeated.part == index)
            if len(chosen):
                digests[chosen] = _digests(part, repeated.row[chosen])
        _compare(parts, repeated, digests)


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


def _compare(parts: Sequence[Part], repeated: KeyGroups, digests: UInt64) -> None:
    first = repeated.first
    sizes = np.diff(first, append=len(repeated.row))
    different = np.flatnonzero(digests != np.repeat(digests[first], sizes))
    if not len(different):
        return
    places = np.repeat(first, sizes)[different[0]], different[0]
    names = []
    for part, row in ((parts[repeated.part[at]], int(repeated.row[at])) for at in places):
        labels = part.labels.column("label").to_pylist()
        names.append(f"{describe_content(part.contents, row, labels)} ({part.path('contents')})")
        key = part.contents.column("key")[row].as_py().hex()
    raise KeyCollisionError(f"two contents meet under the key {key}: {names[0]} and {names[1]}")
