"""Lines that say one fact twice, as a fact and as a sentence: Tables 6 and 7 of LIS (appendix F.3).

The participants of the fact come in random order; the sentence names them in the order of the relation, each role
before its name, so that what is to be spelled is told beforehand to whoever reads.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lisdata.diagnostics.templates import TEMPLATES, write_sentence
from lisdata.diagnostics.windows import WindowFact, WindowWorld
from lisdata.sources.fact_text import Fact, write_line

ROLE_FIRST = 5
"""The number of the template in which every role stands before its name."""


def text_variant(order: int) -> int:
    """Return the number of the sentence with the roles first and the participants in permutation `order`."""
    return order * len(TEMPLATES) + ROLE_FIRST


def write_paired(fact: WindowFact, rng: np.random.Generator) -> bytes:
    """Return the line of source fact-text."""
    order = rng.permutation(len(fact.names)).tolist()
    shown = Fact(relation=fact.relation.name, participants=tuple(fact.participants[k] for k in order))
    sentence = write_sentence(fact.relation.domain, fact.participants, text_variant(0))
    return write_line([shown], sentence.text, list(sentence.mentions))


def iter_paired_training(world: WindowWorld, count: int, seed: int) -> Iterator[bytes]:
    """Yield `count` lines: every fact once, in random order, then again."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        if number % world.num_facts == 0:
            order = rng.permutation(world.num_facts)
        yield write_paired(world.fact_of(None, int(order[number % world.num_facts])), rng)


def iter_paired_evaluation(world: WindowWorld, kind: str, count: int, seed: int) -> Iterator[bytes]:
    """Yield a line for each of `count` distinct facts of a kind (or all)."""
    rng = np.random.default_rng(seed)
    for number in rng.permutation(world.num_facts_of(kind))[:count].tolist():
        yield write_paired(world.fact_of(kind, number), rng)
