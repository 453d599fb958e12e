"""Appendix B: the bounds hold, those that can be reached are, and an unseen label can score anything."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_operators import ANY, RANDOM, WIDTH, Draw
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.journeys import (
    Blocks,
    LearnedIdentifiers,
    Rotations,
    angles_reaching,
    attention_scores,
    content_modulus,
    draw_orthogonal,
    journey,
    offset_modulus,
    operator_modulus,
    operator_reaching,
    rope_addresses,
    rotary_frequencies,
    rotation_modulus,
    score_limit,
)
from lisdata.journeys.bounds import pair_products

ROUNDING = 1e-9
SHARES = st.floats(-1, 1)


def score(query: np.ndarray, key: np.ndarray, operator: np.ndarray) -> float:
    return float(query @ operator @ key)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_a_score_moves_no_more_than_its_journey(draw: Draw, random: np.random.Generator) -> None:
    first, second = draw(random).to_matrices(), draw(random).to_matrices()
    query, key = random.standard_normal((2, WIDTH))

    moved = abs(score(query, key, first) - score(query, key, second))

    assert moved <= operator_modulus(query, key, first, second) + ROUNDING


@settings(deadline=None)
@given(RANDOM, st.floats(0, 8))
def test_a_score_moves_no_more_than_its_angles(random: np.random.Generator, size: float) -> None:
    angles, change = random.uniform(-4, 4, WIDTH // 2), random.uniform(-size, size, WIDTH // 2)
    query, key = random.standard_normal((2, WIDTH))
    first, second = (Rotations(a).to_matrices() for a in (angles, angles + change))

    bound = rotation_modulus(query, key, change)

    assert abs(score(query, key, first) - score(query, key, second)) <= bound + ROUNDING
    assert bound == pytest.approx(operator_modulus(query, key, first, second), abs=1e-7)
    assert bound <= score_limit(query, key) * np.abs(change).max() + ROUNDING


@settings(deadline=None)
@given(RANDOM, st.floats(0, 3))
def test_a_score_moves_no_more_than_the_content_it_is_addressed_by(random: np.random.Generator, size: float) -> None:
    weight = random.standard_normal((WIDTH // 2, 5))
    content, step = random.standard_normal((2, 5))
    other = content + size * step
    query, key = random.standard_normal((2, WIDTH))
    addresses = Rotations(np.stack([weight @ content, weight @ other]))
    lipschitz = float(np.linalg.norm(weight, axis=1).max())

    moved = np.ptp(attention_scores(query[None], np.stack([key, key]), Rotations(np.zeros(WIDTH // 2)), addresses))

    distance = float(np.linalg.norm(other - content))
    assert moved <= content_modulus(query, key, lipschitz, distance) + ROUNDING
    assert content_modulus(query, key, lipschitz, 1e9) == 2 * score_limit(query, key)


@settings(deadline=None)
@given(RANDOM, st.integers(-4096, 4096), st.integers(-4096, 4096), st.integers(0, 4096))
def test_moving_an_offset_moves_a_score_by_its_modulus_at_most(
    random: np.random.Generator, i: int, j: int, shift: int
) -> None:
    frequencies = rotary_frequencies(WIDTH)
    query, key = random.standard_normal((2, WIDTH))
    P, shifted = (
        journey(*rope_addresses(np.array([i, j + moved]), frequencies)[:, None]).to_matrices()[0]
        for moved in (0, shift)
    )

    moved = abs(score(query, key, shifted) - score(query, key, P))

    assert moved <= offset_modulus(query, key, frequencies, shift) + 1e-8


@settings(deadline=None)
@given(RANDOM, st.integers(0, 4096), st.integers(-50, 50))
def test_some_query_and_key_of_these_lengths_reach_the_offset_modulus(
    random: np.random.Generator, shift: int, offset: int
) -> None:
    """cos(x + d) - cos(x) = -2 sin(x + d/2) sin(d/2): turn each key pair so that |sin(x + d/2)| = 1, signs agreeing."""
    frequencies = rotary_frequencies(WIDTH)
    query, length = random.standard_normal(WIDTH), random.uniform(0.1, 2, WIDTH // 2)
    wanted = np.pi / 2 * np.sign(np.sin(shift * frequencies / 2)) - shift * frequencies / 2 - offset * frequencies
    unit = Rotations(wanted).apply(query).reshape(-1, 2)
    key = (unit / np.linalg.norm(unit, axis=-1, keepdims=True) * length[:, None]).ravel()

    P, shifted = (Rotations(frequencies * o).to_matrices() for o in (offset, offset + shift))

    moved = abs(score(query, key, shifted) - score(query, key, P))
    assert moved == pytest.approx(offset_modulus(query, key, frequencies, shift), rel=1e-6, abs=1e-9)


@settings(deadline=None)
@given(RANDOM, SHARES, st.integers(2, 9))
def test_a_free_operator_gives_any_score_up_to_the_limit(random: np.random.Generator, share: float, width: int) -> None:
    query, key = random.standard_normal((2, width))
    wanted = share * score_limit(query, key)

    operator = operator_reaching(query, key, wanted)

    np.testing.assert_allclose(operator @ operator.T, np.eye(width), rtol=0, atol=1e-12)
    assert score(query, key, operator) == pytest.approx(wanted, rel=0, abs=1e-10)


@settings(deadline=None)
@given(st.floats(-1e-7, 1e-7), st.sampled_from([-1.0, 1.0]))
def test_reaching_stays_exact_next_to_the_identity_and_its_opposite(turn: float, sign: float) -> None:
    query = np.array([1.0, 2.0, 2.0])
    key = sign * np.array([1.0, 2.0 + turn, 2.0 - turn])
    wanted = score_limit(query, key)

    assert score(query, key, operator_reaching(query, key, wanted)) == pytest.approx(wanted, rel=1e-13)


@settings(deadline=None)
@given(RANDOM, SHARES)
def test_free_angles_give_any_score_up_to_the_sum_of_their_pairs(random: np.random.Generator, share: float) -> None:
    query, key = random.standard_normal((2, WIDTH))
    limit = pair_products(query, key).sum()

    rotation = Rotations(angles_reaching(query, key, share * limit)).to_matrices()

    assert score(query, key, rotation) == pytest.approx(share * limit, rel=0, abs=1e-10)
    assert limit <= score_limit(query, key) + ROUNDING


@settings(deadline=None)
@given(st.sampled_from(ANY[:3]), RANDOM)
def test_no_orthogonal_journey_scores_beyond_the_limit(draw: Draw, random: np.random.Generator) -> None:
    query, key = random.standard_normal((2, WIDTH))

    assert abs(score(query, key, draw(random).to_matrices())) <= score_limit(query, key) + ROUNDING


@settings(deadline=None)
@given(RANDOM)
def test_tables_that_agree_on_every_known_label_differ_on_a_new_one_by_twice_the_limit(
    random: np.random.Generator,
) -> None:
    """The indistinguishability of appendix B, from the address of a known label."""
    known = draw_orthogonal(random, (2,), WIDTH, WIDTH)
    query, key = random.standard_normal((2, WIDTH))
    limit = score_limit(query, key)
    tables = []
    for wanted in (limit, -limit):
        new = known[0] @ Blocks(operator_reaching(query, key, wanted)[None])
        both = Blocks(np.concatenate([known.matrices, new.matrices[None]]))
        tables.append(LearnedIdentifiers(labels=("a", "b", "new"), operators=both))

    found = [
        attention_scores(query[None], np.stack([key, key]), table.of_labels(["a"]), table.of_labels(["b", "new"]))[0]
        for table in tables
    ]

    assert found[0][0] == found[1][0]
    assert found[0][1] - found[1][1] == pytest.approx(2 * limit)


def test_scores_out_of_reach_are_refused() -> None:
    query, key = np.array([3.0, 4.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0, 0.0])

    assert score_limit(query, key) == 5
    with pytest.raises(ValueError, match=r"gives 5\.1: the limit is 5\.0"):
        operator_reaching(query, key, 5.1)
    with pytest.raises(ValueError, match="of width 1"):
        operator_reaching(query[:1], key[:1], 0)
    with pytest.raises(ValueError, match=r"gives 0\.1: the limit is 0\.0"):
        angles_reaching(query, key, 0.1)


def test_a_query_of_zeros_scores_nothing_whatever_the_operator() -> None:
    key = np.array([1.0, 2.0])

    np.testing.assert_array_equal(operator_reaching(np.zeros(2), key, 0.0), np.eye(2))
    assert np.isfinite(angles_reaching(np.zeros(2), key, 0.0)).all()
