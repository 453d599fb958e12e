"""Operators for property tests: rotations that commute, rotations that do not, and general invertible blocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from lisdata.journeys import Blocks, Rotations, draw_orthogonal

WIDTH = 8
Operators = Rotations | Blocks
Draw = Callable[..., Operators]

RANDOM: st.SearchStrategy[np.random.Generator] = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def draw_pairs(random: np.random.Generator, *shape: int) -> Rotations:
    return Rotations(random.uniform(-4, 4, (*shape, WIDTH // 2)))


def draw_plane_blocks(random: np.random.Generator, *shape: int) -> Blocks:
    return Blocks.from_skew(random.uniform(-4, 4, (*shape, WIDTH // 2, 1)))


def draw_space_blocks(random: np.random.Generator, *shape: int) -> Blocks:
    return Blocks.from_skew(random.uniform(-2, 2, (*shape, WIDTH // 4, 6)))


def draw_general(random: np.random.Generator, *shape: int) -> Blocks:
    """One block of GL(D), with singular values from 1/2 to 2."""
    left, right = (draw_orthogonal(random, shape, WIDTH, WIDTH).matrices for _ in range(2))
    return Blocks((left * np.exp2(random.uniform(-1, 1, (*shape, 1, 1, WIDTH)))) @ right)


COMMUTING: list[Draw] = [draw_pairs, draw_plane_blocks]
ORTHOGONAL: list[Draw] = [*COMMUTING, draw_space_blocks]
ANY: list[Draw] = [*ORTHOGONAL, draw_general]
