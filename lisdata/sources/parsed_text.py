"""Plain text, parsed: the units of source text, cut into sentences with dependency trees and hexatags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from lisdata.errors import BadRecordError
from lisdata.hexatag import TreeFault
from lisdata.inputs import InputSlice
from lisdata.parsers.flat import FlatParses, join_parses
from lisdata.parsers.loading import check_parser_name, load_parser, makes_batches, parse_flat, pin_parser
from lisdata.parsers.sentences import Parser
from lisdata.records import SentenceRecords, TextRecords
from lisdata.registry import Reject
from lisdata.sources.parsed_records import make_records, texts_to_parse
from lisdata.sources.text import TEXT, TextOptions, read_units

MAX_CALL_CHARACTERS = 1 << 20  # that a parser is given at once, but for a unit that is longer by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedTextOptions:
    """Options of source parsed."""

    parser: str = field(
        default="spacy",
        metadata={
            "help": "spacy, spacy:MODEL (a pipeline that is installed, or its folder), tagger (the English hexatagger "
            "of this package), tagger:FOLDER or python:MODULE:FUNCTION (any function as lisdata.parsers describes it).",
            "pin": pin_parser,
        },
    )
    unit: Literal["line", "paragraph", "document"] = field(
        default="paragraph", metadata={"help": "What is parsed at once: no sentence goes beyond it."}
    )
    non_projective: Literal["raise", "drop", "projectivize"] = field(
        default="projectivize",
        metadata={
            "help": "What to do where arcs cross: reject the sentence, leave it out, or tag the tree with arcs lifted."
        },
    )
    batch_size: int = field(default=64, metadata={"help": "Units that the parser is given at once."})
    max_document_bytes: int = field(
        default=256 << 20, metadata={"help": "Refuse a longer unit, which would have to be held in memory whole."}
    )

    def __post_init__(self) -> None:
        check_parser_name(self.parser)
        if self.batch_size < 1:
            raise ValueError(f"expected at least 1 unit at once, got {self.batch_size=}")
        _ = self.text_options

    @property
    def text_options(self) -> TextOptions:
        """How source text finds the units."""
        return TextOptions(unit=self.unit, max_document_bytes=self.max_document_bytes)


@dataclass(frozen=True, slots=True)
class ParsedTextSource:
    """Reads text files as sentences, which together are the file's bytes.

    A sentence's document ends where the next sentence begins, so that it holds the white space (and whatever the parser
    left out) that follows it; the first of a unit also holds what precedes it. A unit without a sentence, of blank
    lines say, is a sentence without words. Heads are those of the parser; tags are of
    the tree with arcs lifted where they cross.
    """

    name: str = "parsed"
    summary: str = "Plain text, parsed into sentences with dependency trees"
    suffixes: tuple[str, ...] = TEXT.suffixes
    converter: str = "sentences"
    exporter: str = "text"
    splits: bool = True
    options_type: type[ParsedTextOptions] = ParsedTextOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: ParsedTextOptions) -> int:
        """Return where a unit of text begins."""
        return TEXT.find_cut(piece, wanted, options.text_options)

    def read(self, piece: InputSlice, options: ParsedTextOptions, reject: Reject) -> Iterator[SentenceRecords]:
        """Yield the sentences of `piece`; a unit that is not UTF-8 and a sentence that is no tree are rejected.

        Raises ParserError, naming the parser and the text, where a function does not give what a `Parser` promises.
        """
        parser = load_parser(options.parser, batch_size=options.batch_size)
        for units in read_units(piece, options.text_options, reject):
            records = make_records(
                units,
                _parse(piece, units, options, parser),
                non_projective=options.non_projective,
                on_bad_sentence=partial(_reject_sentence, piece, options, reject),
            )
            if records.num_records or records.counts:
                yield records


def _parse(piece: InputSlice, units: TextRecords, options: ParsedTextOptions, parser: Parser) -> FlatParses:
    """Return the sentences of all units."""
    texts = texts_to_parse(units)
    calls = list(_iter_calls(texts, len(texts) if makes_batches(parser) else options.batch_size))
    parts = [
        parse_flat(texts[call.start : call.stop], parser, options.parser, partial(_place, piece, units, call.start))
        for call in calls
    ]
    return join_parses(parts, [len(call) for call in calls])


def _place(piece: InputSlice, units: TextRecords, first: int, number: int) -> str:
    return str(piece.place(int(units.begin[first + number])))


def _iter_calls(texts: list[str], batch_size: int) -> Iterator[range]:
    """Yield which texts the parser is given at once."""
    begin = size = 0
    for number, text in enumerate(texts):
        if number > begin and (number - begin == batch_size or size + len(text) > MAX_CALL_CHARACTERS):
            yield range(begin, number)
            begin, size = number, 0
        size += len(text)
    if begin < len(texts):
        yield range(begin, len(texts))


def _reject_sentence(
    piece: InputSlice, options: ParsedTextOptions, reject: Reject, fault: TreeFault, found: str, begin: int, data: bytes
) -> None:
    kind = "projective tree" if fault == TreeFault.NON_PROJECTIVE else "tree with one root"
    expected = f"a {kind} from parser {options.parser}"
    place, end = piece.place(begin), begin + len(data)
    reject(BadRecordError(place, expected=expected, found=found, begin=begin, end=end, data=data))


PARSED = ParsedTextSource()
