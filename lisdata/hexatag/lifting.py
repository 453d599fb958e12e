"""Trees that are not projective, made projective and back: pseudo-projective parsing (Nivre and Nilsson 2005)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lisdata.errors import TreeError
from lisdata.hexatag.arrays import Integers, flat_integers
from lisdata.hexatag.dependents import dependents_of, top_down
from lisdata.hexatag.faults import TreeFault, describe_fault

SEPARATOR = "|"
_NUM_SWEEPS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectiveTree:
    """A projective tree, and what it was before.

    `lifted` has (dependent, original head) of each lifted word; its label in `deprels` is its own one, "|" and that of
    its original head.
    """

    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    lifted: tuple[tuple[int, int], ...]


def projectivize(heads: Integers, deprels: Sequence[str]) -> ProjectiveTree:
    """Lift the arcs of a tree until none crosses: the shortest first, the leftmost dependent among equals.

    Lifting hangs a word to the head of its head; lengths are those of the arcs as they then are. Raise TreeError where
    the heads are no tree with one root, or a label holds the separator "|" already.
    """
    from lisdata.kernels.hexatag_lift import lift_sentences

    original = _checked_heads(heads, deprels)
    marked = next((word for word, deprel in enumerate(deprels, 1) if SEPARATOR in deprel), None)
    if marked is not None:
        raise TreeError(f"word {marked} has deprel {deprels[marked - 1]!r}: {SEPARATOR!r} marks lifted words")
    words = np.array(original, np.int32)
    projective: list[int] = lift_sentences(words, np.array([0, len(words)]))[0].tolist()
    lifted = tuple((word, head) for word, head in enumerate(original, 1) if projective[word - 1] != head)
    labels = list(deprels)
    for word, head in lifted:
        labels[word - 1] = deprels[word - 1] + SEPARATOR + deprels[head - 1]
    return ProjectiveTree(heads=tuple(projective), deprels=tuple(labels), lifted=lifted)


def deprojectivize(heads: Integers, deprels: Sequence[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return heads and labels with lifted words hung back as far as their labels tell where.

    A lifted word goes to the nearest word below its head, breadth first and then by distance, that has the wanted
    label. That is mostly, not always, its original head; where no word has the label, it stays. Words are taken from
    the root down, twice, as MaltParser does. Raise TreeError where the heads are no tree with one root.
    """
    found = list(_checked_heads(heads, deprels))
    split = [deprel.partition(SEPARATOR) for deprel in deprels]
    labels = tuple(own for own, _, _ in split)
    wanted = {word: label for word, (_, mark, label) in enumerate(split, 1) if mark}
    for _ in range(_NUM_SWEEPS if wanted else 0):
        for word in top_down(dependents_of(found)):
            head = _nearest_labelled(found, labels, word, wanted[word]) if word in wanted else 0
            if head:
                found[word - 1] = head
                del wanted[word]
    return tuple(found), labels


def _checked_heads(heads: Integers, deprels: Sequence[str]) -> tuple[int, ...]:
    from lisdata.kernels.hexatag_encode import encode_sentences

    if len(heads) != len(deprels):
        raise ValueError(f"expected a deprel a head, found {len(heads)} heads and {len(deprels)} deprels")
    fault = encode_sentences(flat_integers(heads, np.int32, "heads"), np.array([0, len(heads)]))[2][0]
    numbers = tuple(int(head) for head in heads)
    if fault not in (TreeFault.NONE, TreeFault.NON_PROJECTIVE):
        raise TreeError(describe_fault(fault, numbers))
    return numbers


def _nearest_labelled(heads: Sequence[int], labels: Sequence[str], word: int, label: str) -> int:
    """Return the word labelled `label` that is nearest to `word` below the head of `word`, or 0."""
    dependents = dependents_of(heads)
    waiting = deque([heads[word - 1]])
    while waiting:
        for candidate in sorted(dependents[waiting.popleft()], key=lambda other: abs(other - word)):
            if candidate == word:
                continue
            if labels[candidate - 1] == label:
                return candidate
            waiting.append(candidate)
    return 0
