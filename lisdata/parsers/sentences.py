"""What a parser is: a function from texts to sentences with dependency trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lisdata.errors import LisDataError


class ParserError(LisDataError):
    """A parser cannot be loaded, or what it gives is not what `Parser` promises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSentence:
    """One sentence of a text; all offsets are characters (code points) of the text, [begin, end).

    Words have a character at least, come in text order and do not overlap, but for the words of one multiword token,
    which all have its span. `heads` are word numbers of the sentence from 1, 0 = root. A `deprels` entry "" says that
    the parser names no relation. `forms` is for words that are not spelled as their span is (French "du" = "de" +
    "le"). Numbers and texts may stand in lists, tuples or flat arrays.
    """

    begin: int
    end: int
    word_begins: Sequence[int]
    word_ends: Sequence[int]
    heads: Sequence[int]
    deprels: Sequence[str]
    forms: Sequence[str] | None = None

    def forms_in(self, text: str) -> Sequence[str]:
        """Return the form of each word, as `text` spells it where `forms` is None."""
        if self.forms is not None:
            return self.forms
        return [text[begin:end] for begin, end in zip(self.word_begins, self.word_ends, strict=True)]


Parser = Callable[[Sequence[str]], Iterable[list[ParsedSentence]]]
"""Gives, for each text in order, its sentences in order: disjoint, each with at least one word, gaps allowed.

It leaves the list of texts as it is.
"""
