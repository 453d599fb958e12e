"""Choices without jumps, in unsigned integers, for loops whose branches no processor can foretell.

The shape of a sentence's tree decides every branch of a tagger anew, and each wrong guess costs about as much as all
other work on a word: without jumps the encoder runs twice as fast. Numbers are uint64 throughout, because numba checks
each signed index for being negative, and because a signed with an unsigned operand gives a float.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lisdata.kernels.compiled import inner

ZERO, ONE, TWO, THREE = map(np.uint64, range(4))


@inner
def select(condition: Any, left: Any, right: Any) -> Any:
    """Return `left` where `condition` is 1, `right` where it is 0."""
    return right ^ ((left ^ right) & (ZERO - np.uint64(condition)))


@inner
def only_if(condition: Any, value: Any) -> Any:
    """Return `value` where `condition` is 1, else 0."""
    return value & (ZERO - np.uint64(condition))


@inner
def word_at(heads: Any, index: Any) -> Any:
    """Return the head at `index` of an int32 array; a negative one becomes too large for any sentence."""
    return np.uint64(np.uint32(heads[index]))
