"""`benchmark attention`: how much verbs attend to their objects in two models."""

from __future__ import annotations

from pathlib import Path

import click

from lisdata.cli.options import device_option, example, tags_option
from lisdata.cli.terminal import say

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def _to_layers(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[int, int] | None:
    """Return the first and the last of layers "A-B" or "A"."""
    if text is None:
        return None
    first, _, last = text.partition("-")
    if not (first.isdecimal() and (last or first).isdecimal()):
        raise click.BadParameter(f"expected layers as 5-8, got {text!r}")
    return int(first), int(last or first)


@click.command(
    epilog=example(
        "lisdata benchmark attention --model sipe --beside none --tokenizer tokenizer.json --data blimp "
        "--parser tagger --to out/attention"
    )
)
@click.option("--model", type=_FOLDER, required=True, help="A checkpoint, or a folder whose newest one is meant.")
@click.option("--beside", type=_FOLDER, required=True, help="The model that it is compared with, likewise.")
@click.option("--tokenizer", type=_FILE, required=True, help="tokenizer.json or characters.json of both.")
@click.option("--data", type=_FOLDER, required=True, help="Folder of BLiMP's files.")
@click.option("--to", type=click.Path(file_okay=False, path_type=Path), required=True, help="Report's folder.")
@click.option(
    "--parser",
    metavar="spacy[:MODEL]|tagger[:FOLDER]|python:MODULE:FUNCTION",
    default="tagger",
    show_default=True,
    help="Finds the objects of verbs, and tags each sentence as a whole for models that read hexatags.",
)
@tags_option("Which tags models see.")
@click.option(
    "--tag-cache",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File that keeps the tags of all sentences, to be used again; default: tags.jsonl in the folder.",
)
@click.option(
    "--layers",
    callback=_to_layers,
    metavar="A-B",
    help="Layers that are averaged, from 1; default: all of a decoder, the middle third of an encoder.",
)
@click.option("--paradigm", default="causative", show_default=True, help="Whose pairs: they differ in a verb.")
@click.option("--pairs", "max_pairs", type=click.IntRange(1), help="Only the first N pairs.")
@device_option
def attention(
    model: Path,
    beside: Path,
    tokenizer: Path,
    data: Path,
    to: Path,
    parser: str,
    regime: str,
    tag_cache: Path | None,
    layers: tuple[int, int] | None,
    paradigm: str,
    max_pairs: int | None,
) -> None:
    """Compare how much verb and object attend to each other in two models (SiPE's appendix C).

    It is read in the good sentences of minimal pairs, as the mean over attention heads and layers: of an encoder in
    the verb's row, of a decoder in the object's, since its verb sees nothing that comes after. Pairs that --model has
    right and --beside wrong are told apart from the others.
    """
    from lisdata.evaluation.attention_analysis import AttentionRequest, compare_attention
    from lisdata.evaluation.attention_report import write_attention_report
    from lisdata.evaluation.benchmarks import BenchmarkRequest
    from lisdata.evaluation.causal_scorer import CausalScoring

    benchmark = BenchmarkRequest(
        checkpoints=(model, beside),
        tokenizer=tokenizer,
        data=data,
        directory=to,
        parser=parser,
        tag_cache=tag_cache,
        scoring=CausalScoring(regime=regime),
    )
    request = AttentionRequest(benchmark=benchmark, paradigm=paradigm, max_pairs=max_pairs, layers=layers)
    click.echo(write_attention_report(compare_attention(request), to), nl=False)
    say(f"report and plot: {to}", err=True)
