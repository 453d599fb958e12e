"""RDF 1.2 triple terms: an instance with a handle for each that a structure shows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import LabelBuilder, Role
from lisdata.converters.flat_structures import FlatStructures
from lisdata.schema import NO_ROW, STRUCTURES, LabelKind

UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]

TRIPLE_TERM = "triple_term"
"""Label of the instance and relation of its roles: it says what the term is, and not that the triple holds."""

SIDES = ("subject", "predicate", "object")


@dataclass(slots=True)
class _Added:
    """Values behind the last of each structure: for each value the structure's number."""

    structure: list[int] = field(default_factory=list)
    terms: list[list[int]] = field(default_factory=list)


def add_triple_terms(
    structures: FlatStructures, triple_terms: UInt32, labels: LabelBuilder
) -> tuple[FlatStructures, pa.Array]:
    """Return the structures with instances of the triple terms (4, T) that they show, and column instance_handle.

    A term shows its parts in new occurrences at the structure's end; it has the ordinal of the structure's last triple.
    """
    added = _shown_terms(structures, triple_terms)
    owner = np.array(added.structure, np.int64)
    terms = np.array(added.terms, np.uint32).reshape(-1, 4)
    thrice = np.repeat(owner, 3)
    counts = np.bincount(owner, minlength=len(structures.begin))
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)  # of a term among those of its structure
    parts = np.tile(np.arange(3), len(owner))
    ends = {
        name: np.cumsum(getattr(structures, name)) for name in ("num_occurrences", "num_instances", "num_incidences")
    }
    occurrence = structures.num_occurrences[thrice] + 3 * np.repeat(rank, 3) + parts
    code = labels.code(LabelKind.INSTANCE, TRIPLE_TERM)
    sides = np.array([labels.role(Role(TRIPLE_TERM, side)) for side in SIDES], np.uint32)
    at_instance, at_incidence = ends["num_instances"][owner], ends["num_incidences"][thrice]
    result = replace(
        structures,
        num_occurrences=structures.num_occurrences + 3 * counts,
        num_instances=structures.num_instances + counts,
        num_incidences=structures.num_incidences + 3 * counts,
        tau=np.insert(structures.tau, ends["num_occurrences"][thrice], terms[:, 1:].ravel()),
        label=np.insert(structures.label, at_instance, code),
        ordinal=np.insert(structures.ordinal, at_instance, structures.ordinal[at_instance - 1]),
        occurrence=np.insert(structures.occurrence, at_incidence, occurrence.astype(np.uint32)),
        instance=np.insert(
            structures.instance, at_incidence, np.repeat(structures.num_instances[owner] + rank, 3).astype(np.uint32)
        ),
        sigma=np.insert(structures.sigma, at_incidence, sides[parts]),
        position=np.insert(structures.position, at_incidence, 0),
    )
    handles = np.insert(np.full(len(structures.label), NO_ROW, np.uint32), at_instance, terms[:, 0])
    return result, _handle_lists(handles, result.num_instances, counts > 0)


def _shown_terms(structures: FlatStructures, triple_terms: UInt32) -> _Added:
    """Return the terms that each structure shows, those inside others too, once a structure."""
    rows = {term: column for column in triple_terms.T.tolist() for term in column[:1]}
    added = _Added()
    owner = np.repeat(np.arange(len(structures.begin)), structures.num_occurrences)
    shown = np.flatnonzero(np.isin(structures.tau, triple_terms[0]))
    seen: set[tuple[int, int]] = set()
    for structure, content in zip(owner[shown].tolist(), structures.tau[shown].tolist(), strict=True):
        waiting = [content]
        while waiting:
            term = waiting.pop()
            if term in rows and (structure, term) not in seen:
                seen.add((structure, term))
                added.structure.append(structure)
                added.terms.append(rows[term])
                waiting += rows[term][:0:-1]
    return added


def _handle_lists(handles: UInt32, num_instances: Int64, has_terms: npt.NDArray[np.bool_]) -> pa.Array:
    """Return the handles of each structure, null where it has none at all."""
    kept = handles[np.repeat(has_terms, num_instances)]
    offsets = np.concatenate(([0], np.cumsum(np.where(has_terms, num_instances, 0))))
    return pa.LargeListArray.from_arrays(
        pa.array(offsets),
        pa.array(kept, mask=kept == NO_ROW),
        type=STRUCTURES.field("instance_handle").type,
        mask=pa.array(~has_terms),
    )
