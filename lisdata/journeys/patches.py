"""Endpoints of a grid by patches, as vision models read it: coordinates, and the values of each patch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.contents import Role
from lisdata.journeys.arrays import Int64
from lisdata.patches import lay_patches
from lisdata.structure import Instance, Structure
from lisdata.vocabulary import CELL_SIDE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridEndpoints:
    """The P patches of a grid, row-major, each an endpoint of one role and instance.

    `coordinates` (P, axes of the patch) counts patches along each axis: the i_1 ... i_N of the address
    R_1^{i_1} ... R_N^{i_N} R_s R_e. `corner` is the same in cells. `values[p]` are those of patch p, in the shape that
    it has: a patch at a far edge may be smaller.
    """

    role: Role
    instance: Instance
    coordinates: Int64
    corner: Int64
    values: tuple[npt.NDArray[Any], ...]

    def __len__(self) -> int:
        return len(self.values)

    def stacked(self) -> npt.NDArray[Any]:
        """Return the values as one array (P, *patch, further axes); ValueError where patches differ in size."""
        shapes = {value.shape for value in self.values}
        if len(shapes) != 1:
            raise ValueError(f"expected patches of one shape, got {sorted(shapes)}")
        return np.stack(self.values)


def grid_endpoints(structure: Structure, patch: Sequence[int] | None = None) -> GridEndpoints:
    """Return the endpoints of a grid cut into patches of the extents `patch`, made on demand.

    The extents are along the first axes; further ones (the channels of an image) stay whole. Without a patch each cell
    is an endpoint. ValueError for what is no grid, or a patch that does not fit it.

    >>> from lisdata.schema import StructureKind
    >>> image = Structure(record_id="i", kind=StructureKind.GRID, instances=(Instance(label="image"),),
    ...                   tensor=np.arange(16).reshape(4, 4))
    >>> found = grid_endpoints(image, patch=(2, 2))
    >>> found.coordinates.tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> found.values[1].tolist()
    [[2, 3], [6, 7]]
    """
    tensor = structure.tensor
    if tensor is None or not structure.instances:
        raise ValueError(f"{structure.record_id}: expected a grid with its instance, got a {structure.kind.label}")
    extents = (1,) * tensor.ndim if patch is None else tuple(patch)
    layout = lay_patches(tensor.shape, extents)
    flat = tensor.reshape(-1)[layout.cells]
    kept = np.array(tensor.shape[: len(extents)], np.int64)
    sizes = np.minimum(np.array(extents, np.int64), kept - layout.corner)
    shapes = [(*size, *tensor.shape[len(extents) :]) for size in sizes.tolist()]
    values = (flat[a:b].reshape(s) for (a, b), s in zip(pairwise(layout.offsets.tolist()), shapes, strict=True))
    return GridEndpoints(
        role=Role(structure.instances[0].label, CELL_SIDE),
        instance=structure.instances[0],
        coordinates=layout.place,
        corner=layout.corner,
        values=tuple(values),
    )
