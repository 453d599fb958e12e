"""Theorem 4.4: a journey rule is consistent exactly when it comes from addresses, unique up to a gauge."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_operators import ANY, RANDOM, WIDTH, Draw
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.journeys import addresses_of_rule, find_gauge, inconsistency, pairwise_journeys, rule_of_addresses

T = 4


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_the_rule_of_addresses_is_consistent(draw: Draw, random: np.random.Generator) -> None:
    addresses = draw(random, T)

    rule = rule_of_addresses(addresses.to_matrices())

    assert inconsistency(rule) < 1e-10
    np.testing.assert_allclose(rule, pairwise_journeys(addresses).to_matrices(), rtol=0, atol=1e-10)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM, st.integers(0, T - 1))
def test_a_consistent_rule_has_addresses_from_any_origin(draw: Draw, random: np.random.Generator, origin: int) -> None:
    original = draw(random, T).to_matrices()
    rule = rule_of_addresses(original)

    found = addresses_of_rule(rule, origin=origin)

    np.testing.assert_allclose(rule_of_addresses(found), rule, rtol=0, atol=1e-9)
    gauge = find_gauge(original, found)
    np.testing.assert_allclose(gauge, np.linalg.inv(original[origin]), rtol=0, atol=1e-9)
    np.testing.assert_allclose(gauge @ original, found, rtol=0, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM, st.integers(0, T - 1), st.integers(0, T - 1), st.floats(1e-3, 1))
def test_a_rule_with_one_journey_changed_has_no_addresses(
    draw: Draw, random: np.random.Generator, i: int, j: int, size: float
) -> None:
    rule = rule_of_addresses(draw(random, T).to_matrices()).copy()
    rule[i, j] += size * np.eye(WIDTH)

    assert inconsistency(rule) > size / 8
    with pytest.raises(ValueError, match="expected a consistent rule, got one that is off by"):
        addresses_of_rule(rule)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_addresses_of_two_rules_are_no_gauge_apart(draw: Draw, random: np.random.Generator) -> None:
    first = draw(random, T).to_matrices()
    second = first.copy()
    second[1] = second[1] @ draw(random).to_matrices()

    with pytest.raises(ValueError, match="gauges that differ by"):
        find_gauge(first, second)
