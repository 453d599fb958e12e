"""Sentences that say a fact: twelve templates, each in every order of the participants (LIS appendix F.4).

The paper prints two of its twelve templates, the first two here; the others are of our own making.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import factorial

_NAME_FIRST, _ROLE_FIRST, _AS = "{name} is the {role}", "the {role} is {name}", "{name} as the {role}"


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence: the opening (with the domain), what is given, a link, and the others, joined by "and"."""

    opening: str
    given: str
    link: str
    others: str


TEMPLATES = (
    Template("if ", _NAME_FIRST, ", ", _ROLE_FIRST),
    Template("in the {domain}, if ", _NAME_FIRST, ", then ", _NAME_FIRST),
    Template("when ", _NAME_FIRST, ", ", _NAME_FIRST),
    Template("", _NAME_FIRST, " and ", _ROLE_FIRST),
    Template("given that ", _NAME_FIRST, ", ", _ROLE_FIRST),
    Template("since ", _ROLE_FIRST, ", ", _ROLE_FIRST),
    Template("", _ROLE_FIRST, " and ", _NAME_FIRST),
    Template("in the {domain}, ", _NAME_FIRST, " while ", _ROLE_FIRST),
    Template("with ", _AS, ", ", _ROLE_FIRST),
    Template("suppose ", _ROLE_FIRST, ", then ", _ROLE_FIRST),
    Template("in the {domain} ", _ROLE_FIRST, ", so ", _NAME_FIRST),
    Template("as ", _NAME_FIRST, ", it follows that ", _ROLE_FIRST),
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text, and the names in it in order: begin, end (in characters) and the name."""

    text: str
    mentions: tuple[tuple[int, int, str], ...]


def num_variants(arity: int) -> int:
    """Return how many sentences say one fact: 24 for two names, 72 for three."""
    return len(TEMPLATES) * factorial(arity)


def write_sentence(domain: str, participants: Sequence[tuple[str, str]], variant: int) -> Sentence:
    """Return sentence 0 .. `num_variants` - 1 that says who (role, name) takes part."""
    order, template = divmod(variant, len(TEMPLATES))
    arranged = list(permutations(participants))[order]
    parts = list(_parts(TEMPLATES[template], domain, arranged))
    text, mentions = "", []
    for part, name in parts:
        before, found, after = part.partition("{name}")
        text += before
        if found:
            mentions.append((len(text), len(text) + len(name), name))
            text += name + after
    return Sentence(text, tuple(mentions))


def _parts(template: Template, domain: str, arranged: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a sentence, each with the name that it is about ("" for none)."""
    (role, name), *others = arranged
    yield template.opening.replace("{domain}", domain), ""
    yield template.given.replace("{role}", role), name
    for number, (role, name) in enumerate(others):
        yield " and " if number else template.link, ""
        yield template.others.replace("{role}", role), name
    yield ".", ""
