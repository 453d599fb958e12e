"""Verbs and their objects in minimal pairs that differ in the verb alone, such as BLiMP's causatives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lisdata.evaluation.blimp import Pair
from lisdata.parsers import ParsedSentence, parse

OBJECT_RELATIONS = ("obj", "dobj")
"""Of Universal Dependencies, and of CLEAR style, spaCy's English."""
_WORD = re.compile(r"\S+")

Span = tuple[int, int]
"""Characters [begin, end)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbObject:
    """The verb of the good sentence of a pair, the head word of its object, and how many words apart they are."""

    pair: Pair
    verb: Span
    object: Span
    distance: int


def find_verb_objects(pairs: Sequence[Pair], parser: str) -> list[VerbObject]:
    """Return verb and object of each pair whose sentences differ in one word, a verb that has an object by `parser`.

    The other pairs are left out.
    """
    verbs = [find_difference(pair.good, pair.bad) for pair in pairs]
    parses = parse([pair.good for pair in pairs], parser)
    found = []
    for pair, verb, sentences in zip(pairs, verbs, parses, strict=True):
        named = None if verb is None else _find_object(verb, sentences)
        if verb is not None and named is not None:
            place, distance = named
            found.append(VerbObject(pair=pair, verb=verb, object=place, distance=distance))
    return found


def find_difference(first: str, second: str) -> Span | None:
    """Return the one word of `first` in which it differs from `second`; None where they differ in more, or not."""
    words = [[match.group() for match in _WORD.finditer(text)] for text in (first, second)]
    if len(words[0]) != len(words[1]):
        return None
    places = [place for place, pair in enumerate(zip(*words, strict=True)) if pair[0] != pair[1]]
    return list(_WORD.finditer(first))[places[0]].span() if len(places) == 1 else None


def _find_object(verb: Span, sentences: Sequence[ParsedSentence]) -> tuple[Span, int] | None:
    """Return the span of the object's head word and its distance in words, where the parse has one."""
    for sentence in sentences:
        spans = list(zip(sentence.word_begins, sentence.word_ends, strict=True))
        of_verb = [number for number, (begin, end) in enumerate(spans, 1) if begin < verb[1] and end > verb[0]]
        relations = enumerate(zip(sentence.heads, sentence.deprels, strict=True), 1)
        objects = [number for number, (head, name) in relations if head in of_verb and name in OBJECT_RELATIONS]
        if objects:
            return spans[objects[0] - 1], abs(objects[0] - of_verb[0])
    return None
