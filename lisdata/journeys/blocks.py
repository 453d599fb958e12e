"""Block-diagonal operators: rotations that need not commute, and general invertible blocks as a reference."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from lisdata.journeys.arrays import Float64, Int64
from lisdata.journeys.rotations import Rotations


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Operators A = diag(A_1, ..., A_N) in GL(D), D = N b: one for each leading index of `matrices` (..., N, b, b).

    Blocks of 2 x 2 rotations commute. Of 4 x 4 blocks even rotations do not: they can say in which order role and
    instance act (LIS Proposition 4.9). One block of b = D is any matrix of GL(D). Leading shapes broadcast.
    """

    matrices: Float64

    def __post_init__(self) -> None:
        matrices = np.asarray(self.matrices, np.float64)
        if matrices.ndim < 3 or matrices.shape[-1] != matrices.shape[-2]:
            raise ValueError(f"expected square blocks (..., N, b, b), got shape {matrices.shape}")
        object.__setattr__(self, "matrices", matrices)

    @classmethod
    def from_skew(cls, generators: Float64) -> Blocks:
        """Return the rotations exp(S), S the skew matrices whose upper triangles are `generators` (..., N, b(b-1)/2).

        Those of b = 2 turn by -g, since S = [[0, g], [-g, 0]]; b = 4 has six numbers a block.
        """
        generators = np.asarray(generators, np.float64)
        size = (1 + isqrt(1 + 8 * generators.shape[-1])) // 2
        if size * (size - 1) // 2 != generators.shape[-1] or size < 2:
            raise ValueError(f"expected b(b-1)/2 numbers a block, got {generators.shape[-1]}")
        skew = np.zeros((*generators.shape[:-1], size, size))
        row, column = np.triu_indices(size, 1)
        skew[..., row, column] = generators
        return cls(exponential_of_skew(skew - np.swapaxes(skew, -1, -2)))

    @classmethod
    def from_rotations(cls, rotations: Rotations, block_size: int = 2) -> Blocks:
        """Return rotations of pairs as blocks of an even size that divides their width."""
        if block_size % 2 or block_size < 2 or rotations.width % block_size:
            raise ValueError(f"expected an even block size that divides {rotations.width}, got {block_size}")
        matrices = rotations.to_matrices()
        begins = range(0, rotations.width, block_size)
        blocks = [matrices[..., b : b + block_size, b : b + block_size] for b in begins]
        return cls(np.stack(blocks, axis=-3))

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading shape: how many operators there are."""
        return self.matrices.shape[:-3]

    @property
    def width(self) -> int:
        """The width D of the vectors they act on."""
        return int(self.matrices.shape[-3] * self.matrices.shape[-1])

    def __getitem__(self, index: Any) -> Blocks:
        return Blocks(self.matrices[index])

    def __matmul__(self, other: Blocks) -> Blocks:
        return Blocks(self.matrices @ other.matrices)

    def inverse(self) -> Blocks:
        """Return A^-1; raise ValueError (LinAlgError) where a block has none."""
        inverse = np.linalg.inv(self.matrices).astype(np.float64, copy=False)
        return Blocks(inverse)

    def power(self, exponents: Int64) -> Blocks:
        """Return A^p for integers p, whose shape broadcasts with that of the operators."""
        exponents = np.asarray(exponents, np.int64)[..., None, None, None]
        square = np.where(exponents < 0, self.inverse().matrices, self.matrices)
        result = np.broadcast_to(np.eye(square.shape[-1]), square.shape)
        remaining = np.abs(exponents)
        while remaining.any():
            result = np.where(remaining % 2 == 1, result @ square, result)
            remaining = remaining // 2
            square = square @ square
        return Blocks(result)

    def take(self, numbers: Int64) -> Blocks:
        """Return the operators with these numbers, of the numbers' shape; a negative one stands for I."""
        numbers = np.asarray(numbers, np.int64)
        taken = np.zeros(numbers.shape + self.matrices.shape[1:])
        taken[...] = np.eye(self.matrices.shape[-1])
        taken[numbers >= 0] = self.matrices[numbers[numbers >= 0]]
        return Blocks(taken)

    def apply(self, vectors: Float64) -> Float64:
        """Return A x for vectors x (..., D) that broadcast with the operators."""
        return self._times(self.matrices, vectors)

    def apply_contragredient(self, vectors: Float64) -> Float64:
        """Return A^-T x: what the query side needs where A is not orthogonal."""
        return self._times(np.swapaxes(self.inverse().matrices, -1, -2), vectors)

    def _times(self, matrices: Float64, vectors: Float64) -> Float64:
        num_blocks, size = matrices.shape[-3], matrices.shape[-1]
        vectors = np.asarray(vectors, np.float64)
        parts = vectors.reshape(*vectors.shape[:-1], num_blocks, size, 1)
        product: Float64 = (matrices @ parts)[..., 0]
        return product.reshape(*product.shape[:-2], num_blocks * size)

    def to_matrices(self) -> Float64:
        """Return the operators as matrices (..., D, D)."""
        columns = self[..., None, :, :, :].apply(np.eye(self.width))
        return np.swapaxes(columns, -1, -2)


def exponential_of_skew(skew: Float64) -> Float64:
    """Return exp(S), a rotation, of real skew-symmetric matrices S (..., b, b).

    iS is Hermitian, iS = V diag(l) V*, so exp(S) = V diag(e^{-il}) V*: exact to rounding for any size of S.
    """
    values, vectors = np.linalg.eigh(1j * np.asarray(skew, np.float64))
    product = (vectors * np.exp(-1j * values)[..., None, :]) @ np.conj(np.swapaxes(vectors, -1, -2))
    exponential: Float64 = product.real
    return exponential


def draw_orthogonal(generator: np.random.Generator, shape: tuple[int, ...], width: int, block_size: int = 4) -> Blocks:
    """Draw free orthogonal operators, each block uniform (Haar) in O(b): a table of learned identifiers at its start.

    Raise ValueError unless `block_size` divides `width`.
    """
    if block_size < 1 or width % block_size:
        raise ValueError(f"expected a block size that divides {width}, got {block_size}")
    normal = generator.standard_normal((*shape, width // block_size, block_size, block_size))
    q, r = np.linalg.qr(normal)
    signs = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    return Blocks(q * signs[..., None, :])
