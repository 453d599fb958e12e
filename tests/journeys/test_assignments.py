"""RoPE, RoPE-2D and HiRoPE are special cases; content gives addresses by one rule, identifiers by a table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn_operators import ANY, RANDOM, WIDTH, Draw
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.journeys import (
    LearnedIdentifiers,
    RoleInstanceAssignment,
    Rotations,
    attention_scores,
    axial_addresses,
    content_operators,
    draw_orthogonal,
    hirope_addresses,
    pairwise_journeys,
    pool_instances,
    rope_2d_addresses,
    rope_addresses,
    rotary_frequencies,
)

POSITIONS = st.lists(st.integers(0, 4096), min_size=1, max_size=6)
POINTS = st.lists(st.tuples(st.integers(0, 63), st.integers(0, 63)), min_size=1, max_size=6)


def rotate_pairs(vector: list[float], angles: list[float]) -> list[float]:
    """Rotary embedding as it is usually written, one pair after another, with nothing of lisdata."""
    turned = []
    for b, angle in enumerate(angles):
        x, y = vector[2 * b], vector[2 * b + 1]
        turned += [x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)]
    return turned


def rotary_scores(queries: np.ndarray, keys: np.ndarray, angles: list[list[float]]) -> list[list[float]]:
    turned_queries = [rotate_pairs(q, a) for q, a in zip(queries.tolist(), angles, strict=True)]
    turned_keys = [rotate_pairs(k, a) for k, a in zip(keys.tolist(), angles, strict=True)]
    return [[math.fsum(x * y for x, y in zip(q, k, strict=True)) for k in turned_keys] for q in turned_queries]


def drawn_vectors(random: np.random.Generator, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Queries and keys of length 1, so that scores do not hide errors behind their size."""
    vectors = random.standard_normal((2, length, WIDTH))
    queries, keys = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return queries, keys


@settings(deadline=None)
@given(RANDOM, POSITIONS)
def test_one_instance_of_positions_is_rope(random: np.random.Generator, positions: list[int]) -> None:
    queries, keys = drawn_vectors(random, len(positions))
    angles = [[p * 10_000 ** (-2 * b / WIDTH) for b in range(WIDTH // 2)] for p in positions]
    sequence = RoleInstanceAssignment(
        roles=Rotations(np.zeros((1, WIDTH // 2))),
        instances=Rotations(random.uniform(-3, 3, (1, WIDTH // 2))),
        position=Rotations(rotary_frequencies(WIDTH)),
    )
    nothing = np.zeros(len(positions), np.int64)
    expected = rotary_scores(queries, keys, angles)

    rope = rope_addresses(np.array(positions), rotary_frequencies(WIDTH))
    address = sequence.address(nothing, nothing, np.array(positions))

    np.testing.assert_allclose(attention_scores(queries, keys, rope, rope), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(attention_scores(queries, keys, address, address), expected, rtol=0, atol=3e-12)


@settings(deadline=None)
@given(RANDOM, POINTS)
def test_a_plane_of_coordinates_is_rope_2d(random: np.random.Generator, points: list[tuple[int, int]]) -> None:
    queries, keys = drawn_vectors(random, len(points))
    quarter = [100 ** (-4 * b / WIDTH) for b in range(WIDTH // 4)]
    angles = [[x * w for w in quarter] + [y * w for w in quarter] for x, y in points]

    address = rope_2d_addresses(np.array(points), WIDTH)

    expected = rotary_scores(queries, keys, angles)
    np.testing.assert_allclose(attention_scores(queries, keys, address, address), expected, rtol=0, atol=1e-12)


@settings(deadline=None)
@given(RANDOM, POINTS, st.integers(0, WIDTH // 2) | st.none())
def test_two_levels_on_split_dimensions_are_hirope(
    random: np.random.Generator, points: list[tuple[int, int]], num_token_pairs: int | None
) -> None:
    queries, keys = drawn_vectors(random, len(points))
    split = WIDTH // 4 if num_token_pairs is None else num_token_pairs
    angles = [
        [(low if b < split else high) * 10_000 ** (-2 * b / WIDTH) for b in range(WIDTH // 2)] for low, high in points
    ]

    token, level = np.array(points).T
    address = hirope_addresses(token, level, WIDTH, num_token_pairs=num_token_pairs)

    expected = rotary_scores(queries, keys, angles)
    np.testing.assert_allclose(attention_scores(queries, keys, address, address), expected, rtol=0, atol=1e-12)


@settings(deadline=None)
@given(POSITIONS)
def test_an_axis_alone_is_rope(positions: list[int]) -> None:
    frequencies = rotary_frequencies(WIDTH)

    axial = axial_addresses(np.array(positions)[:, None], [frequencies])

    np.testing.assert_array_equal(axial.angles, rope_addresses(np.array(positions), frequencies).angles)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_addresses_are_position_then_role_then_instance(draw: Draw, random: np.random.Generator) -> None:
    roles, instances, generator = draw(random, 2), draw(random, 3), draw(random)
    assignment = RoleInstanceAssignment(roles=roles, instances=instances, position=generator)
    p, s, e = np.array([0, 3, 2, 1]), np.array([1, 0, 1, -1]), np.array([2, -1, 0, -1])

    found = assignment.address(s, e, p).to_matrices()

    eye, R = np.eye(WIDTH), generator.to_matrices()
    R_s, R_e = (np.concatenate([operators.to_matrices(), [eye]]) for operators in (roles, instances))
    expected = [np.linalg.matrix_power(R, n) @ R_s[a] @ R_e[b] for n, a, b in zip(p, s, e, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(assignment.address(s, e).to_matrices(), R_s[s] @ R_e[e], rtol=0, atol=1e-9)


@settings(deadline=None)
@given(RANDOM)
def test_without_an_instance_factor_roles_and_positions_remain(random: np.random.Generator) -> None:
    roles, w = random.uniform(-3, 3, (2, WIDTH // 2)), rotary_frequencies(WIDTH)
    assignment = RoleInstanceAssignment(
        roles=Rotations(roles), instances=Rotations(np.zeros((0, WIDTH // 2))), position=Rotations(w)
    )

    address = assignment.address(np.array([0, 1]), np.array([-1, -1]), np.array([4, 9]))

    np.testing.assert_allclose(address.angles, roles + np.array([[4], [9]]) * w, rtol=0, atol=1e-12)


def test_positions_without_an_operator_are_refused() -> None:
    none = Rotations(np.zeros((1, 2)))

    with pytest.raises(ValueError, match="no position operator R_pos"):
        RoleInstanceAssignment(roles=none, instances=none).address(np.array([0]), np.array([0]), np.array([1]))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_the_content_of_an_instance_is_the_mean_of_its_addressed_members(
    draw: Draw, random: np.random.Generator
) -> None:
    local, vectors = draw(random, 5), random.standard_normal((5, WIDTH))

    pooled = pool_instances(vectors, local, np.array([1, 0, -1, 1, 1]), 3)

    moved = local.apply(vectors)
    np.testing.assert_allclose(pooled, [moved[1], moved[[0, 3, 4]].mean(0), np.zeros(WIDTH)], rtol=0, atol=1e-12)


@settings(deadline=None)
@given(RANDOM)
def test_instances_of_one_content_have_one_address_and_new_ones_need_no_parameter(random: np.random.Generator) -> None:
    weight = random.standard_normal((WIDTH, WIDTH // 2))
    roles = Rotations(random.uniform(-3, 3, (2, WIDTH // 2)))
    first, second = random.standard_normal((2, 2, WIDTH))

    def operators(*facts: np.ndarray) -> np.ndarray:
        instance = np.repeat(np.arange(len(facts)), 2)
        local = roles.take(np.tile([0, 1], len(facts)))
        found = content_operators(
            np.concatenate(facts), local, instance, len(facts), lambda content: Rotations(content @ weight)
        )
        return found.angles

    angles = operators(first, second, first, second[::-1])

    np.testing.assert_allclose(angles[0], angles[2], rtol=0, atol=1e-12)
    np.testing.assert_allclose(angles[1], operators(second)[0], rtol=0, atol=1e-12)
    assert np.abs(angles[1] - angles[3]).max() > 1e-6  # the same members in exchanged roles


def test_identifiers_have_operators_of_their_own_and_unseen_ones_none() -> None:
    operators = draw_orthogonal(np.random.default_rng(0), (2,), WIDTH)
    table = LearnedIdentifiers(labels=("Q42", "Q5"), operators=operators)

    np.testing.assert_array_equal(table.of_labels(["Q5", "Q42", "Q5"]).matrices, operators.matrices[[1, 0, 1]])
    with pytest.raises(ValueError, match="label 'Q7' has no operator: the table holds 2 others"):
        table.of_labels(["Q5", "Q7"])
    with pytest.raises(ValueError, match="expected 1 operators"):
        LearnedIdentifiers(labels=("Q42",), operators=operators)
    with pytest.raises(ValueError, match="distinct labels"):
        LearnedIdentifiers(labels=("Q42", "Q42"), operators=operators)


def test_a_sequence_far_along_has_the_journeys_of_its_beginning() -> None:
    frequencies = rotary_frequencies(WIDTH)

    near, far = (
        pairwise_journeys(rope_addresses(np.arange(5) + begin, frequencies)).to_matrices() for begin in (0, 4000)
    )

    np.testing.assert_allclose(far, near, rtol=0, atol=2e-12)


def test_widths_and_coordinates_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="positive even width, got 7"):
        rotary_frequencies(7)
    with pytest.raises(ValueError, match="a width that 4 divides, got 6"):
        rope_2d_addresses(np.zeros((1, 2), np.int64), 6)
    with pytest.raises(ValueError, match="expected 2 coordinates in the last axis"):
        rope_2d_addresses(np.zeros((1, 3), np.int64), 8)
    with pytest.raises(ValueError, match="expected 0 to 4 token pairs, got 5"):
        hirope_addresses(np.array([0]), np.array([0]), 8, num_token_pairs=5)
