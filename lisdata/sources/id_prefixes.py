"""Short ids and the IRIs they stand for: with "Q=http://www.wikidata.org/entity/", Q42 is one entity everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IdPrefixes:
    """IRIs by the prefix of the ids they are put before; an id is the prefix and digits."""

    iris: dict[str, str]

    @classmethod
    def parse(cls, declared: Sequence[str]) -> IdPrefixes:
        """Read declarations of the form PREFIX=IRI; ValueError for another form, or a prefix declared twice."""
        iris: dict[str, str] = {}
        for text in declared:
            prefix, equals, iri = text.partition("=")
            if not (prefix and equals and iri) or prefix in iris or prefix[-1].isdigit():
                raise ValueError(f"expected PREFIX=IRI, each prefix once and not ending in a digit, got {text!r}")
            iris[prefix] = iri
        return cls(iris)

    def expand(self, name: str) -> str:
        """Return the IRI that `name` is short for, else `name`."""
        stem = name.rstrip("0123456789")
        return self.iris[stem] + name if stem != name and stem in self.iris else name

    def restore(self, name: str) -> str:
        """Return the short id of an IRI that `expand` gives, else `name`."""
        for prefix, iri in self.iris.items():
            short = name[len(iri) :]
            if name.startswith(iri) and short.startswith(prefix) and self.expand(short) == name:
                return short
        return name
