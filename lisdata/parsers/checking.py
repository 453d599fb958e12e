"""The check of what a function gave as a parser: whatever it is, it becomes plain sentences or a ParserError."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import index, le, lt
from reprlib import repr as shortened
from typing import Any

from lisdata.errors import LisDataError
from lisdata.hexatag.faults import shown_number
from lisdata.parsers.sentences import ParsedSentence, Parser, ParserError

_EXCERPT = 40


def check_parses(
    texts: Sequence[str], parser: Parser, name: str, place_of: Callable[[int], str]
) -> Iterator[list[ParsedSentence]]:
    """Yield what `parser` gives for each text, made plain lists, once it is known to hold to the protocol.

    Trees are not looked at. Raises ParserError, naming the parser and (by `place_of` its number) the text; for an
    exception of the parser, or of a lazy list that it gave, also the line of code.
    """
    given = list(texts)  # its own, so that a change of it is seen
    done, is_more = 0, False
    try:
        for result in _results(parser(given)):
            is_more = done == len(texts)
            if is_more:
                break
            if given[done : done + 1] != [texts[done]]:
                raise ParserError("expected the list of texts to be left as it is, found this one changed or moved")
            yield read_sentences(result, texts[done])
            done += 1
    except Exception as error:
        if isinstance(error, LisDataError) and not isinstance(error, ParserError):
            raise
        place = min(done, len(texts) - 1)
        where = f"{place_of(place)} ({texts[place][:_EXCERPT]!r})" if texts else "no text"
        raise ParserError(f"parser {name}: {where}: {_told(error)}") from error
    if is_more or done < len(texts):
        raise ParserError(
            f"parser {name}: expected {len(texts)} results, one a text, found {'more' if is_more else done}"
        )


def _results(given: Any) -> Iterator[object]:
    if not isinstance(given, str | bytes | Mapping):
        with suppress(TypeError):
            return iter(given)
    raise ParserError(f"expected a list of results, one a text, found {type(given).__name__}")


def _told(error: Exception) -> str:
    if isinstance(error, ParserError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
    return f"{traceback.format_exception_only(error)[-1].strip()} ({where})"


# -- one text --------------------------------------------------------------------------------------------------------


def read_sentences(given: object, text: str) -> list[ParsedSentence]:
    """Return the sentences of a text with plain numbers, texts and lists; raise ParserError where they are none."""
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise ParserError(f"expected a list of ParsedSentence, found {type(given).__name__}")
    sentences: list[ParsedSentence] = []
    reached = 0
    for number, sentence in enumerate(given, 1):
        where = f"sentence {number}: "
        if not isinstance(sentence, ParsedSentence):
            raise ParserError(f"{where}expected a ParsedSentence, found {type(sentence).__name__}")
        plain = _made_plain(sentence, where)
        if not reached <= plain.begin < plain.end <= len(text):
            found = f"characters {shown_number(plain.begin)} to {shown_number(plain.end)}"
            raise ParserError(f"{where}expected to lie in characters {reached} to {len(text)}, found {found}")
        if not _lie_in_order(plain):
            _refuse_spans(plain, where)
        sentences.append(plain)
        reached = plain.end
    return sentences


def _made_plain(sentence: ParsedSentence, where: str) -> ParsedSentence:
    (begin,), (end,) = _numbers([sentence.begin], f"{where}begin"), _numbers([sentence.end], f"{where}end")
    plain = ParsedSentence(
        begin=begin,
        end=end,
        word_begins=_numbers(sentence.word_begins, f"{where}word_begins"),
        word_ends=_numbers(sentence.word_ends, f"{where}word_ends"),
        heads=_numbers(sentence.heads, f"{where}heads"),
        deprels=_texts(sentence.deprels, f"{where}deprels"),
        forms=None if sentence.forms is None else _texts(sentence.forms, f"{where}forms"),
    )
    columns = [plain.word_begins, plain.word_ends, plain.heads, plain.deprels]
    sizes = [len(column) for column in (columns if plain.forms is None else [*columns, plain.forms])]
    if len(set(sizes)) > 1 or not sizes[0]:
        found = ", ".join(map(str, sizes))
        raise ParserError(f"{where}expected one begin, end, head, deprel (and form) a word, found {found}")
    if plain.forms is not None and "" in plain.forms:
        raise ParserError(f"{where}forms: expected a form a word, found none for word {plain.forms.index('') + 1}")
    return plain


def _column(values: object, where: str) -> list[Any]:
    """Return the values of a list or of a flat array, of any library, as a list."""
    found: object = None
    if hasattr(values, "tolist"):
        found = values.tolist()
    elif isinstance(values, Sequence) and not isinstance(values, str | bytes | bytearray):
        found = list(values)
    if not isinstance(found, list):
        raise ParserError(f"{where}: expected a list, found {type(values).__name__}")
    return found


def _numbers(values: object, where: str) -> list[int]:
    column = _column(values, where)
    return column if {*map(type, column)} <= {int} else [_whole_number(value, where) for value in column]


def _whole_number(value: object, where: str) -> int:
    try:
        number = None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        raise ParserError(f"{where}: expected whole numbers, found {shortened(value)}")
    return number


def _texts(values: object, where: str) -> list[str]:
    column = _column(values, where)
    is_plain = {*map(type, column)} <= {str}
    texts = column if is_plain else [str.__str__(value) for value in column if isinstance(value, str)]
    if len(texts) < len(column):
        wrong = next(value for value in column if not isinstance(value, str))
        raise ParserError(f"{where}: expected texts, found {shortened(wrong)}")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        wrong = error.object[error.start]
        raise ParserError(f"{where}: expected characters, found the lone surrogate {wrong!r}") from error
    return texts


def _lie_in_order(sentence: ParsedSentence) -> bool:
    """Tell whether no two words overlap: the common case, told fast."""
    begins, ends = sentence.word_begins, sentence.word_ends
    is_inside = sentence.begin <= begins[0] and ends[-1] <= sentence.end
    return is_inside and all(map(lt, begins, ends)) and all(map(le, ends, begins[1:]))


def _refuse_spans(sentence: ParsedSentence, where: str) -> None:
    """Raise ParserError for a word that overlaps the one before, but for those of one multiword token."""
    last, reached = None, sentence.begin
    for number, span in enumerate(zip(sentence.word_begins, sentence.word_ends, strict=True), 1):
        if not reached <= span[0] < span[1] <= sentence.end and span != last:
            found = f"{shown_number(span[0])} to {shown_number(span[1])}"
            expected = f"characters within {reached} to {sentence.end}"
            raise ParserError(f"{where}word {number}: expected {expected}, found {found}")
        last, reached = span, span[1]
