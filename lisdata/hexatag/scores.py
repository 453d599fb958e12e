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
    nowhere else. Arrays, lists and torch's tensors are taken, whether or not these require a gradient. The tags need
    not be canonical; outside the offsets they are -100. Raise ValueError for what are no such logits.

    `max_depth` (at least 1) bounds the partial trees that are open at once; a sentence of n words has (n + 1) // 2 at
    most, treebanks hardly more than 9. Time and memory of a sentence are n times that bound: set it where sentences may
    have thousands of words.
    """
    from lisdata.kernels.hexatag_viterbi import best_tags

    terminals = _table(terminal_logits, len(TERMINAL_GLYPHS), "terminal_logits")
    nonterminals = _table(nonterminal_logits, len(NONTERMINAL_GLYPHS), "nonterminal_logits")
    if len(terminals) != len(nonterminals):
        raise ValueError(f"expected as many logits of each kind, found {len(terminals)} and {len(nonterminals)}")
    if max_depth is not None and (not isinstance(max_depth, int | np.integer) or max_depth < 1):
        raise ValueError(f"expected a whole number of at least 1, got {max_depth=}")
    bounds = checked_offsets([0, len(terminals)] if offsets is None else offsets, len(terminals))
    terminal, nonterminal, bad = best_tags(terminals, nonterminals, bounds, min(max_depth or _UNLIMITED, _UNLIMITED))
    if bad >= 0:
        raise ValueError(f"sentence {bad} (counted from 0): expected finite logits")
    return terminal, nonterminal


def _table(logits: npt.ArrayLike, width: int, name: str) -> npt.NDArray[np.float32]:
    try:
        array: npt.NDArray[Any] = np.asarray(_without_gradient(logits))
    except (TypeError, ValueError, RuntimeError) as error:  # rows of several lengths, tensors in a list
        raise ValueError(f"{name}: expected numbers in two dimensions: {error}") from error
    if array.ndim != 2 or array.shape[1] != width:
        raise ValueError(f"{name}: expected shape (words, {width}), found {array.shape}")
    if not np.can_cast(array.dtype, np.float32, "same_kind"):
        raise ValueError(f"{name}: expected real numbers, found {array.dtype}")
    with np.errstate(over="ignore"):  # what becomes infinite is refused
        return np.ascontiguousarray(array, np.float32)


def _without_gradient(logits: Any) -> Any:
    """Return a tensor of torch as one that numpy reads: on the CPU, of a type that it knows; all else as it is."""
    if not hasattr(logits, "detach"):
        return logits
    tensor = logits.detach().cpu()
    return tensor.float() if tensor.is_floating_point() else tensor
