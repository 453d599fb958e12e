"""Tags for whole corpora: a bad sentence is reported beside the others and stops nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lisdata.hexatag.arrays import Int8, Int64, Integers, checked_offsets, flat_integers
from lisdata.kernels.tree_faults import TreeFault


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedTrees:
    """Hexatags of N words in M sentences.

    `terminal` and `nonterminal` (N,) are -100 where the word's sentence has a fault. `fault` (M,) holds members of
    TreeFault, `lifted` (M,) how many arcs were lifted to make a sentence projective.
    """

    terminal: Int8
    nonterminal: Int8
    fault: npt.NDArray[np.uint8]
    lifted: Int64


def tag_trees(heads: Integers, offsets: Integers, *, lift: bool) -> TaggedTrees:
    """Return the tags of all sentences; sentence i is heads[offsets[i]:offsets[i + 1]], as for `encode_batch`.

    With `lift`, trees that are not projective get the tags of their lifted tree (see `projectivize`), else the fault
    NON_PROJECTIVE.
    """
    from lisdata.kernels.hexatag_encode import encode_sentences

    bounds = checked_offsets(offsets, len(heads))
    words = flat_integers(heads, np.int32, "heads")
    terminal, nonterminal, fault = encode_sentences(words, bounds)
    lifted = np.zeros(len(fault), np.int64)
    rows = np.flatnonzero(fault == TreeFault.NON_PROJECTIVE)
    if lift and len(rows):
        from lisdata.kernels.hexatag_lift import lift_sentences

        places, own_bounds = _places_of(bounds, rows)
        projective, lifted[rows] = lift_sentences(words[places], own_bounds)
        terminal[places], nonterminal[places], fault[rows] = encode_sentences(projective, own_bounds)
    return TaggedTrees(terminal=terminal, nonterminal=nonterminal, fault=fault, lifted=lifted)


def _places_of(offsets: Int64, rows: Int64) -> tuple[Int64, Int64]:
    """Return the places of the words of some sentences, end to end, and the offsets of the sentences among them."""
    begins = offsets[rows]
    lengths = offsets[rows + 1] - begins
    own = np.concatenate(([0], np.cumsum(lengths)))
    return np.repeat(begins - own[:-1], lengths) + np.arange(own[-1]), own
