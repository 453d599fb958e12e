"""Counts of hexatags: how often each occurs, how deep sentences stack, and arcs that were lifted for them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.hexatag import NONTERMINAL_GLYPHS, TERMINAL_GLYPHS
from lisdata.schema import UNTAGGED
from lisdata.statistics.tallies import add_codes, ranked

Integers = npt.NDArray[Any]
_GLYPHS = {"terminal_tags": TERMINAL_GLYPHS, "nonterminal_tags": NONTERMINAL_GLYPHS}
_END, _FILLS_SLOT = 0, 3  # the nonterminal after a sentence's last word, and the first of those that close a slot


class HexatagTally:
    """Adds up the tags of batches; each batch holds whole sentences, one after the other.

    With `is_frozen` each word has the tags that it got when it was the newest, a row one sentence: they spell no tree,
    so that neither an EOS ends a sentence nor a stack has a depth.
    """

    def __init__(self, *, is_frozen: bool = False) -> None:
        self._is_frozen = is_frozen
        self._tags: dict[str, Counter[str]] = {name: Counter() for name in _GLYPHS}
        self._depths: Counter[int] = Counter()
        self._counts: Counter[str] = Counter()

    def add(
        self, terminal: Integers, nonterminal: Integers, heads: Integers | None = None, rows: Integers | None = None
    ) -> None:
        """Count the tags of words or tokens; `heads` are those of the source, -1 where there is none.

        `rows` is a number a value: where it changes a sentence ends, also one whose EOS was lost.
        """
        for (name, glyphs), tags in zip(_GLYPHS.items(), (terminal, nonterminal), strict=True):
            add_codes(self._tags[name], tags[tags != UNTAGGED], list(glyphs))
        is_tagged = (terminal != UNTAGGED) & (nonterminal != UNTAGGED)
        if self._is_frozen:
            assert rows is not None, "a frozen sentence is known by its row alone"
            self._counts["tagged_sentences"] += len(np.unique(rows[is_tagged]))
            return
        terminal, nonterminal = terminal[is_tagged].astype(np.int8), nonterminal[is_tagged].astype(np.int8)
        offsets = _sentences(nonterminal, None if rows is None else rows[is_tagged])
        if len(offsets) == 1:
            return
        self._counts["tagged_sentences"] += len(offsets) - 1
        depths, counts = np.unique(_depths(terminal, nonterminal, offsets), return_counts=True)
        self._depths.update(dict(zip(depths.tolist(), counts.tolist(), strict=True)))
        if heads is not None:
            self._compare(terminal, nonterminal, offsets, heads[is_tagged])

    def _compare(self, terminal: Integers, nonterminal: Integers, offsets: Integers, heads: Integers) -> None:
        """Count arcs that the tags' tree has elsewhere than the source."""
        from lisdata.kernels.hexatag_decode import decode_sentences

        spelled, is_wrong = decode_sentences(terminal, nonterminal, offsets)
        row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        is_lifted = (spelled != heads) & (heads >= 0) & ~is_wrong.astype(bool)[row]
        self._counts["lifted_arcs"] += int(np.count_nonzero(is_lifted))
        self._counts["sentences_with_lifted_arcs"] += len(np.unique(row[is_lifted]))
        self._counts["sentences_whose_tags_spell_no_tree"] += int(np.count_nonzero(is_wrong))

    def to_dict(self) -> dict[str, Any]:
        """Return the counts; empty without tags."""
        found: dict[str, Any] = dict(+self._counts)
        found |= {name: ranked(tally) for name, tally in self._tags.items() if tally}
        if self._depths:
            found["sentences_by_stack_depth"] = {str(depth): self._depths[depth] for depth in sorted(self._depths)}
        return found


def _sentences(nonterminal: Integers, rows: Integers | None) -> npt.NDArray[np.int64]:
    """Return where each sentence begins, and the end; each ends with EOS, with its row, or with the batch."""
    is_end = np.asarray(nonterminal == _END)
    if len(is_end):
        is_end[-1] = True
    if rows is not None:
        is_end[:-1] |= rows[1:] != rows[:-1]
    return np.concatenate(([0], np.flatnonzero(is_end) + 1)).astype(np.int64)


def _depths(terminal: Integers, nonterminal: Integers, offsets: Integers) -> npt.NDArray[np.int64]:
    """Return the greatest stack depth of each sentence: a left leaf opens a tree, a right node closes one."""
    opened = (terminal == 0).astype(np.int64)
    change = opened - (nonterminal >= _FILLS_SLOT)
    before = np.cumsum(change) - change
    begins = offsets[:-1]
    depth = before + opened - np.repeat(before[begins], np.diff(offsets))
    greatest: npt.NDArray[np.int64] = np.maximum.reduceat(depth, begins)
    return greatest
