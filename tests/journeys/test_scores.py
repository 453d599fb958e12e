"""Journeys obey the cocycle law, scores read journeys alone, and moved values are RotatE."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_operators import ANY, RANDOM, WIDTH, Draw
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.journeys import (
    RoleInstanceAssignment,
    Rotations,
    attend,
    attention_scores,
    journey,
    pairwise_journeys,
    relation_rotation,
)

T = 5
NEAR = {"rtol": 0, "atol": 1e-10}


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_journeys_compose_and_stay_at_rest(draw: Draw, random: np.random.Generator) -> None:
    P = pairwise_journeys(draw(random, T)).to_matrices()

    for i in range(T):
        np.testing.assert_allclose(P[i, i], np.eye(WIDTH), **NEAR)
        for j in range(T):
            np.testing.assert_allclose(P[i, j] @ P[j], P[i], **NEAR)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_journeys_do_not_feel_a_gauge(draw: Draw, random: np.random.Generator) -> None:
    addresses, gauge = draw(random, T), draw(random)

    changed = gauge @ addresses

    np.testing.assert_allclose(
        pairwise_journeys(changed).to_matrices(), pairwise_journeys(addresses).to_matrices(), **NEAR
    )


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_scores_are_those_of_the_journeys(draw: Draw, random: np.random.Generator) -> None:
    target, source = draw(random, 3), draw(random, T)
    queries, keys = random.standard_normal((3, WIDTH)), random.standard_normal((T, WIDTH))

    scores = attention_scores(queries, keys, target, source)

    P = journey(target[:, None], source[None, :]).to_matrices()
    np.testing.assert_allclose(scores, np.einsum("ix,ijxy,jy->ij", queries, P, keys), **NEAR)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_a_journey_between_role_and_instance_is_the_written_one(draw: Draw, random: np.random.Generator) -> None:
    roles, instances = draw(random, 2), draw(random, 2)
    assignment = RoleInstanceAssignment(roles=roles, instances=instances)
    s, t = np.array(0), np.array(1)

    found = journey(assignment.address(t, t), assignment.address(s, s)).to_matrices()

    R_s, R_t, R_e, R_f = (m for operators in (roles, instances) for m in operators.to_matrices())
    np.testing.assert_allclose(found, np.linalg.inv(R_t @ R_f) @ R_s @ R_e, **NEAR)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM, st.booleans())
def test_attention_sums_values_as_written_or_moved_by_their_journey(
    draw: Draw, random: np.random.Generator, move_values: bool
) -> None:
    addresses = draw(random, T)
    queries, keys, values = random.standard_normal((3, T, WIDTH))
    is_open = np.tri(T, dtype=bool)

    attended = attend(queries, keys, values, addresses, is_open=is_open, move_values=move_values)

    P = pairwise_journeys(addresses).to_matrices()
    for i in range(T):
        scores = np.array([queries[i] @ P[i, j] @ keys[j] for j in range(i + 1)]) / np.sqrt(WIDTH)
        weights = np.exp(scores) / np.exp(scores).sum()
        moved = [P[i, j] @ values[j] if move_values else values[j] for j in range(i + 1)]
        np.testing.assert_allclose(attended[i], weights @ np.array(moved), **NEAR)


@settings(deadline=None)
@given(RANDOM)
def test_moved_values_are_turned_by_rotate_s_relation(random: np.random.Generator) -> None:
    roles = Rotations(random.uniform(-4, 4, (2, WIDTH // 2)))  # subject, object
    phase = relation_rotation(roles[0], roles[1]).angles
    subject, other = random.standard_normal((2, WIDTH))
    assignment = RoleInstanceAssignment(roles=roles, instances=Rotations(random.uniform(-4, 4, (1, WIDTH // 2))))
    addresses = assignment.address(np.array([0, 1]), np.array([0, 0]))
    sees_subject = np.array([[True, False], [True, False]])

    read = attend(
        np.zeros((2, WIDTH)), np.zeros((2, WIDTH)), np.stack([subject, other]), addresses,
        is_open=sees_subject, move_values=True,
    )  # fmt: skip

    complex_subject = subject[0::2] + 1j * subject[1::2]  # RotatE: t = h o r, |r_i| = 1
    rotated = complex_subject * np.exp(1j * phase)
    np.testing.assert_allclose(read[1], np.stack([rotated.real, rotated.imag], -1).ravel(), **NEAR)
    np.testing.assert_allclose(read[0], subject, **NEAR)


def test_one_open_key_takes_all_the_weight() -> None:
    vectors = np.random.default_rng(0).standard_normal((3, WIDTH))

    attended = attend(vectors, vectors, vectors, Rotations(np.zeros((3, WIDTH // 2))), is_open=np.eye(3, dtype=bool))

    assert attended == pytest.approx(vectors)
