"""Proposition 4.9: forward changes never show the instance; reversed ones do unless the factors commute."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_operators import ANY, COMMUTING, ORTHOGONAL, RANDOM, WIDTH, Draw
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.journeys import (
    Rotations,
    commutator_size,
    forward_changes,
    instance_dependence,
    reversed_changes,
)


def draw_factors(draw: Draw, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return draw(random, 3).to_matrices(), draw(random, 4).to_matrices()


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_a_forward_change_of_role_never_depends_on_the_instance(draw: Draw, random: np.random.Generator) -> None:
    roles, instances = draw_factors(draw, random)

    changes = forward_changes(roles, instances)

    assert instance_dependence(changes) < 1e-9
    for e in range(4):
        np.testing.assert_allclose(changes[1, 2, e], roles[2] @ np.linalg.inv(roles[1]), rtol=0, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(COMMUTING), RANDOM)
def test_factors_that_commute_make_the_journey_ignore_the_instance(draw: Draw, random: np.random.Generator) -> None:
    roles, instances = draw_factors(draw, random)

    assert commutator_size(roles, instances) < 1e-10
    assert instance_dependence(reversed_changes(roles, instances)) < 1e-10


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ORTHOGONAL), RANDOM, st.sampled_from([0, 1e-6, 1e-3, 3]))
def test_for_rotations_the_dependence_is_the_commutator(draw: Draw, random: np.random.Generator, size: float) -> None:
    """Whether the instances are far from each other or next to each other."""
    roles = draw(random, 3).to_matrices()
    instances = draw(random).to_matrices() @ Rotations(random.uniform(-size, size, (4, WIDTH // 2))).to_matrices()

    dependence = instance_dependence(reversed_changes(roles, instances))

    assert dependence == pytest.approx(commutator_size(roles, instances), rel=1e-6, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([draw for draw in ANY if draw not in COMMUTING]), RANDOM)
def test_factors_that_do_not_commute_let_the_instance_show(draw: Draw, random: np.random.Generator) -> None:
    roles, instances = draw_factors(draw, random)

    assert commutator_size(roles, instances) > 1e-3
    assert instance_dependence(reversed_changes(roles, instances)) > 1e-3


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_only_steps_between_roles_and_between_instances_need_to_commute(
    draw: Draw, random: np.random.Generator
) -> None:
    """R_s = h g^s and R_e = g^e k: R_s^-1 R_t and R_e' R_e^-1 are powers of g, though the factors do not commute."""
    h, k = draw(random).to_matrices(), draw(random).to_matrices()
    powers = draw(random).power(np.array([0, 1, 2])).to_matrices()
    roles, instances = h @ powers, powers @ k

    assert commutator_size(roles, instances) < 1e-8
    assert instance_dependence(reversed_changes(roles, instances)) < 1e-8


@settings(deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_with_one_instance_there_is_nothing_to_depend_on(draw: Draw, random: np.random.Generator) -> None:
    roles, instance = draw(random, 3).to_matrices(), draw(random, 1).to_matrices()

    assert instance_dependence(reversed_changes(roles, instance)) == 0
