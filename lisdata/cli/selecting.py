"""`split`, `sample`, `filter`, `dedup`: some structures as a dataset of their own; `reshard`: rows in another order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lisdata.cli.converting import FOLDER
from lisdata.cli.options import DatasetFolder, ResumingCommand, example
from lisdata.cli.terminal import say

DATASET = DatasetFolder()
_BY = click.Choice(["record", "input", "content"])
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Count what would be taken, and write nothing.")
_SEED = click.option("--seed", type=int, default=0, show_default=True, help="Another seed chooses others.")


def _writing(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a command that writes a dataset."""
    for option in (
        click.option("--fresh", is_flag=True, help="Start over instead of resuming."),
        click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Worker processes."),
        click.option(
            "--compression",
            type=click.Choice(["zstd", "none"]),
            default="zstd",
            show_default=True,
            help="Compression of the shards.",
        ),
        click.option("--to", type=FOLDER, required=True, help="Folder of the dataset to write."),
    ):
        command = option(command)
    return command


@click.command(
    cls=ResumingCommand, epilog=example("lisdata split graph.lis --share train=0.9 --share test=0.1 --to split")
)
@click.argument("dataset", type=DATASET)
@_writing
@click.option(
    "--share",
    "shares",
    multiple=True,
    required=True,
    metavar="NAME=WEIGHT",
    help="A share, which is written to TO/NAME (repeatable).",
)
@click.option(
    "--by",
    type=_BY,
    default="record",
    show_default=True,
    help="What is not divided: a record, all of an input, or a content (no two shares show one of --kind).",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    help="With --by content: a kind of content that shares have none of in common (repeatable); "
    "default: entity, bnode, instance.",
)
@_SEED
@_DRY_RUN
def split(dataset: Path, to: Path, shares: tuple[str, ...], kinds: tuple[str, ...], **settings: Any) -> None:
    """Divide DATASET into shares by a stable hash: a record of a file is in the same one wherever that is converted.

    Weights that sum to less than 1 leave the rest out. With --by content, structures that show contents of two shares
    are in none.
    """
    from lisdata.cli.progress import run_progress
    from lisdata.selection import shares as selection
    from lisdata.shards import IncidenceDataset

    weights = _weights(shares)
    if kinds:
        settings["kinds"] = kinds
    chosen = {name: settings[name] for name in ("by", "kinds", "seed") if name in settings}
    if settings.pop("dry_run"):
        counts = selection.count_left_out(IncidenceDataset(dataset), selection.split_choices(weights, **chosen))
        for name, count in counts.items():
            say(f"{name or 'in none':12} {count:>12,} structures")
        return
    with run_progress("split") as show:
        manifests = selection.split(dataset, to, weights, on_progress=show, **settings)
    for name, manifest in manifests.items():
        _print_chosen(to / name, manifest)
    left_out = selection.count_left_out(IncidenceDataset(dataset), selection.split_choices(weights, **chosen))[""]
    if left_out:
        say(f"in none: {left_out:,} structures")


def _weights(shares: tuple[str, ...]) -> dict[str, float]:
    weights = {}
    for share in shares:
        name, _, weight = share.partition("=")
        try:
            weights[name] = float(weight)
        except ValueError:
            raise ValueError(f"--share {share}: expected NAME=WEIGHT") from None
    if len(weights) < len(shares):
        raise ValueError("expected each share once")
    return weights


@click.command(cls=ResumingCommand, epilog=example("lisdata sample graph.lis --fraction 0.5 --to small.lis"))
@click.argument("dataset", type=DATASET)
@_writing
@click.option("--fraction", type=click.FloatRange(0, 1, min_open=True), help="Share of the structures, about.")
@click.option("--num", "num_structures", type=click.IntRange(1), help="Number of records, exactly.")
@click.option("--by", type=_BY, default="record", show_default=True, help="What is taken whole; see split.")
@_SEED
@_DRY_RUN
def sample(dataset: Path, to: Path, dry_run: bool, **settings: Any) -> None:
    """Take a random share of the structures of DATASET, in their order; a larger share holds all of a smaller one."""
    from lisdata.selection import shares as selection
    from lisdata.selection.selecting import count_taken
    from lisdata.shards import IncidenceDataset

    if dry_run:
        chosen = {name: settings[name] for name in ("fraction", "num_structures", "by", "seed")}
        source = IncidenceDataset(dataset)
        _say_count(*count_taken(source, selection.sample_choice(source, **chosen)))
        return
    _run("sample", to, selection.sample, dataset, **settings)


@click.command(
    "filter",
    cls=ResumingCommand,
    epilog=example("""lisdata filter text.lis --where "kind = 'text' AND num_bytes > 20" --to long.lis"""),
)
@click.argument("dataset", type=DATASET)
@_writing
@click.option("--where", required=True, metavar="SQL", help="Condition on each structure, over the columns above.")
@_DRY_RUN
def filter_(dataset: Path, to: Path, where: str, dry_run: bool, **settings: Any) -> None:
    """Take the structures of DATASET for which a SQL expression is true (extra: filter).

    Columns: record_id, kind, input, begin, end, num_occurrences, num_instances, num_incidences, num_bytes, text,
    has_tags; the lists instances, roles (RELATION#SIDE), contents, as in ARRAY_CONTAINS(roles, 'hyperedge#drug'); and
    in double quotes a role, for the text of the first content in it: "record#field:lang" = 'en' of JSON lines (of an
    object a member: "record#field:metadata.lang"), CAST("books#year" AS INT) > 1900 of a table.
    """
    from lisdata.selection.filtering import Where, check_expression, filter_dataset
    from lisdata.selection.selecting import count_taken
    from lisdata.shards import IncidenceDataset

    if dry_run:
        source = IncidenceDataset(dataset)
        check_expression(where, source)
        _say_count(*count_taken(source, Where(where)))
        return
    _run("filter", to, filter_dataset, dataset, where=where, **settings)


@click.command(cls=ResumingCommand, epilog=example("lisdata dedup text.lis --by similar-text --to clean.lis"))
@click.argument("dataset", type=DATASET)
@_writing
@click.option(
    "--by",
    type=click.Choice(["facts", "text", "similar-text"]),
    default="facts",
    show_default=True,
    help="What a repeat has in common: document and facts, the document, or most 5-word shingles of it (MinHash).",
)
@click.option(
    "--similarity",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.8,
    show_default=True,
    help="With similar-text: share of the shingles that are the same, about.",
)
@_DRY_RUN
def dedup(dataset: Path, to: Path, dry_run: bool, **settings: Any) -> None:
    """Leave out the structures of DATASET that repeat one before them, wherever in it that stands."""
    from lisdata.selection.duplicates import count_firsts, deduplicate

    if dry_run:
        _say_count(*count_firsts(dataset, by=settings["by"], similarity=settings["similarity"]))
        return
    _run("dedup", to, deduplicate, dataset, **settings)


@click.command(cls=ResumingCommand, epilog=example("lisdata reshard graph.tok --to mixed.tok --seed 1"))
@click.argument("tokens", type=DATASET)
@click.option("--to", type=FOLDER, required=True, help="Folder of the token dataset to write.")
@click.option("--shuffle/--no-shuffle", default=True, show_default=True, help="Rows in random order, or as they are.")
@_SEED
@click.option(
    "--tokens-per-part", type=click.IntRange(1), default=1 << 27, show_default=True, help="Tokens of a file, about."
)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Worker processes.")
@click.option("--fresh", is_flag=True, help="Start over instead of resuming.")
def reshard(tokens: Path, to: Path, **settings: Any) -> None:
    """Write the rows of TOKENS in random order, so that what is read one after another was anywhere before.

    For readers that take shards as they come, or shuffle in a window. The loader's own shuffle needs none of it.
    """
    from lisdata.selection.resharding import reshard as reshard_tokens

    _run("reshard", to, reshard_tokens, tokens, **settings)


def _run(label: str, to: Path, function: Callable[..., dict[str, Any]], dataset: Path, **settings: Any) -> None:
    from lisdata.cli.progress import run_progress

    with run_progress(label) as show:
        manifest = function(dataset, to, on_progress=show, **settings)
    _print_chosen(to, manifest)


def _print_chosen(to: Path, manifest: dict[str, Any]) -> None:
    """Print what was written; what tells how an input was written is not counted as a structure."""
    from lisdata.cli.printing import print_manifest
    from lisdata.selection.selecting import count_records

    if "inputs" in manifest:  # no rows of tokens
        manifest = manifest | {"counts": manifest["counts"] | {"structures": count_records(manifest)}}
    print_manifest(to, manifest)


def _say_count(taken: int, total: int) -> None:
    say(f"{taken:,} of {total:,} structures would be taken")
