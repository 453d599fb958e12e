"""Grids cut into patches: which cells each has, and where it begins."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
_PATCH = re.compile(r"[1-9][0-9]*(x[1-9][0-9]*)*")


def parse_patch(text: str) -> tuple[int, ...]:
    """Return the extents that `text` (8x8, 1x8x8 ...) spells; ValueError for another form."""
    if not _PATCH.fullmatch(text):
        raise ValueError(f"expected extents of a patch such as 8x8, got {text!r}")
    return tuple(map(int, text.split("x")))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PatchLayout:
    """The patches of a grid, row-major: patch p has cells[offsets[p] : offsets[p + 1]], themselves row-major.

    `cells` are numbers of cells, row-major in the grid. `corner` (P, axes of the patch) is the first cell of each patch
    by its coordinates, `place` (P, axes) counts patches along each axis.
    """

    cells: Int64
    offsets: Int64
    corner: Int64
    place: Int64

    def __len__(self) -> int:
        return len(self.offsets) - 1


def lay_patches(shape: Sequence[int], patch: Sequence[int]) -> PatchLayout:
    """Cut a grid of `shape` into patches of the extents `patch` along its first axes; further axes stay whole.

    Patches at the far edges are smaller where the extents do not divide the shape. ValueError for more extents than
    the grid has axes, or one below 1.
    """
    if len(patch) > len(shape):
        raise ValueError(f"expected a patch of at most {len(shape)} extents for the shape {tuple(shape)}, got {patch}")
    if any(extent < 1 for extent in patch):
        raise ValueError(f"expected extents of a patch of at least 1, got {tuple(patch)}")
    cut, extents = tuple(shape[: len(patch)]), np.array(patch, np.int64)
    counts = tuple(-(-n // extent) for n, extent in zip(cut, patch, strict=True))
    number = np.zeros((1,) * len(shape), np.int64)  # of the patch that each cell is in
    for axis, (n, extent, count) in enumerate(zip(cut, patch, counts, strict=True)):
        along = np.arange(n) // extent
        number = number * count + along.reshape((-1,) + (1,) * (len(shape) - axis - 1))
    number = np.broadcast_to(number, tuple(shape)).reshape(-1)
    num_patches = math.prod(counts) if len(number) else 0
    place = np.stack(np.unravel_index(np.arange(num_patches), counts), -1) if counts else np.zeros((num_patches, 0))
    offsets = np.zeros(num_patches + 1, np.int64)
    np.cumsum(np.bincount(number, minlength=num_patches), out=offsets[1:])
    place = place.astype(np.int64)
    return PatchLayout(
        cells=np.argsort(number, kind="stable"), offsets=offsets, corner=place * extents[: place.shape[1]], place=place
    )
