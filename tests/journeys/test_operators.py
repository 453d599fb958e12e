"""Rotations and blocks are groups that act on vectors as their matrices do."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_operators import ANY, COMMUTING, ORTHOGONAL, RANDOM, WIDTH, Draw
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.journeys import Blocks, Rotations, draw_orthogonal
from lisdata.journeys.blocks import exponential_of_skew

NEAR = {"rtol": 0, "atol": 1e-12}


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_operators_act_as_their_matrices(draw: Draw, random: np.random.Generator) -> None:
    a, b, x = draw(random, 3), draw(random, 3), random.standard_normal((3, WIDTH))
    A, B = a.to_matrices(), b.to_matrices()

    np.testing.assert_allclose(a.apply(x), np.einsum("tij,tj->ti", A, x), **NEAR)
    np.testing.assert_allclose(
        a.apply_contragredient(x), np.linalg.solve(np.swapaxes(A, 1, 2), x[..., None])[..., 0], **NEAR
    )
    np.testing.assert_allclose((a @ b).to_matrices(), A @ B, **NEAR)
    np.testing.assert_allclose((a @ a.inverse()).to_matrices(), np.broadcast_to(np.eye(WIDTH), A.shape), **NEAR)
    assert a.width == WIDTH
    assert a.shape == (3,)
    assert a[1].shape == ()


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM, st.lists(st.integers(-6, 6), min_size=1, max_size=4))
def test_powers_are_repeated_products(draw: Draw, random: np.random.Generator, exponents: list[int]) -> None:
    operator = draw(random)

    powers = operator.power(np.array(exponents)).to_matrices()

    for power, exponent in zip(powers, exponents, strict=True):
        expected = np.linalg.matrix_power(operator.to_matrices(), exponent)
        np.testing.assert_allclose(power, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("draw", ANY)
def test_negative_numbers_take_the_identity(draw: Draw) -> None:
    table = draw(np.random.default_rng(0), 2)

    taken = table.take(np.array([[1, -1], [0, -9]])).to_matrices()

    first, second = table.to_matrices()
    np.testing.assert_allclose(taken, [[second, np.eye(WIDTH)], [first, np.eye(WIDTH)]], **NEAR)
    np.testing.assert_array_equal(table[:0].take(np.array([-1])).to_matrices(), np.eye(WIDTH)[None])
    with pytest.raises(IndexError):
        table.take(np.array([2]))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ORTHOGONAL), RANDOM)
def test_rotations_are_orthogonal_and_keep_orientation(draw: Draw, random: np.random.Generator) -> None:
    matrix = draw(random).to_matrices()

    np.testing.assert_allclose(matrix @ matrix.T, np.eye(WIDTH), **NEAR)
    assert np.linalg.det(matrix) == pytest.approx(1)


@settings(deadline=None)
@given(st.sampled_from(COMMUTING), RANDOM)
def test_rotations_of_pairs_commute(draw: Draw, random: np.random.Generator) -> None:
    a, b = draw(random), draw(random)

    np.testing.assert_allclose((a @ b).to_matrices(), (b @ a).to_matrices(), **NEAR)


@pytest.mark.parametrize("draw", [draw for draw in ANY if draw not in COMMUTING])
def test_larger_blocks_do_not_commute(draw: Draw) -> None:
    random = np.random.default_rng(0)
    a, b = draw(random), draw(random)

    assert np.abs((a @ b).to_matrices() - (b @ a).to_matrices()).max() > 0.1


@settings(deadline=None)
@given(RANDOM, st.integers(1, 6), st.floats(0, 20))
def test_the_exponential_of_a_skew_matrix_solves_its_equation(
    random: np.random.Generator, size: int, scale: float
) -> None:
    square = random.standard_normal((size, size)) * scale
    skew = square - square.T
    expected = np.eye(size)
    for order in range(40, 0, -1):  # Taylor's series of exp(S / 2^10), squared ten times
        expected = np.eye(size) + skew / 2**10 @ expected / order
    expected = np.linalg.matrix_power(expected, 2**10)

    np.testing.assert_allclose(exponential_of_skew(skew), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("block_size", [2, 4, 8])
def test_rotations_of_pairs_are_blocks_too(block_size: int) -> None:
    rotations = Rotations(np.random.default_rng(0).standard_normal((3, WIDTH // 2)))

    blocks = Blocks.from_rotations(rotations, block_size)

    assert blocks.matrices.shape == (3, WIDTH // block_size, block_size, block_size)
    np.testing.assert_array_equal(blocks.to_matrices(), rotations.to_matrices())


def test_plane_blocks_turn_by_their_generator_backwards() -> None:
    blocks = Blocks.from_skew(np.array([[0.5], [2.0]]))

    np.testing.assert_allclose(blocks.to_matrices(), Rotations(np.array([-0.5, -2.0])).to_matrices(), **NEAR)


@settings(deadline=None)
@given(RANDOM, st.sampled_from([1, 2, 4, 8]))
def test_drawn_operators_are_orthogonal(random: np.random.Generator, block_size: int) -> None:
    matrices = draw_orthogonal(random, (2, 3), WIDTH, block_size).to_matrices()

    assert matrices.shape == (2, 3, WIDTH, WIDTH)
    np.testing.assert_allclose(
        matrices @ np.swapaxes(matrices, -1, -2), np.broadcast_to(np.eye(WIDTH), matrices.shape), **NEAR
    )


def test_what_is_no_operator_is_refused() -> None:
    with pytest.raises(ValueError, match="got a single number"):
        Rotations(np.array(1.0))
    with pytest.raises(ValueError, match="square blocks"):
        Blocks(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="square blocks"):
        Blocks(np.zeros((1, 2, 3)))
    with pytest.raises(ValueError, match="got 2"):
        Blocks.from_skew(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="even block size that divides 8, got 3"):
        Blocks.from_rotations(Rotations(np.zeros(4)), 3)
    with pytest.raises(ValueError, match="block size that divides 8, got 3"):
        draw_orthogonal(np.random.default_rng(0), (), 8, 3)
    with pytest.raises(ValueError, match="even width"):
        Rotations(np.zeros(1)).apply(np.zeros(3))
    with pytest.raises(ValueError, match="Singular"):
        Blocks(np.zeros((1, 2, 2))).inverse()
