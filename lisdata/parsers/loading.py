"""Parsers by name: "spacy", "spacy:MODEL", "tagger", "tagger:FOLDER", "python:MODULE:FUNCTION"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TypeGuard

from lisdata.parsers.checking import check_parses
from lisdata.parsers.flat import FlatParses, flatten
from lisdata.parsers.sentences import ParsedSentence, Parser, ParserError
from lisdata.parsers.spacy_pipeline import SpacyParser, pin_pipeline, spacy_parser
from lisdata.parsers.tagger import TaggerParser, pin_tagger, tagger_parser

PARSER_NAMES = "spacy, spacy:MODEL, tagger, tagger:FOLDER or python:MODULE:FUNCTION"


def check_parser_name(name: str) -> None:
    """Raise ValueError when `name` can be none of a parser."""
    if not re.fullmatch(r"(spacy|tagger)(:.+)?|python:[^:]+:[^:]+", name):
        raise ValueError(f"expected a parser {PARSER_NAMES}, got {name!r}")


def pin_parser(name: str) -> str:
    """Return `name` with the versions of the pipeline that it stands for; what decides a plan.

    Raises as `load_parser` does, but loads no model.
    """
    check_parser_name(name)
    kind, _, rest = name.partition(":")
    if kind == "spacy":
        return pin_pipeline(rest or None)
    if kind == "tagger":
        return pin_tagger(rest or None)
    _load_function(name)
    return name


def load_parser(name: str, *, batch_size: int = 64) -> Parser:
    """Return the parser called `name`; models stay loaded, however often it is called.

    MODEL is an installed pipeline of spaCy or its folder, FOLDER what `lisdata tagger train` wrote. FUNCTION is a
    `Parser` in a module that Python can import; for one in the current folder set PYTHONPATH=. `batch_size` is for
    spaCy. Raises ValueError for a name of another form, ParserError where there is no such parser.
    """
    check_parser_name(name)
    kind, _, rest = name.partition(":")
    if kind == "spacy":
        return spacy_parser(rest or None, batch_size=batch_size)
    if kind == "tagger":
        return tagger_parser(rest or None)
    return _load_function(name)


def _load_function(name: str) -> Parser:
    _, module_name, function = name.split(":", 2)
    try:
        found = getattr(import_module(module_name), function, None)
    except ImportError as error:
        raise ParserError(f"parser {name}: {error} (for a module in the current folder set PYTHONPATH=.)") from error
    if not callable(found):
        raise ParserError(f"parser {name}: expected a function {function} in module {module_name}, found none")
    parser: Parser = found
    return parser


def parse(texts: Sequence[str], parser: str | Parser = "spacy") -> Iterator[list[ParsedSentence]]:
    """Yield the sentences of each text, checked but for their trees.

    Raises ParserError for a parser that cannot be loaded, or does not give what `Parser` promises.
    """
    if isinstance(texts, str):
        raise ValueError("expected a list of texts, got one text: give it in a list")
    if isinstance(parser, str):
        yield from check_parses(texts, load_parser(parser), parser, _number)
    else:
        yield from check_parses(texts, parser, getattr(parser, "__qualname__", repr(parser)), _number)


def makes_batches(parser: Parser) -> TypeGuard[SpacyParser | TaggerParser]:
    """Tell whether a parser is one of ours: faster the more it is given at once, and not checked."""
    return isinstance(parser, SpacyParser | TaggerParser)


def parse_flat(texts: Sequence[str], parser: Parser, name: str, place_of: Callable[[int], str]) -> FlatParses:
    """Return what `parser` gives for all of `texts`, checked as `check_parses` does it."""
    if makes_batches(parser):
        return parser.parse_flat(texts)
    return flatten(texts, check_parses(texts, parser, name, place_of))


def _number(index: int) -> str:
    return f"texts[{index}]"
