"""`tagger`: hexatag English (or, trained anew, any language) by a small network of one's own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lisdata.cli.options import CleanGroup, ResumingCommand, example
from lisdata.cli.terminal import say

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_SAME_SCHEME = 0.9  # of words whose relation the tagger knows: a treebank has rare ones that no tagger learned


@click.group(cls=CleanGroup, epilog=example("lisdata tagger train train.conllu --to my.tagger"))
def tagger() -> None:
    """Train a hexatagger on trees and measure it; --parser tagger:FOLDER uses it.

    Trees are those of treebanks, or those that another parser, the teacher, gives to text.
    """


def _corpus_options(command: Any) -> Any:
    """Add the arguments that say where trees come from."""
    for add in (
        click.option(
            "--text", "texts", multiple=True, metavar="PATH", help="Text for the teacher; may be given several times."
        ),
        click.option("--teacher", metavar="spacy[:MODEL]|python:MODULE:FUNCTION", help="The parser of --text."),
        click.option(
            "--unit",
            type=click.Choice(["line", "paragraph", "document"]),
            default="paragraph",
            show_default=True,
            help="What of --text is parsed at once.",
        ),
        click.argument("treebanks", nargs=-1, metavar="[TREEBANK]..."),
    ):
        command = add(command)
    return command


@tagger.command(
    cls=ResumingCommand,
    epilog=example("lisdata tagger train train.conllu --dev dev.conllu --to my.tagger"),
)
@_corpus_options
@click.option("--to", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder of the tagger.")
@click.option(
    "--dev", multiple=True, metavar="TREEBANK", help="Trees to measure it on now and then; may be given several times."
)
@click.option("--from", "initial", metavar="tagger|FOLDER", help="Begin with this tagger's weights and sizes.")
@click.option("--steps", type=click.IntRange(1), default=3000, show_default=True, help="Optimizer steps.")
@click.option("--batch-words", type=click.IntRange(1), default=2000, show_default=True, help="Words of a step.")
@click.option("--learning-rate", type=float, default=4e-3, show_default=True, help="Of AdamW, at its highest.")
@click.option("--width", type=click.IntRange(2), default=192, show_default=True, help="Width of the network.")
@click.option("--layers", type=click.IntRange(1), default=3, show_default=True, help="Recurrent layers.")
@click.option("--rows", type=click.IntRange(1), default=6000, show_default=True, help="Rows of each feature's table.")
@click.option("--dropout", type=float, default=0.1, show_default=True, help="More of it for less text, such as 0.3.")
@click.option(
    "--precision",
    type=click.Choice(["fp32", "bf16"]),
    default="fp32",
    show_default=True,
    help="Of training: bf16 is faster where AMX is.",
)
@click.option("--checkpoint-every", type=click.IntRange(1), default=500, show_default=True, help="Steps.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of weights and order.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads of torch.")
def train(treebanks: tuple[str, ...], texts: tuple[str, ...], teacher: str | None, unit: str, **settings: Any) -> None:
    """Train a hexatagger on the trees of TREEBANKs (CoNLL-U) and of --text as --teacher parses it.

    The folder gets config.json, model.safetensors, report.json, loss.png and checkpoints; a stopped training goes on
    exactly.
    """
    from lisdata.cli.progress import counter
    from lisdata.tagger_run import TaggerRequest, run_training
    from lisdata.training.allocation import keep_freed_memory

    keep_freed_memory()
    request = TaggerRequest(treebanks=treebanks, texts=texts, teacher=teacher, unit=unit, **settings)
    with counter("tagger train", unit="steps") as show:
        run_training(
            request,
            on_progress=lambda p: show(
                p.step, p.num_steps, f"loss {p.loss:.3f}, {p.tokens_per_second:,.0f} words/s, padding included"
            ),
        )
    say(f"{request.to}: use it as --parser tagger:{request.to}")


@tagger.command(epilog=example("lisdata tagger evaluate data.conllu"))
@_corpus_options
@click.option("--tagger", "folder", type=_FOLDER, help="Folder of the tagger; default: the English one of lisdata.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def evaluate(
    treebanks: tuple[str, ...],
    texts: tuple[str, ...],
    teacher: str | None,
    unit: str,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Print the attachment scores of a tagger on the words of TREEBANKs, and its agreement with --teacher on --text."""
    import json

    from lisdata.evaluation.attachment import score_tagger
    from lisdata.tagger.weights import ENGLISH, load_tagger
    from lisdata.training.tagger_corpus import read_corpus

    scores = asdict(score_tagger(load_tagger(folder or ENGLISH), read_corpus(treebanks, texts, teacher, unit=unit)))
    if as_json:
        click.echo(json.dumps(scores))
        return
    for name, value in scores.items():
        label = name.replace("_", " ").replace("uas", "UAS").replace("las", "LAS")
        click.echo(f"{label:26} {value:,}" if isinstance(value, int) else f"{label:26} {value:.2%}")
    if scores["known_relations"] < _SAME_SCHEME:
        say(
            "The tagger learned other relations, and heads, than these trees have: compare it with its teacher.",
            err=True,
        )
