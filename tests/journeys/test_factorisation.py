"""Coordinate independence is factorisation, in both directions and over successive splits."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_operators import ANY, RANDOM, Draw, draw_pairs, draw_space_blocks
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.journeys import (
    Blocks,
    RoleInstanceAssignment,
    coordinate_dependence,
    factorise,
    find_gauge,
    multiply_factors,
)

SIZES = st.lists(st.integers(1, 3), min_size=1, max_size=3)
NEAR = {"rtol": 0, "atol": 1e-8}


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM, SIZES)
def test_a_product_of_factors_is_coordinate_independent_and_factors_again(
    draw: Draw, random: np.random.Generator, sizes: list[int]
) -> None:
    factors = [draw(random, size).to_matrices() for size in sizes]
    addresses = multiply_factors(factors)

    found = factorise(addresses)

    assert addresses.shape[:-2] == tuple(sizes)
    assert coordinate_dependence(addresses) < 1e-9
    np.testing.assert_allclose(multiply_factors(found), addresses, **NEAR)
    for factor in found[:-1]:
        np.testing.assert_allclose(factor[0], np.eye(factor.shape[-1]), **NEAR)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM, st.integers(2, 3), st.integers(2, 3))
def test_the_role_factor_is_unique_once_its_first_is_the_identity(
    draw: Draw, random: np.random.Generator, num_roles: int, num_instances: int
) -> None:
    roles, instances = draw(random, num_roles).to_matrices(), draw(random, num_instances).to_matrices()

    found_roles, found_instances = factorise(multiply_factors([roles, instances]))

    np.testing.assert_allclose(found_roles, roles @ np.linalg.inv(roles[0]), **NEAR)
    np.testing.assert_allclose(find_gauge(instances, found_instances), roles[0], **NEAR)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_position_role_and_instance_come_apart(draw: Draw, random: np.random.Generator) -> None:
    assignment = RoleInstanceAssignment(roles=draw(random, 2), instances=draw(random, 3), position=draw(random))
    p, s, e = np.meshgrid(np.arange(4), np.arange(2), np.arange(3), indexing="ij")

    positions, roles, _ = factorise(assignment.address(s, e, p).to_matrices())

    generator = assignment.position
    assert generator is not None
    np.testing.assert_allclose(positions, generator.power(np.arange(4)).to_matrices(), rtol=0, atol=1e-7)
    expected = assignment.roles.to_matrices()
    np.testing.assert_allclose(roles, expected @ np.linalg.inv(expected[0]), **NEAR)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM, st.integers(0, 1), st.integers(0, 2))
def test_one_address_changed_leaves_no_factors(draw: Draw, random: np.random.Generator, a: int, b: int) -> None:
    addresses = multiply_factors([draw(random, 2).to_matrices(), draw(random, 3).to_matrices()])
    addresses[a, b] = addresses[a, b] * 1.5

    assert coordinate_dependence(addresses) > 0.1
    with pytest.raises(ValueError, match="coordinate 0 has no factor"):
        factorise(addresses)


def test_the_order_of_factors_is_the_order_of_the_split() -> None:
    random = np.random.default_rng(0)
    first, second = draw_space_blocks(random, 2).to_matrices(), draw_space_blocks(random, 2).to_matrices()
    addresses = second[None, :] @ first[:, None]  # R_b R_a: independent in b, not in a

    assert coordinate_dependence(np.swapaxes(addresses, 0, 1)) < 1e-10
    assert coordinate_dependence(addresses) > 0.1


def test_the_second_split_is_named_where_it_fails() -> None:
    random = np.random.default_rng(0)
    positions, rest = draw_pairs(random, 3).to_matrices(), draw_space_blocks(random, 2, 2).to_matrices()

    with pytest.raises(ValueError, match="coordinate 1 has no factor"):
        factorise(positions[:, None, None] @ rest)


def test_addresses_over_no_coordinates_are_refused() -> None:
    with pytest.raises(ValueError, match="over coordinates, got shape"):
        factorise(np.eye(4))
    with pytest.raises(ValueError, match="over coordinates, got shape"):
        factorise(Blocks(np.zeros((0, 1, 4, 4))).to_matrices())
