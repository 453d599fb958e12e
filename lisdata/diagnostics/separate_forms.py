"""Lines that say a fact once, as a fact or as a sentence: Table 5 of LIS (appendix F.3).

The paper names six tiers of what is asked and sketches what they mean. Here names are of three groups with chains of
their own, and each fact of a window is seen in training in one form or not at all:

* the main group: half of the facts are seen as facts only, half in sentences only. What is derived is held out in some
  windows: "transfer", where all base facts are seen, and "generalization", where facts of three are held out too;
* kg_excl: names that are seen in facts only; txt_excl: in sentences only. In half of their windows what is derived is
  held out ("gen"), the others are "mem".

What is asked is the last name of a line, all others and its role being given. Facts that are seen are asked in both
forms: the other one is the paper's question, the own one ("seen form") shows what is remembered at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from lisdata.diagnostics.paired_forms import text_variant
from lisdata.diagnostics.templates import write_sentence
from lisdata.diagnostics.windows import DOMAINS, KINDS, SLOTS, WindowFact, WindowWorld, orders_of
from lisdata.sources.fact_text import Fact, write_line

FORMS = ("kg", "text")
GROUPS = ("main", "kg_excl", "txt_excl")
TIERS = ("memorization", "transfer", "generalization", "kg_excl_mem", "kg_excl_gen", "txt_excl_mem", "txt_excl_gen")
_ORDERS = {arity: list(permutations(range(arity))) for arity in (2, 3)}


@dataclass(frozen=True, slots=True)
class SplitFact:
    """A fact, the form in which training shows it (None: in none), and the tier in which it is asked, if it is."""

    fact: WindowFact
    seen: str | None
    tier: str | None


def split_facts(worlds: dict[str, WindowWorld], held_out: float, seed: int) -> list[SplitFact]:
    """Return all facts of the three `GROUPS` with their form and tier, in an order that is always the same.

    `held_out` is the share of the main group's windows that are "transfer", and that are "generalization".
    """
    rng = np.random.default_rng(seed)
    found = []
    for group in GROUPS:
        world = worlds[group]
        for domain in DOMAINS:
            draws = rng.random(world.num_windows)
            for place, draw in enumerate(draws.tolist()):
                kind_of_window = _window(group, draw, held_out)
                for kind in KINDS:
                    for slots in SLOTS[kind]:
                        fact = world.fact(orders_of(domain, kind, slots)[0], place)
                        found.append(_split(fact, group, kind_of_window, FORMS[int(rng.integers(2))]))
    return found


def _window(group: str, draw: float, held_out: float) -> str:
    """Return the name of the tier of what is held out in a window, or the group's tier of what is not."""
    if group != "main":
        return f"{group}_gen" if draw < 0.5 else f"{group}_mem"
    return "transfer" if draw < held_out else "generalization" if draw < 2 * held_out else "memorization"


def _split(fact: WindowFact, group: str, window: str, drawn: str) -> SplitFact:
    seen = {"main": drawn, "kg_excl": "kg", "txt_excl": "text"}[group]
    is_seen_window = window.endswith(("memorization", "mem"))
    if is_seen_window:
        return SplitFact(fact, seen, window)
    if fact.relation.kind == "derived":
        return SplitFact(fact, None, window)
    is_held_out = window == "generalization" and fact.relation.kind == "base_3ary"
    return SplitFact(fact, None if is_held_out else seen, None)


def write_form(fact: WindowFact, form: str, order: int, rng: np.random.Generator) -> bytes:
    """Return the line of source fact-text that says a fact in a form, its names in permutation `order`.

    Facts of the same names are said under any of the relations that there are of them, at random.
    """
    relation = fact.relation
    if form == "text":
        sentence = write_sentence(relation.domain, fact.participants, text_variant(order))
        return write_line([], sentence.text, list(sentence.mentions))
    relations = orders_of(relation.domain, relation.kind, relation.slots)
    name = relations[int(rng.integers(len(relations)))].name
    participants = tuple(fact.participants[k] for k in _ORDERS[len(fact.names)][order])
    return write_line([Fact(relation=name, participants=participants)], "", [])


def iter_separate_training(facts: list[SplitFact], count: int, seed: int) -> Iterator[bytes]:
    """Yield `count` lines: every fact that is seen once, in random order, then again, its names in any order."""
    rng = np.random.default_rng(seed)
    shown = [(found.fact, found.seen) for found in facts if found.seen is not None]
    for number in range(count):
        if number % len(shown) == 0:
            order = rng.permutation(len(shown)).tolist()
        fact, form = shown[order[number % len(shown)]]
        yield write_form(fact, form, int(rng.integers(len(_ORDERS[len(fact.names)]))), rng)


def iter_separate_evaluation(facts: list[SplitFact], form: str, count: int, seed: int) -> Iterator[bytes]:
    """Yield at most `count` lines of facts in a form: each fact once for each of its names, which then stands last."""
    rng = np.random.default_rng(seed)
    asked = [
        (found.fact, [k for k, order in enumerate(_ORDERS[len(found.fact.names)]) if order[-1] == last])
        for found in facts
        for last in range(len(found.fact.names))
    ]
    for number in rng.permutation(len(asked))[:count].tolist():
        fact, orders = asked[number]
        yield write_form(fact, form, orders[int(rng.integers(len(orders)))], rng)


def facts_asked(facts: list[SplitFact], tier: str, form: str, *, is_seen_form: bool = False) -> list[SplitFact]:
    """Return the facts of a tier that are asked in a form: those not seen in it, or those that are."""
    return [found for found in facts if found.tier == tier and (found.seen == form) == is_seen_form]
