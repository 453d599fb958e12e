"""Rotations of pairs: operators that commute, kept as angles. The reference for everything rotary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lisdata.journeys.arrays import Float64, Int64, pairs_of


@dataclass(frozen=True, slots=True, eq=False)
class Rotations:
    """Operators R(a) = diag(rot(a_1), ..., rot(a_{D/2})), one for each leading index of `angles` (..., D/2), radians.

    rot(a) turns the consecutive pair (x_0, x_1) as the complex number e^{ia} (x_0 + i x_1), the layout of
    `lisdata.models.rotary`. They commute, so products add angles; leading shapes broadcast.

    >>> quarter = Rotations(np.array([np.pi / 2]))
    >>> (quarter @ quarter.inverse()).angles
    array([0.])
    >>> quarter.apply(np.array([1.0, 0.0])).round(12)
    array([0., 1.])
    """

    angles: Float64

    def __post_init__(self) -> None:
        angles = np.asarray(self.angles, np.float64)
        if angles.ndim == 0:
            raise ValueError("expected angles (..., D/2), got a single number")
        object.__setattr__(self, "angles", angles)

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading shape: how many operators there are."""
        return self.angles.shape[:-1]

    @property
    def width(self) -> int:
        """The width D of the vectors they act on."""
        return 2 * int(self.angles.shape[-1])

    def __getitem__(self, index: Any) -> Rotations:
        return Rotations(self.angles[index])

    def __matmul__(self, other: Rotations) -> Rotations:
        return Rotations(self.angles + other.angles)

    def inverse(self) -> Rotations:
        """Return R^-1."""
        return Rotations(-self.angles)

    def power(self, exponents: Int64) -> Rotations:
        """Return R^p for integers p, whose shape broadcasts with that of the operators."""
        return Rotations(np.asarray(exponents, np.int64)[..., None] * self.angles)

    def take(self, numbers: Int64) -> Rotations:
        """Return the operators with these numbers, of the numbers' shape; a negative one stands for I."""
        numbers = np.asarray(numbers, np.int64)
        taken = np.zeros(numbers.shape + self.angles.shape[1:])
        taken[numbers >= 0] = self.angles[numbers[numbers >= 0]]
        return Rotations(taken)

    def apply(self, vectors: Float64) -> Float64:
        """Return R x for vectors x (..., D) that broadcast with the operators."""
        x, y = np.moveaxis(pairs_of(vectors), -1, 0)
        cos, sin = np.cos(self.angles), np.sin(self.angles)
        turned = np.stack([cos * x - sin * y, sin * x + cos * y], axis=-1)
        return turned.reshape(*turned.shape[:-2], self.width)

    def apply_contragredient(self, vectors: Float64) -> Float64:
        """Return R^-T x, which is R x since rotations are orthogonal."""
        return self.apply(vectors)

    def to_matrices(self) -> Float64:
        """Return the operators as matrices (..., D, D)."""
        return np.moveaxis(self[..., None, :].apply(np.eye(self.width)), -1, -2)
