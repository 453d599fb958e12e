"""Theorem A.1 and packing: a layout's positions depend on lengths and order, structural addresses do not."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_operators import ANY, RANDOM, WIDTH, Draw
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lisdata.journeys import (
    RoleInstanceAssignment,
    Rotations,
    attention_scores,
    content_operators,
    factorise,
    find_offset_counterexample,
    pack_instances,
    rope_addresses,
    rotary_frequencies,
    serialized_starts,
)

FREQUENCIES = rotary_frequencies(WIDTH)
LENGTHS = st.integers(1, 3).flatmap(
    lambda num_roles: st.lists(
        st.lists(st.integers(1, 4), min_size=num_roles, max_size=num_roles), min_size=1, max_size=4
    )
)


def spelled_layout(lengths: list[int], num_markers: int) -> list[str]:
    """The layout token by token: 'm' a marker, the endpoint's number at its first token, '.' at the others."""
    tokens: list[str] = []
    for endpoint, length in enumerate(lengths):
        tokens += ["m"] * num_markers + [str(endpoint)] + ["."] * (length - 1)
    return tokens


@settings(deadline=None)
@given(st.lists(st.integers(1, 5), max_size=6), st.integers(0, 2))
def test_starts_are_those_of_the_written_layout(lengths: list[int], num_markers: int) -> None:
    layout = spelled_layout(lengths, num_markers)

    starts = serialized_starts(np.array(lengths, np.int64), num_markers=num_markers)

    assert starts.tolist() == [layout.index(str(endpoint)) for endpoint in range(len(lengths))]


@settings(deadline=None)
@given(LENGTHS, st.integers(0, 2))
def test_facts_of_several_lengths_have_no_role_factor_and_others_do(lengths: list[list[int]], num_markers: int) -> None:
    """A(s, e) = R^start: with frequency 1 among the pairs, R^offset tells all offsets apart."""
    starts = [serialized_starts(np.array(fact), num_markers=num_markers) for fact in lengths]
    by_role = rope_addresses(np.array(starts).T, FREQUENCIES).to_matrices()

    found = find_offset_counterexample(np.array(lengths), num_markers=num_markers)

    if found is None:
        factorise(by_role)
        return
    with pytest.raises(ValueError, match="coordinate 0 has no factor"):
        factorise(by_role)
    measured = [starts[fact][found.second] - starts[fact][found.first] for fact in found.facts]
    assert tuple(measured) == found.offsets
    assert found.offsets[0] != found.offsets[1]


def test_a_counterexample_names_the_roles_the_facts_and_their_offsets() -> None:
    found = find_offset_counterexample(np.array([[5, 2, 9], [5, 2, 1], [5, 4, 9]]))

    assert found is not None
    assert (found.first, found.second, found.facts, found.offsets) == (1, 2, (0, 2), (3, 5))


def test_there_is_no_counterexample_without_two_roles_and_two_facts() -> None:
    assert find_offset_counterexample(np.array([[3, 4]])) is None
    assert find_offset_counterexample(np.array([[3], [4]])) is None
    assert find_offset_counterexample(np.zeros((0, 2), np.int64)) is None
    with pytest.raises(ValueError, match="by fact and role, got shape"):
        find_offset_counterexample(np.array([1, 2]))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ANY), RANDOM, st.permutations(range(4)), st.booleans())
def test_packing_facts_in_another_order_changes_no_lis_score(
    draw: Draw, random: np.random.Generator, order: list[int], from_content: bool
) -> None:
    instance = np.repeat(np.arange(4), 3)
    role = np.tile(np.arange(3), 4)
    num_tokens = random.integers(1, 5, len(instance))
    queries, keys = random.standard_normal((2, len(instance), WIDTH))
    roles, drawn, weight = draw(random, 3), draw(random, 4), random.standard_normal((WIDTH, WIDTH // 2))

    def scores(endpoints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Number the facts as they come, as a model does; return LIS and serialized scores in the first order."""
        packed = instance[endpoints]
        _, first, as_come = np.unique(packed, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))[as_come]
        instances = drawn.take(packed[np.sort(first)])
        if from_content and isinstance(roles, Rotations):
            instances = content_operators(
                keys[endpoints], roles.take(role[endpoints]), rank, 4, lambda content: Rotations(content @ weight)
            )
        address = RoleInstanceAssignment(roles=roles, instances=instances).address(role[endpoints], rank)
        flat = rope_addresses(serialized_starts(num_tokens[endpoints]), FREQUENCIES)
        back = np.argsort(endpoints)
        lis = attention_scores(queries[endpoints], keys[endpoints], address, address)[np.ix_(back, back)]
        serialized = attention_scores(queries[endpoints], keys[endpoints], flat, flat)[np.ix_(back, back)]
        return lis, serialized

    lis, serialized = scores(np.arange(len(instance)))
    lis_packed, serialized_packed = scores(pack_instances(instance, order))

    np.testing.assert_allclose(lis_packed, lis, rtol=0, atol=1e-9)
    assume(order != [0, 1, 2, 3])
    assert np.abs(serialized_packed - serialized).max() > 1e-3


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(ANY), RANDOM)
def test_more_facts_before_them_change_no_lis_score(draw: Draw, random: np.random.Generator) -> None:
    """The text's query and the true fact keep their score, however many facts are put in between."""
    roles, instances = draw(random, 2), draw(random, 5)
    query, keys = random.standard_normal(WIDTH), random.standard_normal((10, WIDTH))
    assignment = RoleInstanceAssignment(roles=roles, instances=instances)
    asks = assignment.address(np.array([-1]), np.array([-1]))  # R_s = R_e = I

    def scores(num_facts: int) -> np.ndarray:
        instance = np.repeat(np.arange(num_facts), 2)
        source = assignment.address(np.tile([0, 1], num_facts), instance)
        return attention_scores(query[None], keys[: len(instance)], asks, source)[0]

    np.testing.assert_allclose(scores(5)[:2], scores(1), rtol=0, atol=1e-12)


def test_instances_are_packed_in_the_order_asked_for() -> None:
    assert pack_instances(np.array([0, 1, 0, 2, 1]), [2, 0]).tolist() == [3, 0, 2]
    assert pack_instances(np.array([0, 1]), []).tolist() == []
