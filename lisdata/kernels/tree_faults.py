"""What can be wrong with the heads of a sentence; numba is not needed here."""

from __future__ import annotations

from enum import IntEnum


class TreeFault(IntEnum):
    """Why heads have no hexatags; where several reasons hold, the first of this order is given."""

    NONE = 0
    EMPTY = 1
    OUT_OF_RANGE = 2
    SELF_LOOP = 3
    NO_ROOT = 4
    SEVERAL_ROOTS = 5
    CYCLE = 6
    NON_PROJECTIVE = 7
