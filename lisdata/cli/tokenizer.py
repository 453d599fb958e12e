"""`tokenizer`: learn a tokenizer from text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lisdata.cli.options import CleanGroup, example
from lisdata.cli.terminal import say


@click.group(cls=CleanGroup, epilog=example("lisdata tokenizer train sample_data/text --to tokenizer.json"))
def tokenizer() -> None:
    """Make the tokenizer that encode --tokenizer takes."""


@tokenizer.command(epilog=example("lisdata tokenizer train sample_data/text --to tokenizer.json --vocabulary-size 400"))
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--to", type=click.Path(dir_okay=False, path_type=Path), required=True, help="File to write.")
@click.option(
    "--vocabulary-size",
    type=click.IntRange(1),
    default=32_768,
    show_default=True,
    help="Tokens in all, 4 special ones and 256 bytes too.",
)
@click.option(
    "--min-frequency",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="How often a pair has to occur to become a token.",
)
@click.option(
    "--straight-quotes", is_flag=True, help="Read typographic quotation marks and apostrophes as the straight ones."
)
def train(paths: tuple[str, ...], to: Path, **settings: Any) -> None:
    """Learn byte-level BPE from text: files, folders, globs, URLs.

    White space around a text is no token, a word is spelled alike wherever it stands, and the template puts <s> before
    and </s> behind a text (encode --special-tokens).
    """
    from lisdata.encoding.tokenizer_training import TokenizerSettings, train_tokenizer

    size = train_tokenizer(paths, to, TokenizerSettings(**settings))
    say(f"{to}: {size:,} tokens")
