"""What stands beside the true fact in a prefix, setting by setting."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.diagnostics.binding import (
    SETTINGS,
    copy_score,
    draw_distractors,
    draw_example,
    iter_evaluation,
    iter_training,
)
from lisdata.diagnostics.chains import ChainFact, ChainWorld, draw_names
from lisdata.diagnostics.line_files import write_lines

WORLD = ChainWorld(draw_names(40, 0), 1)
FACTS = st.integers(0, WORLD.num_facts - 1).map(WORLD.fact)
SEEDS = st.integers(0, 1000)


def distractors(fact: ChainFact, setting: str, seed: int, count: int = 4) -> list[ChainFact]:
    return draw_distractors(WORLD, fact, setting, np.random.default_rng(seed), count)


@settings(max_examples=60)
@given(FACTS, st.sampled_from(SETTINGS[1:]), SEEDS)
def test_there_are_four_others_all_distinct(fact: ChainFact, setting: str, seed: int) -> None:
    found = distractors(fact, setting, seed)

    assert len(found) == 4
    assert len({(f.domain, f.role, f.place, f.names) for f in [fact, *found]}) == 5


@settings(max_examples=60)
@given(FACTS, SEEDS)
def test_same_entities_are_other_relations_of_the_same_names(fact: ChainFact, seed: int) -> None:
    found = distractors(fact, "same-entities", seed)

    assert all(f.relation != fact.relation and f.domain == fact.domain for f in found)
    assert all(set(f.names) <= set(fact.names) for f in found)
    whole = [f for f in found if f.names == fact.names]
    assert len(whole) == (4 if len(fact.names) == 2 else 3)  # the paper's domains have no more


@settings(max_examples=60)
@given(FACTS, SEEDS)
def test_same_relation_shares_no_name(fact: ChainFact, seed: int) -> None:
    found = distractors(fact, "same-relation", seed)

    assert all(f.relation == fact.relation for f in found)
    assert not {name for f in found for name in f.names} & set(fact.names)


@settings(max_examples=60)
@given(FACTS, SEEDS)
def test_swapped_roles_shares_names_in_other_roles(fact: ChainFact, seed: int) -> None:
    roles = {name: role for role, name in fact.participants}

    found = distractors(fact, "swapped-roles", seed)

    for other in found:
        shared = [(role, name) for role, name in other.participants if name in roles]
        assert shared
        assert other.names != fact.names
        assert all(roles[name] != role for role, name in shared)
    inside = 0 < fact.place < 40 - len(fact.names)
    assert not inside or sum(f.relation == fact.relation for f in found) >= 2


@given(FACTS, st.sampled_from(SETTINGS), SEEDS, st.integers(0, 4))
def test_the_true_fact_is_in_the_prefix_where_it_is_said_to_be(
    fact: ChainFact, setting: str, seed: int, count: int
) -> None:
    example = draw_example(WORLD, fact, setting, np.random.default_rng(seed), count)

    assert example.facts[example.true] == fact
    line = json.loads(example.to_line())
    assert len(line["facts"]) == len(example.facts) == (1 if setting == "single" else 1 + count)
    assert sorted(e["id"] for e in line["entities"]) == sorted(fact.names)


def test_the_place_of_the_true_fact_is_any() -> None:
    examples = [draw_example(WORLD, WORLD.fact(5), "same-relation", np.random.default_rng(n), 4) for n in range(60)]

    assert {example.true for example in examples} == set(range(5))


def test_training_takes_every_fact_once_before_any_again() -> None:
    found = [example.facts[example.true] for example in iter_training(WORLD, 2 * WORLD.num_facts, 3)]

    first, second = found[: WORLD.num_facts], found[WORLD.num_facts :]
    assert len(set(first)) == len(set(second)) == WORLD.num_facts
    assert first != second


def test_training_with_distractors_has_prefixes_of_all_sizes() -> None:
    sizes = [len(example.facts) for example in iter_training(WORLD, 400, 0, most_distractors=4)]

    assert set(sizes) == {1, 2, 3, 4, 5}


def test_evaluation_takes_distinct_facts_of_one_arity_and_the_same_each_time() -> None:
    first, again = (list(iter_evaluation(WORLD, 3, "same-relation", 50, 0)) for _ in range(2))

    assert first == again
    assert len({example.facts[example.true] for example in first}) == 50
    assert {len(example.facts[example.true].names) for example in first} == {3}


def test_written_examples_are_lines_of_the_source(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", (example.to_line() for example in iter_training(WORLD, 7, 0)))

    assert len((tmp_path / "a.jsonl").read_bytes().splitlines()) == 7


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(ValueError, match="same-entities"):
        distractors(WORLD.fact(0), "same_entities", 0)


@settings(max_examples=60)
@given(st.integers(0, WORLD.num_facts_of(2) - 1), SEEDS)
def test_copying_is_always_right_of_two_names_unless_roles_are_swapped(number: int, seed: int) -> None:
    fact = WORLD.fact_of(2, number)

    def score(setting: str) -> float:
        return copy_score(draw_example(WORLD, fact, setting, np.random.default_rng(seed), 4).to_line())

    assert score("single") == score("same-entities") == score("same-relation") == 1.0
    if 0 < fact.place < 38:  # at an end of the chain one of the two names is in no other fact
        assert score("swapped-roles") < 1.0


def test_copying_of_three_names_is_right_in_one_order_of_two() -> None:
    example = draw_example(WORLD, WORLD.fact_of(3, 11), "single", np.random.default_rng(0), 0)

    assert copy_score(example.to_line()) == 0.5
