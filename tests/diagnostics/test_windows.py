"""Facts of windows of four names (LIS appendix F.3): how many there are, and what lines say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from lisdata.diagnostics.chains import draw_names
from lisdata.diagnostics.line_files import write_lines
from lisdata.diagnostics.paired_forms import iter_paired_evaluation, iter_paired_training, write_paired
from lisdata.diagnostics.windows import DOMAINS, KINDS, WindowWorld, list_relations, list_role_labels, orders_of

WORLD = WindowWorld(draw_names(9, 0), 1)


def test_relations_and_slots_are_as_many_as_the_paper_says() -> None:
    assert len(list_relations()) == 57
    assert Counter(relation.domain for relation in list_relations()) == dict.fromkeys(DOMAINS, 19)
    assert [len(list_relations(kind)) for kind in KINDS] == [18, 36, 3]
    assert len({relation.name for relation in list_relations()}) == 57
    assert len(set(list_role_labels())) == 57 * 4
    assert {len(relation.roles) for relation in list_relations("base_3ary")} == {3}


def test_every_relation_says_something_of_every_window_once() -> None:
    facts = list(WORLD)

    assert len(facts) == len(set(facts)) == WORLD.num_facts == 57 * 6
    assert sum(map(WORLD.num_facts_of, KINDS)) == WORLD.num_facts
    for kind in KINDS:
        of_kind = [WORLD.fact_of(kind, number) for number in range(WORLD.num_facts_of(kind))]
        assert set(of_kind) == {fact for fact in facts if fact.relation.kind == kind}


def test_a_slot_is_a_place_in_the_window() -> None:
    for fact in WORLD:
        chain, roles = WORLD.chains[fact.relation.domain], DOMAINS[fact.relation.domain]
        for role, name in fact.participants:
            assert name == chain[fact.place + roles.index(role)]


def test_orders_of_slots_are_relations_of_their_own_but_for_derived_facts() -> None:
    assert [r.slots for r in orders_of("work", "base_2ary", (1, 2))] == [(1, 2), (2, 1)]
    assert len(orders_of("work", "base_3ary", (0, 1, 2))) == 6
    assert [r.name for r in orders_of("work", "derived", (0, 3))] == ["work:employee-director"]


def test_too_few_names_for_a_window_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 4"):
        WindowWorld(("ann", "bo", "cy"), 0)


def test_a_paired_line_says_one_fact_twice_with_each_role_before_its_name() -> None:
    rng = np.random.default_rng(0)
    for fact in WORLD:
        record = json.loads(write_paired(fact, rng))
        (shown,) = record["facts"]
        assert shown["relation"] == fact.relation.name
        assert {tuple(pair) for pair in shown["participants"]} == set(fact.participants)
        text, mentions = record["text"], record["entities"]
        assert [text[m["start"] : m["end"]] for m in mentions] == list(fact.names) == [m["id"] for m in mentions]
        for (role, _), mention in zip(fact.participants, mentions, strict=True):
            assert text[: mention["start"]].endswith(f"the {role} is ")


def test_participants_come_in_every_order() -> None:
    rng = np.random.default_rng(0)
    fact = WORLD.fact_of("base_3ary", 0)

    orders = {str(json.loads(write_paired(fact, rng))["facts"]) for _ in range(200)}

    assert len(orders) == 6


def test_training_goes_through_all_facts_before_any_comes_again() -> None:
    lines = list(iter_paired_training(WORLD, 2 * WORLD.num_facts, 3))

    said = [(json.loads(line)["facts"][0]["relation"], json.loads(line)["text"]) for line in lines]
    first, second = said[: WORLD.num_facts], said[WORLD.num_facts :]
    assert len(set(first)) == WORLD.num_facts
    assert set(first) == set(second)
    assert first != second
    assert list(iter_paired_training(WORLD, 5, 3)) == lines[:5]


def test_evaluated_facts_are_distinct_and_of_the_kind() -> None:
    lines = list(iter_paired_evaluation(WORLD, "derived", 1000, 3))

    assert len(set(lines)) == len(lines) == WORLD.num_facts_of("derived")
    assert {json.loads(line)["facts"][0]["relation"] for line in lines} == {r.name for r in list_relations("derived")}


def test_a_file_of_lines_is_written_once(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [b"1\n", b"2\n"])
    write_lines(tmp_path / "a.jsonl", iter([b"3\n"]))

    assert (tmp_path / "a.jsonl").read_bytes() == b"1\n2\n"
