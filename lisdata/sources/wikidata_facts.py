"""Facts of entities as flat arrays, from several sources in one order, and the table of records that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.schema import NO_ROW

UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]


class Ends(NamedTuple):
    """How many contents, participants, facts and structures there are up to a place."""

    contents: int = 0
    participants: int = 0
    facts: int = 0
    structures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatFacts:
    """Structures of facts of participants; contents have a group each and need not be distinct.

    `content` are rows of `group` and `lexicals`, and so are `handle` (NO_ROW: none). `ordinal` counts the facts of an
    entity; fact f has num_participants[f] participants, structure s num_facts[s] facts.
    """

    group: UInt32
    lexicals: pa.LargeBinaryArray
    content: UInt32
    role: UInt32
    position: Int64
    label: UInt32
    handle: UInt32
    ordinal: UInt64
    num_participants: Int64
    begin: UInt64
    end: UInt64
    num_facts: Int64


class Piece(NamedTuple):
    """The part of `facts` between two places."""

    facts: FlatFacts
    first: Ends
    last: Ends


def join_pieces(pieces: Sequence[Piece]) -> FlatFacts:
    """Return pieces one after the other; what a participant names is in an earlier piece of its facts, or this one."""
    rows = {id(piece.facts): np.empty(len(piece.facts.group), np.uint32) for piece in pieces}
    at = 0
    for facts, first, last in pieces:
        size = last.contents - first.contents
        rows[id(facts)][first.contents : last.contents] = np.arange(at, at + size)
        at += size
    contents, participants, facts_, structures = (
        [(facts, slice(first[level], last[level])) for facts, first, last in pieces] for level in range(len(Ends()))
    )
    handles = [(facts.handle[part], rows[id(facts)]) for facts, part in facts_]
    return FlatFacts(
        group=np.concatenate([facts.group[part] for facts, part in contents]),
        lexicals=pa.concat_arrays([facts.lexicals[part] for facts, part in contents]),
        content=np.concatenate([rows[id(facts)][facts.content[part]] for facts, part in participants]),
        role=np.concatenate([facts.role[part] for facts, part in participants]),
        position=np.concatenate([facts.position[part] for facts, part in participants]),
        label=np.concatenate([facts.label[part] for facts, part in facts_]),
        handle=np.concatenate([renumbered(*handle) for handle in handles]),
        ordinal=np.concatenate([facts.ordinal[part] for facts, part in facts_]),
        num_participants=np.concatenate([facts.num_participants[part] for facts, part in facts_]),
        begin=np.concatenate([facts.begin[part] for facts, part in structures]),
        end=np.concatenate([facts.end[part] for facts, part in structures]),
        num_facts=np.concatenate([facts.num_facts[part] for facts, part in structures]),
    )


def renumbered(handles: UInt32, numbers: UInt32) -> UInt32:
    """Return the new numbers of handles, NO_ROW where there is none."""
    found = handles.copy()
    is_named = handles != NO_ROW
    found[is_named] = numbers[handles[is_named]]
    return found


def offsets_of(sizes: Int64) -> Int64:
    """Return where each of some lists begins, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
