"""Coordinate independence and factors (LIS section 4.2, the second half of Theorem 4.4).

Addresses over a product of coordinates are arrays (N_1, ..., N_k, D, D) in GL(D).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lisdata.journeys.arrays import TOLERANCE, Float64, largest_distance


def multiply_factors(factors: Sequence[Float64]) -> Float64:
    """Return A(a, b, ...) = R_a R_b ..., shape (N_1, ..., N_k, D, D), of factors (N_n, D, D)."""
    product = factors[0]
    for factor in factors[1:]:
        product = product[..., None, :, :] @ factor
    return product


def coordinate_dependence(addresses: Float64) -> float:
    """Return how much a change of the first coordinate depends on the others, as a Frobenius distance.

    The change D(a, a_0 | b) = A(a, b) A(a_0, b)^-1 does not depend on b exactly when A(a, b) = R_a R_b.
    """
    grid = _split_first(addresses)
    changes = grid @ np.linalg.inv(grid[:1])
    return largest_distance(changes, changes[:, :1])


def factorise(addresses: Float64, *, tolerance: float = TOLERANCE) -> tuple[Float64, ...]:
    """Return factors R_1 (N_1, D, D), ..., R_k with A(a, b, ...) = R_a R_b ..., by successive splits.

    Each split takes R_a := A(a, b_0) A(a_0, b_0)^-1, R_b := A(a_0, b), with 0 for a_0 and b_0: all factors but the
    last are I there. A(p, s, e) = R_pos^p R_s R_e comes from splitting position, then role, from the rest. Raise
    ValueError where a coordinate's change depends on those after it: then there are no factors.
    """
    if addresses.ndim < 3 or not all(addresses.shape[:-2]):
        raise ValueError(f"expected addresses (N_1, ..., N_k, D, D) over coordinates, got shape {addresses.shape}")
    factors: list[Float64] = []
    while addresses.ndim > 3:
        dependence = coordinate_dependence(addresses)
        if dependence > tolerance:
            raise ValueError(
                f"coordinate {len(factors)} has no factor: its changes depend on the coordinates after it, "
                f"by {dependence:.3g}"
            )
        grid = _split_first(addresses)
        factors.append(grid[:, 0] @ np.linalg.inv(grid[0, 0]))
        addresses = addresses[0]
    return (*factors, addresses)


def _split_first(addresses: Float64) -> Float64:
    """Return the addresses as (N_1, N_2 ... N_k, D, D): the first coordinate apart from all others together."""
    return addresses.reshape(addresses.shape[0], -1, *addresses.shape[-2:])
