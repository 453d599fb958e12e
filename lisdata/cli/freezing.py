"""`lisdata freeze-tags`: hexatags of whole sentences in token rows, made those of an incremental parser."""

from __future__ import annotations

from pathlib import Path

import click

from lisdata.cli.options import DatasetFolder, ResumingCommand, example


@click.command(
    "freeze-tags",
    cls=ResumingCommand,
    epilog=example("lisdata freeze-tags treebank.tok --to frozen.tok --parser tagger"),
)
@click.argument("tokens", type=DatasetFolder())
@click.option("--to", type=click.Path(file_okay=False, path_type=Path), required=True, help="Token dataset to write.")
@click.option(
    "--parser",
    metavar="spacy[:MODEL]|tagger[:FOLDER]|python:MODULE:FUNCTION",
    required=True,
    help="Parses each sentence as far as each of its words.",
)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Worker processes.")
@click.option("--fresh", is_flag=True, help="Start over instead of resuming.")
def freeze_tags(tokens: Path, to: Path, parser: str, workers: int, fresh: bool) -> None:
    """Give each word in TOKENS, rows of one sentence each, the tags that it had when it was the newest one.

    They tell of no word to come, as tags of a whole sentence do: of a parse that ends with the word's first token, the
    terminal, and the nonterminal between the word before and it.
    """
    from lisdata.cli.printing import print_manifest
    from lisdata.cli.progress import run_progress
    from lisdata.encoding.frozen_tags import freeze_tags as freeze

    with run_progress("freeze-tags") as show:
        manifest = freeze(tokens, to, parser, workers=workers, fresh=fresh, on_progress=show)
    print_manifest(to, manifest)
