"""What a parser is: a function from texts to sentences with dependency trees, and the check of what one gave."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import index, le, lt

from lisdata.errors import LisDataError

_EXCERPT = 40


class ParserError(LisDataError):
    """A parser cannot be loaded, or what it gives is not what `Parser` promises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSentence:
    """One sentence of a text; all offsets are characters (code points) of the text, [begin, end).

    Words come in text order and do not overlap, but for the words of one multiword token, which all have its span.
    `heads` are word numbers of the sentence from 1, 0 = root. A `deprels` entry "" says that the parser names no
    relation. `forms` is for words that are not spelled as their span is (French "du" = "de" + "le").
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
"""Gives, for each text in order, its sentences in order: disjoint, each with at least one word, gaps allowed."""


def check_parses(
    texts: Sequence[str], parser: Parser, name: str, place_of: Callable[[int], str]
) -> Iterator[list[ParsedSentence]]:
    """Yield what `parser` gives for each text once it is known to hold to the protocol; trees are not looked at.

    Raises ParserError, naming the parser and (by `place_of` its number) the text.
    """
    done = 0
    for sentences in _results(texts, parser, name, place_of):
        if done == len(texts):
            raise ParserError(f"parser {name}: expected {done} results, one a text, found more")
        fault = _find_fault(texts[done], sentences)
        if fault:
            excerpt = texts[done][:_EXCERPT]
            raise ParserError(f"parser {name}: {place_of(done)} ({excerpt!r}): {fault}")
        yield sentences
        done += 1
    if done < len(texts):
        raise ParserError(f"parser {name}: expected {len(texts)} results, one a text, found {done}")


def _results(
    texts: Sequence[str], parser: Parser, name: str, place_of: Callable[[int], str]
) -> Iterator[list[ParsedSentence]]:
    """Yield what a parser gives; an exception of it names the parser, the text and the line of code."""
    done = 0
    try:
        for sentences in parser(texts):
            yield sentences
            done += 1
    except Exception as error:
        if isinstance(error, LisDataError):
            raise
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
        place = place_of(min(done, len(texts) - 1)) if texts else "no text"
        raise ParserError(f"parser {name}: {place}: {type(error).__name__}: {error} ({where})") from error


def _find_fault(text: str, sentences: object) -> str | None:
    if not isinstance(sentences, Sequence):
        return f"expected a list of ParsedSentence, found {type(sentences).__name__}"
    reached = 0
    for number, sentence in enumerate(sentences, 1):
        if not isinstance(sentence, ParsedSentence):
            return f"sentence {number}: expected a ParsedSentence, found {type(sentence).__name__}"
        if not reached <= sentence.begin <= sentence.end <= len(text):
            found = f"characters {sentence.begin} to {sentence.end}"
            return f"sentence {number}: expected to lie in characters {reached} to {len(text)}, found {found}"
        fault = _find_fault_of_words(sentence)
        if fault:
            return f"sentence {number}: {fault}"
        reached = sentence.end
    return None


def _find_fault_of_words(sentence: ParsedSentence) -> str | None:
    numbers, texts = (sentence.word_begins, sentence.word_ends, sentence.heads), [sentence.deprels]
    if sentence.forms is not None:
        texts.append(sentence.forms)
    sizes = [len(column) for column in (*numbers, *texts)]
    if len(set(sizes)) > 1 or not sizes[0]:
        return f"expected one begin, end, head, deprel (and form) a word, found {', '.join(map(str, sizes))}"
    if not all(isinstance(text, str) for column in texts for text in set(column)):
        return "expected deprels (and forms) that are texts"
    try:
        begins, ends, _ = ([*map(index, column)] for column in numbers)
    except TypeError as error:
        return f"expected begins, ends and heads that are whole numbers ({error})"
    return None if _lie_in_order(sentence, begins, ends) else _find_fault_of_spans(sentence, begins, ends)


def _lie_in_order(sentence: ParsedSentence, begins: list[int], ends: list[int]) -> bool:
    """Tell whether no two words overlap: the common case, told fast."""
    is_inside = sentence.begin <= begins[0] and ends[-1] <= sentence.end
    return is_inside and all(map(lt, begins, ends)) and all(map(le, ends, begins[1:]))


def _find_fault_of_spans(sentence: ParsedSentence, begins: list[int], ends: list[int]) -> str | None:
    last = (sentence.begin, sentence.begin)
    for number, span in enumerate(zip(begins, ends, strict=True), 1):
        if not last[1] <= span[0] < span[1] <= sentence.end and span != last:
            found = f"{span[0]} to {span[1]}"
            return f"word {number}: expected characters within {last[1]} to {sentence.end}, found {found}"
        last = span
    return None
