"""Parsers for tests, by rule or by script, named python:rule_parser:parse and python:rule_parser:recite."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random

from lisdata.parsers import ParsedSentence

SCRIPT: dict[str, list[ParsedSentence]] = {}
"""What `recite` gives for each text; a test fills it."""

CALLS: list[int] = []
"""How many texts `recite` was given, call by call."""


def parse(texts: Sequence[str]) -> Iterator[list[ParsedSentence]]:
    """Words stand between white space, a sentence ends with a full stop, each word depends on the one before."""
    for text in texts:
        yield [chain(match.start(), match.group()) for match in re.finditer(r"\S[^.]*\.?", text)]


def chain(begin: int, text: str) -> ParsedSentence:
    """Return a sentence whose words each depend on the one before."""
    spans = [(begin + word.start(), begin + word.end()) for word in re.finditer(r"[^\s.]+|\.", text)]
    return sentence_of(spans, list(range(len(spans))))


def recite(texts: Sequence[str]) -> list[list[ParsedSentence]]:
    """Give what SCRIPT says."""
    CALLS.append(len(texts))
    return [SCRIPT[text] for text in texts]


def sentence_of(spans: list[tuple[int, int]], heads: list[int]) -> ParsedSentence:
    """Return a sentence of words at these spans."""
    return ParsedSentence(
        begin=spans[0][0],
        end=spans[-1][1],
        word_begins=[begin for begin, _ in spans],
        word_ends=[end for _, end in spans],
        heads=heads,
        deprels=["dep" if head else "root" for head in heads],
    )


def random_parse(random: Random, text: str) -> list[ParsedSentence]:
    """Return any sentences that a text might be said to have, with any trees."""
    borders = sorted(random.sample(range(len(text) + 1), random.randint(0, len(text) + 1)))
    spans = [span for span in pairwise(borders) if random.random() < 0.8]
    sentences = []
    while spans:
        size = random.randint(1, min(8, len(spans)))
        sentences.append(sentence_of(spans[:size], random_tree(random, size)))
        spans = spans[size:]
    return sentences


def random_tree(random: Random, size: int) -> list[int]:
    """Return the heads of a tree, projective or not."""
    order = random.sample(range(size), size)
    heads = [0] * size
    for place, word in enumerate(order[1:], 1):
        heads[word] = order[random.randrange(place)] + 1
    return heads
