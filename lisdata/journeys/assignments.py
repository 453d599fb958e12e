"""From coordinates to operators: the assignments of LIS section 4.2, those of rotary schemes among them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np

from lisdata.journeys.arrays import Float64, Int64
from lisdata.journeys.rotations import Rotations
from lisdata.journeys.scores import OperatorsT


def rotary_frequencies(width: int, base: float = 10_000.0) -> Float64:
    """Return w_i = base^(-2i / width) for i = 0 .. width/2 - 1: the angles by which R_pos turns each pair."""
    if width < 2 or width % 2:
        raise ValueError(f"expected a positive even width, got {width}")
    return np.power(base, -np.arange(0, width, 2) / width)


def rope_addresses(position: Int64, frequencies: Float64) -> Rotations:
    """Return A(t) = R^t, R the rotation by `frequencies` (D/2,), for positions of any shape (LIS Proposition 4.7)."""
    return Rotations(frequencies).power(position)


def axial_addresses(coordinates: Int64, frequencies: Sequence[Float64]) -> Rotations:
    """Return A(i_1, ..., i_N) = R_1^{i_1} ... R_N^{i_N} for coordinates (..., N).

    R_n turns its own pairs by `frequencies[n]` and leaves those of the other axes alone.
    """
    coordinates = np.asarray(coordinates, np.int64)
    if coordinates.shape[-1:] != (len(frequencies),):
        raise ValueError(f"expected {len(frequencies)} coordinates in the last axis, got shape {coordinates.shape}")
    angles = [coordinates[..., n, None] * frequency for n, frequency in enumerate(frequencies)]
    return Rotations(np.concatenate(angles, axis=-1))


def rope_2d_addresses(coordinates: Int64, width: int, base: float = 100.0) -> Rotations:
    """Return RoPE-2D, A(x, y) = R_x^x R_y^y, for coordinates (..., 2) (LIS Proposition 4.7).

    x turns the first quarter of the width in pairs, y the next, both by base^(-4i / width).
    """
    if width % 4:
        raise ValueError(f"expected a width that 4 divides, got {width}")
    return axial_addresses(coordinates, [rotary_frequencies(width // 2, base)] * 2)


def hirope_addresses(
    token: Int64, level: Int64, width: int, *, num_token_pairs: int | None = None, base: float = 10_000.0
) -> Rotations:
    """Return HiRoPE, A(l, h) = R_l^l R_h^h: the token inside its unit, and the unit's number (LIS Proposition 4.7).

    Every pair keeps its frequency of RoPE; the first `num_token_pairs` (default half) turn with `token`, the others
    with `level`.
    """
    frequencies = rotary_frequencies(width, base)
    split = len(frequencies) // 2 if num_token_pairs is None else num_token_pairs
    if not 0 <= split <= len(frequencies):
        raise ValueError(f"expected 0 to {len(frequencies)} token pairs, got {split}")
    return axial_addresses(np.stack([token, level], axis=-1), [frequencies[:split], frequencies[split:]])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoleInstanceAssignment(Generic[OperatorsT]):
    """A role-instance operator assignment (G, {R_s}, {R_e}) (LIS Definition 4.5), and R_pos where position is apart.

    `roles` has shape (S,), `instances` (E,), `position` shape (): the generator R_pos.
    """

    roles: OperatorsT
    instances: OperatorsT
    position: OperatorsT | None = None

    def address(self, role: Int64, instance: Int64, position: Int64 | None = None) -> OperatorsT:
        """Return A(p, s, e) = R_pos^p R_s R_e, or A(s, e) = R_s R_e without positions, in the arrays' common shape.

        A negative role or instance stands for I: text has no role, and A(p, s) = R_pos^p R_s is the case without an
        instance factor. Raise ValueError for positions where there is no R_pos.
        """
        addresses = self.roles.take(role) @ self.instances.take(instance)
        if position is None:
            return addresses
        if self.position is None:
            raise ValueError("there is no position operator R_pos: fold positions into roles, or give one")
        return self.position.power(position) @ addresses


def pool_instances(vectors: Float64, local: OperatorsT, instance: Int64, num_instances: int) -> Float64:
    """Return the content of each instance, (E, D): the mean of A_local(i) x_i over its endpoints i.

    `vectors` x (T, D) embed the endpoints' contents, `local` (T,) is their address without R_e. An endpoint with a
    negative instance belongs to none; an instance without endpoints has content 0.
    """
    instance = np.asarray(instance, np.int64)
    is_member = instance >= 0
    total = np.zeros((num_instances, vectors.shape[-1]))
    np.add.at(total, instance[is_member], local.apply(vectors)[is_member])
    size = np.bincount(instance[is_member], minlength=num_instances)
    pooled: Float64 = total / np.maximum(size, 1)[:, None]
    return pooled


def content_operators(
    vectors: Float64,
    local: OperatorsT,
    instance: Int64,
    num_instances: int,
    phi: Callable[[Float64], OperatorsT],
) -> OperatorsT:
    """Return R_e = phi(content_e) of each instance, shape (E,): one rule for all, no parameter an instance.

    `phi` maps contents (E, D) to operators (E,); the rest is as for `pool_instances`. The paper's phi (appendix F) is
    Rotations(Linear(LayerNorm(content))).
    """
    return phi(pool_instances(vectors, local, instance, num_instances))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LearnedIdentifiers(Generic[OperatorsT]):
    """The baseline of LIS appendix B: an operator Phi_j of its own for each known label j, shape (number of labels,).

    Nothing in training says what a new label's operator is: see `bounds.operator_reaching`.
    """

    labels: tuple[Hashable, ...]
    operators: OperatorsT

    def __post_init__(self) -> None:
        if self.operators.shape != (len(self.labels),):
            raise ValueError(f"expected {len(self.labels)} operators, got shape {self.operators.shape}")
        if len(set(self.labels)) != len(self.labels):
            raise ValueError("expected distinct labels")

    def of_labels(self, labels: Sequence[Hashable]) -> OperatorsT:
        """Return the operators of `labels`; raise ValueError for one that the table does not have."""
        numbers = {label: number for number, label in enumerate(self.labels)}
        unseen = [label for label in labels if label not in numbers]
        if unseen:
            raise ValueError(f"label {unseen[0]!r} has no operator: the table holds {len(self.labels)} others")
        return self.operators.take(np.array([numbers[label] for label in labels], np.int64))
