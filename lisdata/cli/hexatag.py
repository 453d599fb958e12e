"""`lisdata hexatag`: text or treebanks to a dataset of sentences with dependency trees and hexatags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lisdata.cli.converting import ConvertCommand, check_paths, convert_options, run_conversion
from lisdata.cli.options import example
from lisdata.cli.terminal import say

TREEBANK_UNIT_MIB, TEXT_UNIT_MIB = 64, 1  # a minute or so to parse
_CHOICES = "conllu (the files' own trees), spacy, spacy:MODEL, tagger, tagger:FOLDER or python:MODULE:FUNCTION"


class _ParserName(click.ParamType):  # type: ignore[type-arg]  # not generic in every version
    """The name of a parser, or conllu."""

    name = "parser"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from lisdata.parsers.loading import check_parser_name

        try:
            if value != "conllu":
                check_parser_name(value)
        except ValueError:
            self.fail(f"expected {_CHOICES}, got {value!r}", param, ctx)
        return value


def _hexatag(paths: tuple[str, ...], to: Path, parser: str | None, unit_mib: int | None, **rest: Any) -> None:
    check_paths(paths)  # before a parser is loaded, which takes seconds
    if parser is None:
        parser = _choose_parser(paths)
    chosen = {name: value for name in ("unit", "batch_size") if (value := rest.pop(name)) is not None}
    chosen["non_projective"] = rest.pop("non_projective")
    if parser == "conllu":
        run_conversion("conllu", paths, to, chosen, unit_mib=_unit_mib(unit_mib, TREEBANK_UNIT_MIB, rest), **rest)
        return
    from lisdata.parsers import pin_parser

    pin_parser(parser)  # a missing one is told before anything is written
    chosen["parser"] = parser
    run_conversion("parsed", paths, to, chosen, unit_mib=_unit_mib(unit_mib, TEXT_UNIT_MIB, rest), **rest)


def _unit_mib(given: int | None, usual: int, settings: dict[str, Any]) -> int | None:
    """Return the size of a unit; None for an append, which takes that of the dataset."""
    return usual if given is None and not settings["append"] else given


def _choose_parser(paths: tuple[str, ...]) -> str:
    """Return the parser of text where none was named, and tell it."""
    from lisdata.parsers import ParserError, pin_parser
    from lisdata.sources.conllu import CONLLU

    if any(suffix in CONLLU.suffixes for path in paths for suffix in Path(path).suffixes):
        raise click.UsageError(f"Missing option '--parser'. Choose {_CHOICES}.")
    try:
        pin_parser("spacy")
    except ParserError:
        say("parser: tagger, the English hexatagger of lisdata (the better-known spacy is not installed)", err=True)
        return "tagger"
    say("parser: spacy", err=True)
    return "spacy"


hexatag = ConvertCommand(
    "hexatag",
    callback=_hexatag,
    short_help="Parse text, or read treebanks, and tag it: convert parsed, convert conllu.",
    help="Tag the sentences of PATHs with hexatags and write them, with their trees, as a dataset of kind text.\n\n"
    "PATHs are text to be parsed or treebanks in CoNLL-U: files, folders, globs or fsspec URLs, also compressed. More "
    "options: lisdata convert parsed, lisdata convert conllu.",
    epilog=example("lisdata hexatag data.conllu --to treebank.lis --parser conllu"),
    params=[
        click.Argument(["paths"], nargs=-1, required=True, metavar="PATH..."),
        click.Option(
            ["--parser"],
            type=_ParserName(),
            metavar="conllu|spacy[:MODEL]|tagger[:FOLDER]|python:MODULE:FUNCTION",
            help="The trees of CoNLL-U; a pipeline of spaCy; the English hexatagger of lisdata, or one trained anew "
            "(lisdata tagger train); any function as lisdata.parsers describes it. Without it text is parsed by spacy "
            "where that is installed, else by tagger.",
        ),
        click.Option(
            ["--non-projective"],
            type=click.Choice(["raise", "drop", "projectivize"]),
            default="projectivize",
            show_default=True,
            help="Where arcs cross: reject the sentence, leave it out, or tag the tree with arcs lifted.",
        ),
        click.Option(
            ["--unit"],
            type=click.Choice(["line", "paragraph", "document"]),
            help="What of a text is parsed at once; by default a paragraph, which ends at a blank line.",
        ),
        click.Option(["--batch-size"], type=click.IntRange(1), help="Units that a parser is given at once."),
        *convert_options(unit_mib=f"{TREEBANK_UNIT_MIB}, or {TEXT_UNIT_MIB} where text is parsed"),
    ],
)
