"""Scores of hexatags, such as a model's logits, to the best tags that can be decoded."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.hexatag.arrays import Int8, Integers, checked_offsets
from lisdata.hexatag.glyphs import NONTERMINAL_GLYPHS, TERMINAL_GLYPHS

_UNLIMITED = 2**31 - 1


def viterbi(
    terminal_logits: npt.ArrayLike,
    nonterminal_logits: npt.ArrayLike,
    offsets: Integers | None = None,
    *,
    max_depth: int | None = None,
) -> tuple[Int8, Int8]:
    """Return the valid tags whose logits (N, 2) and (N, 5) have the greatest sum, of one sentence or all at `offsets`.

    Logits are taken as float32 and must be finite; those of EOS are not looked at, since it stands at the last word and
    nowhere else. The tags need not be canonical; outside the offsets they are -100.

    `max_depth` (at least 1) bounds the partial trees that are open at once; a sentence of n words has (n + 1) // 2 at
    most, treebanks hardly more than 9. Time and memory of a sentence are n times that bound: set it where sentences may
    have thousands of words.
    """
    from lisdata.kernels.hexatag_viterbi import best_tags

    terminals = _table(terminal_logits, len(TERMINAL_GLYPHS), "terminal_logits")
    nonterminals = _table(nonterminal_logits, len(NONTERMINAL_GLYPHS), "nonterminal_logits")
    if len(terminals) != len(nonterminals):
        raise ValueError(f"expected as many logits of each kind, found {len(terminals)} and {len(nonterminals)}")
    if max_depth is not None and max_depth < 1:
        raise ValueError(f"expected {max_depth=} of 1 at least")
    bounds = checked_offsets([0, len(terminals)] if offsets is None else offsets, len(terminals))
    terminal, nonterminal, bad = best_tags(terminals, nonterminals, bounds, min(max_depth or _UNLIMITED, _UNLIMITED))
    if bad >= 0:
        raise ValueError(f"sentence {bad} (counted from 0): expected finite logits")
    return terminal, nonterminal


def _table(logits: npt.ArrayLike, width: int, name: str) -> npt.NDArray[np.float32]:
    array: npt.NDArray[Any] = np.ascontiguousarray(logits, np.float32)
    if array.ndim != 2 or array.shape[1] != width:
        raise ValueError(f"{name}: expected shape (words, {width}), found {array.shape}")
    return array
