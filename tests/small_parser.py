"""A parser that needs no model: words stand between spaces and before apostrophes, each depends on the one before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lisdata.parsers import ParsedSentence


def parse(texts: Sequence[str]) -> Iterator[list[ParsedSentence]]:
    """Yield the sentence of each text, if it has words; a tab does not end a word."""
    for text in texts:
        spans = [match.span() for match in re.finditer("'?[^ \n']+", text)]
        begins, ends = ([span[side] for span in spans] for side in (0, 1))
        sentence = ParsedSentence(
            begin=0,
            end=len(text),
            word_begins=begins,
            word_ends=ends,
            heads=list(range(len(spans))),
            deprels=["dep"] * len(spans),
        )
        yield [sentence] if spans else []
