"""`benchmark`: the targeted tests of syntax, BLiMP and SyntaxGym, how sure a difference of models is, and GLUE."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lisdata.cli.options import (
    PREFIX_TAGS,
    WHOLE_SENTENCE_TAGS,
    AddOption,
    CleanGroup,
    ResumingCommand,
    device_option,
    example,
    is_given,
    tags_option,
)
from lisdata.cli.terminal import say

if TYPE_CHECKING:
    from lisdata.evaluation.benchmarks import BenchmarkRequest

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_ITEMS = click.Path(exists=True, path_type=Path)
_TIES = click.option(
    "--ties", type=click.Choice(["wrong", "half"]), default="wrong", show_default=True, help="What a tie counts."
)

_TOKENIZER = click.option(
    "--tokenizer", type=_FILE, required=True, help="tokenizer.json or characters.json of the model."
)
_TO = click.option("--to", type=click.Path(file_okay=False, path_type=Path), required=True, help="Report's folder.")
_PARSER = click.option(
    "--parser",
    metavar="spacy[:MODEL]|tagger[:FOLDER]|python:MODULE:FUNCTION",
    help="Tags each sentence as a whole, for models that read hexatags; without one they see none.",
)
_TAG_CACHE = click.option(
    "--tag-cache",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File that keeps the tags of all sentences, to be used again; default: tags.jsonl in the folder.",
)


@click.group(
    cls=CleanGroup, epilog=example("lisdata benchmark syntaxgym --model out --tokenizer tok.json --data suites --to sg")
)
def benchmark() -> None:
    """Test what models know of syntax, by the likelihood of sentences, and what they learn of other tasks (glue).

    A report is a table, JSON, a plot, and a CSV of which items are right, in the form of Hu et al.'s published results.
    """


def _model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say what is scored and how."""
    options: list[AddOption] = [
        click.option(
            "--model",
            "models",
            type=_FOLDER,
            multiple=True,
            required=True,
            help="A checkpoint, a folder whose newest one is meant, or an encoder as Hugging Face saves it; given "
            "several times: the seeds of one model.",
        ),
        _TOKENIZER,
        click.option("--data", type=_FOLDER, required=True, help="Folder of the benchmark's files."),
        click.option("--only", metavar="NAME", multiple=True, help="Only this suite or paradigm; may be repeated."),
        _TO,
        _PARSER,
        tags_option(
            "Which of the tags the model sees; prefix, prefix-moved and frozen are those of parses of what was read. "
            "All but none need --parser.",
            (*WHOLE_SENTENCE_TAGS, *PREFIX_TAGS),
        ),
        _TAG_CACHE,
        click.option(
            "--start",
            help='Text that each sentence begins with, read and not scored: a token such as "<s>"; default: what the '
            "tokenizer's own template puts first. Without any the first token is not scored.",
        ),
        click.option("--end", default="", help="Text scored after each sentence, such as </s>; default: none."),
        click.option(
            "--batch-tokens", type=click.IntRange(1), default=2048, show_default=True, help="Tokens computed at once."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return device_option(command)


@benchmark.command(
    epilog=example(
        "lisdata benchmark syntaxgym --model out --tokenizer tokenizer.json --data suites --to out/syntaxgym"
    )
)
@_model_options
@click.option("--vote", "votes", is_flag=True, help="Also score what the majority of the seeds say of each item.")
@click.option(
    "--unit", type=click.Choice(["bits", "nats"]), default="bits", show_default=True, help="Matters to a = b only."
)
def syntaxgym(votes: bool, unit: Any, **settings: Any) -> None:
    """Score models on SyntaxGym's suites, the JSON files in the folder --data.

    The score is the plain mean over suites but fgd-embed3, fgd-embed4 and nn-nv-rpl, as in Hu et al. (2020).
    """
    from lisdata.cli.progress import counter
    from lisdata.evaluation.benchmarks import run_syntaxgym

    request = _to_request(**settings)
    with counter("benchmark syntaxgym", unit="suites") as show:
        table = run_syntaxgym(request, votes=votes, unit=unit, on_progress=show)
    _print_report(table, request)


@benchmark.command(
    epilog=example("lisdata benchmark blimp --model out --tokenizer tokenizer.json --data blimp --to out/blimp")
)
@_model_options
@_TIES
@click.option("--pairs", "max_pairs", type=click.IntRange(1), help="Only the first N pairs of each paradigm.")
@click.option(
    "--within-word",
    "within_word_l2r",
    is_flag=True,
    help="Encoders: mask the rest of a word with each of its tokens.",
)
@click.option("--hide-from-parser", is_flag=True, help="Encoders: parse each sentence without the masked token.")
@click.option(
    "--deprels", type=_FILE, help="Encoders that read dependency relations: the deprels.json of their training data."
)
def blimp(ties: Any, max_pairs: int | None, **settings: Any) -> None:
    """Score models on BLiMP's paradigms, the .jsonl or .jsonl.gz files in the folder --data.

    Encoders are scored by pseudo-log-likelihood: each token is masked in turn, and its tags are withheld.
    """
    from lisdata.cli.progress import counter
    from lisdata.evaluation.benchmarks import run_blimp

    request = _to_request(**settings)
    with counter("benchmark blimp", unit="paradigms") as show:
        table = run_blimp(request, ties=ties, max_pairs=max_pairs, on_progress=show)
    _print_report(table, request)


@benchmark.command(
    cls=ResumingCommand,
    epilog=example(
        "lisdata benchmark glue --model out --tokenizer tokenizer.json --data glue --task cola --to out/glue "
        "--parser tagger"
    ),
)
@click.option(
    "--model",
    type=_FOLDER,
    required=True,
    help="A checkpoint, a folder whose newest one is meant, or an encoder as Hugging Face saves it.",
)
@_TOKENIZER
@click.option(
    "--data", type=_FOLDER, required=True, help="Folder with a folder a task: CoLA/train.tsv, CoLA/dev.tsv ..."
)
@_TO
@click.option(
    "--task",
    "tasks",
    multiple=True,
    required=True,
    metavar="cola|sst2|mrpc|stsb|qqp|mnli|qnli|rte|wnli",
    help="What to fine-tune the model for; may be given several times.",
)
@click.option("--seeds", "num_seeds", type=click.IntRange(1), default=3, show_default=True, help="Seeds 0 to N - 1.")
@_PARSER
@tags_option("Which of the tags the model sees; all but none need --parser.")
@_TAG_CACHE
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting from that of SiPE's Table 11: learning_rate, weight_decay, num_epochs, batch_size, "
    "max_length, dropout, warmup_share, precision ...",
)
@click.option(
    "--examples", "max_train", type=click.IntRange(1), help="Train on N examples, evenly spread; default: all."
)
@click.option("--threads", "num_threads", type=click.IntRange(1), help="Threads of torch; default: torch decides.")
@click.option("--keep-models", is_flag=True, help="Keep the weights of runs that are done.")
@device_option
def glue(model: Path, to: Path, changes: tuple[str, ...], **settings: Any) -> None:
    """Fine-tune a model for tasks of GLUE and measure it on their development examples.

    The table has the mean and standard deviation over seeds; a run that was stopped goes on exactly where it was. The
    two texts of a pair stand in one row as the tokenizer's template says, each tagged by itself.
    """
    from lisdata.cli.progress import counter
    from lisdata.finetuning.glue import GlueRequest, run_glue
    from lisdata.settings import parse_change

    _check_parser(settings["regime"], settings["parser"])
    request = GlueRequest(model=model, directory=to, changes=dict(map(parse_change, changes)), **settings)
    with counter("benchmark glue", unit="runs") as show:
        table = run_glue(request, on_progress=show)
    click.echo(table, nl=False)
    say(f"report, plot and runs: {request.directory}", err=True)


@benchmark.command(epilog=example("lisdata benchmark compare sipe/blimp-items.csv base/blimp-items.csv"))
@click.argument("first", type=_ITEMS)
@click.argument("second", type=_ITEMS)
@click.option("--each", is_flag=True, help="Also the difference in each suite or paradigm.")
@_TIES
@click.option(
    "--seeds",
    type=click.Choice(["paired", "independent"]),
    default="paired",
    show_default=True,
    help="Whether the nth seeds of both models go together.",
)
@click.option("--resamples", type=click.IntRange(1), default=2000, show_default=True, help="Bootstrap resamples.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(first: Path, second: Path, each: bool, ties: Any, seeds: Any, resamples: int, as_json: bool) -> None:
    """Print the score of FIRST less that of SECOND, in points, with its paired bootstrap interval.

    Each is a CSV of a model's items, that of its seeds together, or the folder of a report that has it; items and seeds
    are resampled.
    """
    from lisdata.evaluation.benchmark_report import differences_to_json, format_differences
    from lisdata.evaluation.benchmarks import compare_files

    found = compare_files(first, second, each=each, ties=ties, seeds=seeds, num_resamples=resamples)
    click.echo(differences_to_json(found) if as_json else format_differences(found), nl=False)


def _to_request(
    models: tuple[Path, ...],
    tokenizer: Path,
    data: Path,
    to: Path,
    parser: str | None,
    tag_cache: Path | None,
    within_word_l2r: bool = False,
    hide_from_parser: bool = False,
    deprels: Path | None = None,
    only: tuple[str, ...] = (),
    **scoring: Any,
) -> BenchmarkRequest:
    from lisdata.evaluation.benchmarks import BenchmarkRequest
    from lisdata.evaluation.causal_scorer import CausalScoring
    from lisdata.evaluation.prefix_rows import PREFIX_FORMS

    _check_parser(scoring["regime"], parser)
    form = scoring.pop("regime") if scoring["regime"] in PREFIX_FORMS else None
    return BenchmarkRequest(
        checkpoints=models,
        tokenizer=tokenizer,
        data=data,
        directory=to,
        parser=parser,
        tag_cache=tag_cache,
        scoring=CausalScoring(**scoring),
        prefix_form=form,
        within_word_l2r=within_word_l2r,
        hide_from_parser=hide_from_parser,
        deprels=deprels,
        only=only,
    )


def _check_parser(tags: str, parser: str | None) -> None:
    """Refuse --tags without the parser that they need; without either no model sees tags."""
    if parser is None and tags != "none" and is_given("regime"):
        raise click.UsageError(f"--tags {tags} needs --parser, which tags the sentences")


def _print_report(table: str, request: BenchmarkRequest) -> None:
    click.echo(table, nl=False)
    say(f"report, plot and items: {request.directory}", err=True)
