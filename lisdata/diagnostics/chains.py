"""Synthetic facts about chains of names: who is whose son, boss or captain (LIS appendix F.4).

Each domain has six roles in order and a chain: one random order of all names. Names that follow each other in a chain
hold any roles that follow each other: n names give 5 (n - 1) facts of two and 4 (n - 2) facts of three a domain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

DOMAINS: dict[str, tuple[str, ...]] = {
    "family": ("great-grandson", "grandson", "son", "father", "grandfather", "great-grandfather"),
    "work": ("intern", "employee", "boss", "superboss", "director", "executive"),
    "military": ("recruit", "private", "sergeant", "captain", "major", "colonel"),
    "school": ("freshman", "sophomore", "junior", "senior", "graduate", "alumnus"),
    "church": ("acolyte", "deacon", "priest", "bishop", "archbishop", "cardinal"),
}
NAME_SETS = ("train", "dev", "test")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NAME_LENGTHS = (2, 8)


def draw_names(count: int, seed: int, *, taken: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return `count` distinct random names of 2 to 8 lower-case letters, none of which is in `taken`."""
    rng = np.random.default_rng(seed)
    names: dict[str, None] = {}
    while len(names) < count:
        size = rng.integers(_NAME_LENGTHS[0], _NAME_LENGTHS[1] + 1)
        name = "".join(_LETTERS[k] for k in rng.integers(0, len(_LETTERS), size))
        if name not in taken:
            names[name] = None
    return tuple(names)


def draw_name_sets(count: int, num_unseen: int, seed: int) -> dict[str, tuple[str, ...]]:
    """Return `NAME_SETS`, disjoint: `count` names for training, `num_unseen` each for development and test."""
    names = draw_names(count + 2 * num_unseen, seed)
    cuts = (0, count, count + num_unseen, len(names))
    return {name: names[begin:end] for name, begin, end in zip(NAME_SETS, cuts[:-1], cuts[1:], strict=True)}


@dataclass(frozen=True, slots=True)
class ChainFact:
    """Names that follow each other in the chain of a domain, from number `place` on, in roles from `role` on."""

    domain: str
    role: int
    place: int
    names: tuple[str, ...]

    @property
    def roles(self) -> tuple[str, ...]:
        """The role of each name."""
        return DOMAINS[self.domain][self.role : self.role + len(self.names)]

    @property
    def relation(self) -> str:
        """The relation that the names are in: domain and roles."""
        return f"{self.domain}:{'-'.join((self.roles[0], self.roles[-1]))}"

    @property
    def participants(self) -> tuple[tuple[str, str], ...]:
        """Pairs of role and name, in order of the chain."""
        return tuple(zip(self.roles, self.names, strict=True))


class ChainWorld:
    """All facts about a set of names; none is made before it is asked for."""

    def __init__(self, names: tuple[str, ...], seed: int) -> None:
        if len(names) < 3:
            raise ValueError(f"chains need at least 3 names, got {len(names)}")
        rng = np.random.default_rng(seed)
        self.names = names
        self.chains = {domain: tuple(names[k] for k in rng.permutation(len(names))) for domain in DOMAINS}

    @cached_property
    def _sizes(self) -> dict[int, int]:
        """Facts of two and of three names a domain."""
        return {arity: (7 - arity) * (len(self.names) - arity + 1) for arity in (2, 3)}

    @property
    def num_facts(self) -> int:
        """Facts of all domains."""
        return len(DOMAINS) * sum(self._sizes.values())

    def num_facts_of(self, arity: int) -> int:
        """Facts of two or of three names."""
        return len(DOMAINS) * self._sizes[arity]

    def fact(self, number: int) -> ChainFact:
        """Return fact 0 .. `num_facts` - 1: those of two names first, domain by domain."""
        for arity in (2, 3):
            if number < self.num_facts_of(arity):
                return self.fact_of(arity, number)
            number -= self.num_facts_of(arity)
        raise IndexError(f"there are {self.num_facts} facts")

    def fact_of(self, arity: int, number: int) -> ChainFact:
        """Return a fact of `arity` names, 0 .. `num_facts_of(arity)` - 1."""
        domain_number, within = divmod(number, self._sizes[arity])
        role, place = divmod(within, len(self.names) - arity + 1)
        return self.window(list(DOMAINS)[domain_number], role, place, arity)

    def window(self, domain: str, role: int, place: int, arity: int) -> ChainFact:
        """Return the fact about the names from `place` on in the roles from `role` on."""
        return ChainFact(domain, role, place, self.chains[domain][place : place + arity])

    def __iter__(self) -> Iterator[ChainFact]:
        return map(self.fact, range(self.num_facts))


def list_relations() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each relation with its roles: 25 of two and 20 of three."""
    for arity in (2, 3):
        for domain, roles in DOMAINS.items():
            for role in range(7 - arity):
                fact = ChainFact(domain, role, 0, ("",) * arity)
                yield fact.relation, roles[role : role + arity]
