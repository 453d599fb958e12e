"""What a serialized layout does to roles (LIS Theorem A.1) and to packing (section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lisdata.journeys.arrays import Int64


def serialized_starts(num_tokens: Int64, *, num_markers: int = 1) -> Int64:
    """Return the position of each endpoint's first token when endpoints follow one another, shape (T,).

    Endpoint i is `num_markers` role-marker tokens and then the `num_tokens[i]` tokens of its content.
    """
    lengths = np.asarray(num_tokens, np.int64) + num_markers
    starts: Int64 = np.cumsum(lengths) - lengths + num_markers
    return starts


def pack_instances(instance: Int64, order: Sequence[int]) -> Int64:
    """Return the endpoints of the instances in `order`, each instance's in their own order: a prefix of facts."""
    instance = np.asarray(instance, np.int64)
    members = [np.flatnonzero(instance == number) for number in order]
    return np.concatenate([np.zeros(0, np.int64), *members])


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCounterexample:
    """Two facts in which the step from role `first` to role `second` has different serialized offsets."""

    first: int
    second: int
    facts: tuple[int, int]
    offsets: tuple[int, int]


def find_offset_counterexample(num_tokens: Int64, *, num_markers: int = 1) -> OffsetCounterexample | None:
    """Return facts whose serialized offset between the same two roles differs, None where all agree (Theorem A.1).

    `num_tokens` (E, S) holds the tokens of fact e's participant in role s, roles serialized in this order. The second
    role starts l_1 + `num_markers` after the first, l_1 the length of the first participant. Serialized addresses
    A(s, e) = R^{start} change by A(t, e) A(s, e)^-1 = R^{offset(e)}: with two offsets (R^offset not the same by
    chance) the change depends on the instance, so that no role-instance factors R_s R_e exist.
    """
    lengths = np.asarray(num_tokens, np.int64)
    if lengths.ndim != 2:
        raise ValueError(f"expected the number of tokens by fact and role, got shape {lengths.shape}")
    if not len(lengths):
        return None
    steps = lengths[:, :-1] + num_markers
    different = np.argwhere(steps != steps[0])
    if not len(different):
        return None
    fact, role = different[0].tolist()
    return OffsetCounterexample(
        first=role, second=role + 1, facts=(0, fact), offsets=(int(steps[0, role]), int(steps[fact, role]))
    )
