"""Examples of the template-diverse diagnostic: facts in a prefix, and a sentence that says one of them (LIS F.4).

What stands in the prefix beside the true fact:

* single: nothing;
* same-entities: facts about the same names in other roles of the domain;
* same-relation: facts of the same relation about other names, none of which is the true fact's;
* swapped-roles: facts of the same relation in which names of the true fact hold another of its roles. The paper lacks
  it: in "same-entities" all facts of two hold the same pair, so that copying the other name is always right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import factorial

import numpy as np
import orjson

from lisdata.diagnostics.chains import DOMAINS, ChainFact, ChainWorld
from lisdata.diagnostics.templates import num_variants, write_sentence
from lisdata.sources.fact_text import Fact, write_line

SETTINGS = ("single", "same-entities", "same-relation", "swapped-roles")
NUM_DISTRACTORS = 4


@dataclass(frozen=True, slots=True)
class Example:
    """A prefix of facts in order, the number of the true one, and which of its sentences follows."""

    facts: tuple[ChainFact, ...]
    true: int
    variant: int

    def to_line(self) -> bytes:
        """Return the line of source fact-text."""
        fact = self.facts[self.true]
        sentence = write_sentence(fact.domain, fact.participants, self.variant)
        facts = [Fact(relation=f.relation, participants=f.participants) for f in self.facts]
        return write_line(facts, sentence.text, list(sentence.mentions))


def draw_example(world: ChainWorld, fact: ChainFact, setting: str, rng: np.random.Generator, count: int) -> Example:
    """Return an example of a fact with `count` distractors of a setting (fewer where there are fewer), in any order."""
    others = draw_distractors(world, fact, setting, rng, count)
    facts = [fact, *others]
    order = rng.permutation(len(facts)).tolist()
    variant = int(rng.integers(num_variants(len(fact.names))))
    return Example(tuple(facts[k] for k in order), order.index(0), variant)


def draw_distractors(
    world: ChainWorld, fact: ChainFact, setting: str, rng: np.random.Generator, count: int
) -> list[ChainFact]:
    """Return `count` other facts of a setting, uniformly drawn; ValueError for an unknown setting."""
    if setting not in SETTINGS:
        raise ValueError(f"there is no setting {setting!r}: the settings are {', '.join(SETTINGS)}")
    if setting == "single" or not count:
        return []
    if setting == "same-relation":
        return _same_relation(world, fact, rng, count)
    found = _same_entities(world, fact) if setting == "same-entities" else _swapped_roles(world, fact)
    kept, fill = found
    if len(kept) < count:
        kept = kept + [fill[k] for k in rng.permutation(len(fill)).tolist()][: count - len(kept)]
    return [kept[k] for k in rng.permutation(len(kept)).tolist()][:count]


def _same_entities(world: ChainWorld, fact: ChainFact) -> tuple[list[ChainFact], list[ChainFact]]:
    """Return the facts about all names of the fact, and what to fill up with: those about two of three."""
    arity = len(fact.names)
    whole = [
        world.window(fact.domain, role, fact.place, arity)
        for role in range(len(DOMAINS[fact.domain]) - arity + 1)
        if role != fact.role
    ]
    if arity == 2:
        return whole, []
    pairs = [world.window(fact.domain, role, fact.place + k, 2) for k in range(2) for role in range(5)]
    return whole, pairs


def _same_relation(world: ChainWorld, fact: ChainFact, rng: np.random.Generator, count: int) -> list[ChainFact]:
    arity = len(fact.names)
    num_places = len(world.names) - arity + 1
    places: dict[int, None] = {}
    while len(places) < min(count, num_places - 2 * arity + 1):
        place = int(rng.integers(num_places))
        if abs(place - fact.place) >= arity:  # else a name would be shared
            places[place] = None
    return [world.window(fact.domain, fact.role, place, arity) for place in places]


def _swapped_roles(world: ChainWorld, fact: ChainFact) -> tuple[list[ChainFact], list[ChainFact]]:
    """Return the facts of the relation that share a name, and what to fill up with: such facts of other relations."""
    arity = len(fact.names)
    num_places = len(world.names) - arity + 1
    shifts = [k for k in range(1 - arity, arity) if k and 0 <= fact.place + k < num_places]
    same = [world.window(fact.domain, fact.role, fact.place + k, arity) for k in shifts]
    others = [
        world.window(fact.domain, role, fact.place + k, arity)
        for k in shifts
        for role in range(len(DOMAINS[fact.domain]) - arity + 1)
        if role not in (fact.role, fact.role + k)  # under the latter the names would keep their roles
    ]
    return same, others


# -- streams ---------------------------------------------------------------------------------------------------------


def iter_training(world: ChainWorld, count: int, seed: int, *, most_distractors: int = 0) -> Iterator[Example]:
    """Yield `count` examples: every fact once, in random order, then again, each with one of its sentences at random.

    With `most_distractors` each prefix has 0 to that many, of a setting drawn for the example.
    """
    rng = np.random.default_rng(seed)
    for number in range(count):
        if number % world.num_facts == 0:
            order = rng.permutation(world.num_facts)
        fact = world.fact(int(order[number % world.num_facts]))
        size = int(rng.integers(most_distractors + 1))
        setting = SETTINGS[1 + int(rng.integers(len(SETTINGS) - 1))] if size else SETTINGS[0]
        yield draw_example(world, fact, setting, rng, size)


def iter_evaluation(world: ChainWorld, arity: int, setting: str, count: int, seed: int) -> Iterator[Example]:
    """Yield an example for each of `count` distinct facts of an arity (or all), with four distractors."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(world.num_facts_of(arity))[:count]
    for number in order.tolist():
        yield draw_example(world, world.fact_of(arity, number), setting, rng, NUM_DISTRACTORS)


def copy_score(line: bytes) -> float:
    """Return how likely copying is right on a written example: no relation is read, no role.

    A fact is chosen among those that hold the first name of the text, and its other names are written in any order:
    what a model that only binds names by their standing in one fact can reach.
    """
    record = orjson.loads(line)
    given, *predicted = (entity["id"] for entity in record["entities"])
    held = [[name for _, name in fact["participants"]] for fact in record["facts"]]
    candidates = [sorted(set(names) - {given}) for names in held if given in names]
    num_right = candidates.count(sorted(predicted))
    return num_right / len(candidates) / factorial(len(predicted)) if candidates else 0.0
