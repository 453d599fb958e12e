"""Array types of journeys, and the distance by which operators are compared."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

TOLERANCE = 1e-9  # in float64: above rounding in products of well-conditioned operators, far below what a change makes


def largest_distance(first: Float64, second: Float64) -> float:
    """Return the largest Frobenius distance |X - Y| of matrices (..., D, D) that broadcast, 0.0 of none."""
    distances = np.linalg.norm(first - second, axis=(-2, -1))
    return float(np.max(distances, initial=0.0))


def pairs_of(vectors: Float64) -> Float64:
    """Return vectors (..., D) as the pairs (..., D/2, 2) that rotations turn; ValueError where D is odd."""
    vectors = np.asarray(vectors, np.float64)
    if vectors.ndim == 0 or vectors.shape[-1] % 2:
        raise ValueError(f"expected vectors of even width, got shape {vectors.shape}")
    return vectors.reshape(*vectors.shape[:-1], -1, 2)
