"""The schedule by which rows are drawn from several sources: after any number of draws, each is within 1 of its due."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from lisdata.kernels.compiled import INT64S, OUT_INT64S, kernel

Int64 = npt.NDArray[np.int64]


@kernel(types.void(INT64S, OUT_INT64S, OUT_INT64S))
def _draw(weights: Any, lag: Any, sources: Any) -> None:
    whole = weights.sum()
    for draw in range(len(sources)):
        chosen, earliest = -1, np.int64(0)
        for source in range(len(weights)):
            lag[source] += weights[source]
            if lag[source] > 0:
                deadline = (whole - lag[source] + weights[source] - 1) // weights[source]
                if chosen < 0 or deadline < earliest:
                    chosen, earliest = source, deadline
        lag[chosen] -= whole
        sources[draw] = chosen


def draw(weights: Int64, lag: Int64, count: int) -> Int64:
    """Return the source of each of the next `count` draws, and move `lag` on.

    `lag[d]` is what source d is due less what was drawn from it, times the sum of the weights, which are integers above
    0. It stays strictly within one draw: of the sources that a draw leaves above -1, the one is drawn that would first
    reach 1 (the earliest pseudo-deadline first of Baruah et al., "Proportionate progress", 1996, which misses none on
    one processor).
    """
    sources = np.empty(count, np.int64)
    _draw(weights, lag, sources)
    return sources
