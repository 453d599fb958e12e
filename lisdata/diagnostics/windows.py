"""Facts about four names that follow each other in a chain: what is said of two, three or the outer two of them.

Three domains have four slots in order each and a chain: one random order of all names. A window is four names that
follow each other in the chain, one a slot. LIS appendix F.3 counts 57 relations of base facts of two and of three names
and of derived ones, which span four places of the chain, and does not list them; here a domain has 19: the three
pairs of neighbouring slots in both orders, the two triples in all six, and the outer pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

DOMAINS: dict[str, tuple[str, ...]] = {
    "family": ("son", "father", "grandfather", "great-grandfather"),
    "work": ("employee", "boss", "superboss", "director"),
    "military": ("private", "sergeant", "captain", "major"),
}
WINDOW = 4
KINDS = ("base_2ary", "base_3ary", "derived")
SLOTS: dict[str, tuple[tuple[int, ...], ...]] = {
    "base_2ary": ((0, 1), (1, 2), (2, 3)),
    "base_3ary": ((0, 1, 2), (1, 2, 3)),
    "derived": ((0, 3),),
}
"""The slots of a window that a kind of fact is about, in order of the chain."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation: which slots of a domain it is about, in an order of its own."""

    domain: str
    kind: str
    slots: tuple[int, ...]

    @property
    def roles(self) -> tuple[str, ...]:
        """The slots' names."""
        return tuple(DOMAINS[self.domain][slot] for slot in self.slots)

    @property
    def name(self) -> str:
        """Domain and roles."""
        return f"{self.domain}:{'-'.join(self.roles)}"


@dataclass(frozen=True, slots=True)
class WindowFact:
    """Names of the window that begins at number `place` of the chain, in the order of the relation's slots."""

    relation: Relation
    place: int
    names: tuple[str, ...]

    @property
    def participants(self) -> tuple[tuple[str, str], ...]:
        """Pairs of role and name."""
        return tuple(zip(self.relation.roles, self.names, strict=True))


class WindowWorld:
    """All facts about a set of names; none is made before it is asked for."""

    def __init__(self, names: tuple[str, ...], seed: int) -> None:
        if len(names) < WINDOW:
            raise ValueError(f"windows need at least {WINDOW} names, got {len(names)}")
        rng = np.random.default_rng(seed)
        self.names = names
        self.chains = {domain: tuple(names[k] for k in rng.permutation(len(names))) for domain in DOMAINS}

    @property
    def num_windows(self) -> int:
        """Windows a domain."""
        return len(self.names) - WINDOW + 1

    @property
    def num_facts(self) -> int:
        """Facts of all relations."""
        return len(list_relations()) * self.num_windows

    def num_facts_of(self, kind: str) -> int:
        """Facts of one kind."""
        return len(list_relations(kind)) * self.num_windows

    def fact_of(self, kind: str | None, number: int) -> WindowFact:
        """Return fact 0 .. `num_facts_of(kind)` - 1 of a kind, or 0 .. `num_facts` - 1 of any, by relation."""
        relation, place = divmod(number, self.num_windows)
        return self.fact(list_relations(kind)[relation], place)

    def fact(self, relation: Relation, place: int) -> WindowFact:
        """Return what a relation says of the window that begins at `place`."""
        chain = self.chains[relation.domain]
        return WindowFact(relation, place, tuple(chain[place + slot] for slot in relation.slots))

    def __iter__(self) -> Iterator[WindowFact]:
        return (self.fact_of(None, number) for number in range(self.num_facts))


def list_relations(kind: str | None = None) -> tuple[Relation, ...]:
    """Return the 57 relations, or those of a kind, domain by domain."""
    return _RELATIONS[kind]


def list_role_labels() -> list[str]:
    """Return a role label for each relation and each slot of its domain, 57 x 4, those it is not about included."""
    return [f"{relation.name}#{role}" for relation in list_relations() for role in DOMAINS[relation.domain]]


def orders_of(domain: str, kind: str, slots: tuple[int, ...]) -> tuple[Relation, ...]:
    """Return the relations about these slots: one for each order, of a derived fact one alone."""
    orders = permutations(slots) if kind != "derived" else [slots]
    return tuple(Relation(domain, kind, order) for order in orders)


def _enumerate() -> Iterator[Relation]:
    for domain in DOMAINS:
        for kind in KINDS:
            for slots in SLOTS[kind]:
                yield from orders_of(domain, kind, slots)


_ALL = tuple(_enumerate())
_RELATIONS: dict[str | None, tuple[Relation, ...]] = {
    None: _ALL,
    **{kind: tuple(relation for relation in _ALL if relation.kind == kind) for kind in KINDS},
}
