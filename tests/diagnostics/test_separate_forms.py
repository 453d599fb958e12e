"""Facts that training shows in one form, and what is asked of them (LIS Table 5)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lisdata.diagnostics.chains import draw_names
from lisdata.diagnostics.separate_forms import (
    FORMS,
    GROUPS,
    TIERS,
    SplitFact,
    facts_asked,
    iter_separate_evaluation,
    iter_separate_training,
    split_facts,
)
from lisdata.diagnostics.windows import WindowWorld

NAMES = draw_names(90, 0)
WORLDS = {group: WindowWorld(NAMES[30 * n : 30 * (n + 1)], n) for n, group in enumerate(GROUPS)}
FACTS = split_facts(WORLDS, 0.2, 0)


def read(line: bytes) -> tuple[str, list[str]]:
    """Return the form of a line and its names in order."""
    record: dict[str, Any] = json.loads(line)
    if record["facts"]:
        assert not record["text"]
        return "kg", [name for _, name in record["facts"][0]["participants"]]
    return "text", [mention["id"] for mention in record["entities"]]


def test_a_fact_is_of_one_group_and_every_tier_has_facts() -> None:
    assert len(FACTS) == len({found.fact for found in FACTS}) == 3 * 3 * 6 * 27
    assert {found.tier for found in FACTS} == {*TIERS, None}


def test_names_of_exclusive_groups_are_seen_in_one_form_only() -> None:
    for group, form in (("kg_excl", "kg"), ("txt_excl", "text")):
        names = set(WORLDS[group].names)
        assert {found.seen for found in FACTS if set(found.fact.names) & names} == {form, None}


def test_what_is_held_out_is_what_the_tier_says() -> None:
    for found in FACTS:
        kind = found.fact.relation.kind
        if found.tier in ("transfer", "generalization", "kg_excl_gen", "txt_excl_gen"):
            assert found.seen is None
            assert kind == "derived"
        elif found.tier is not None:
            assert found.seen is not None
    windows: dict[tuple[str, int, str], list[SplitFact]] = {}
    for found in FACTS:
        group = next(g for g in GROUPS if found.fact.names[0] in WORLDS[g].names)
        key = (found.fact.relation.domain, found.fact.place, group)
        windows.setdefault(key, []).append(found)
    for of_window in windows.values():
        tier = next((found.tier for found in of_window if found.seen is None and found.tier), None)
        unseen = sorted(found.fact.relation.kind for found in of_window if found.seen is None)
        expected = {None: [], "generalization": ["base_3ary", "base_3ary", "derived"]}.get(tier, ["derived"])
        assert unseen == expected


def test_training_shows_each_fact_in_its_form_only_and_nothing_held_out() -> None:
    shown = {(form, frozenset(names)) for form, names in map(read, iter_separate_training(FACTS, 6000, 1))}

    forms: dict[frozenset[str], set[str | None]] = {}
    for found in FACTS:
        forms.setdefault(frozenset(found.fact.names), set()).add(found.seen)
    assert shown == {(form, names) for names, seen in forms.items() for form in seen if form is not None}


def test_all_participants_come_after_all_others() -> None:
    fact = next(found for found in FACTS if found.seen and len(found.fact.names) == 3)
    for form in FORMS:
        lines = iter_separate_training([SplitFact(fact.fact, form, None)], 300, 1)
        assert len({tuple(read(line)[1]) for line in lines}) == 6


@pytest.mark.parametrize("form", FORMS)
def test_each_name_of_a_fact_is_asked_last_once(form: str) -> None:
    asked = facts_asked(FACTS, "memorization", form)

    lines = [read(line) for line in iter_separate_evaluation(asked, form, 10_000, 5)]

    assert {found for found, _ in lines} == {form}
    assert len(lines) == sum(len(found.fact.names) for found in asked)
    lasts = {(tuple(sorted(names)), names[-1]) for _, names in lines}
    assert lasts == {(tuple(sorted(found.fact.names)), name) for found in asked for name in found.fact.names}


def test_facts_are_asked_in_the_other_form_or_as_seen() -> None:
    for form in FORMS:
        other = facts_asked(FACTS, "memorization", form)
        own = facts_asked(FACTS, "memorization", form, is_seen_form=True)
        assert {found.seen for found in other} == {next(f for f in FORMS if f != form)}
        assert {found.seen for found in own} == {form}
        assert {found.seen for found in facts_asked(FACTS, "transfer", form)} == {None}
    assert not facts_asked(FACTS, "kg_excl_mem", "kg")
    assert not facts_asked(FACTS, "txt_excl_mem", "text")
