"""A parser that gives what is no tree: two words that depend on each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rule_parser import sentence_of

from lisdata.parsers import ParsedSentence


def parse(texts: Sequence[str]) -> Iterator[list[ParsedSentence]]:
    """Yield for each text one sentence of its first and last character, each the head of the other."""
    for text in texts:
        yield [sentence_of([(0, 1), (len(text) - 1, len(text))], [2, 1])]
