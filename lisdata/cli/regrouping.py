"""`regroup`, and conversions whose triples are sorted: structures that hold all of a subject or graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lisdata.cli.converting import FOLDER
from lisdata.cli.options import DatasetFolder, ResumingCommand, example
from lisdata.cli.spreading import run_spread, spread_options

MEMORY_MIB = 1024

_MEMORY_HELP = "About how much memory a worker sorts in; a subject or graph that takes more has several structures."


@click.command(
    cls=ResumingCommand,
    params=spread_options(),
    epilog=example("lisdata regroup graph.lis --by subject --to subjects.lis"),
)
@click.argument("dataset", type=DatasetFolder())
@click.option("--to", type=FOLDER, required=True, help="Folder of the dataset to write.")
@click.option(
    "--by",
    type=click.Choice(["subject", "graph"]),
    default="subject",
    show_default=True,
    help="What the triples of one structure have in common.",
)
@click.option(
    "--group-by",
    help="What of the sorted triples one structure holds: subject, graph, none (one triple) or a number of triples; "
    "default: what --by says.",
)
@click.option("--memory-mib", type=click.IntRange(1), default=MEMORY_MIB, show_default=True, help=_MEMORY_HELP)
@click.option(
    "--compression",
    type=click.Choice(["zstd", "none"]),
    default="zstd",
    show_default=True,
    help="Compression of the shards.",
)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Worker processes.")
@click.option("--fresh", is_flag=True, help="Start over instead of resuming.")
def regroup(dataset: Path, to: Path, **settings: Any) -> None:
    """Sort the triples of DATASET, so that each subject (or graph) has one structure over all files.

    It works in bounded memory, with scratch inside the target folder (which nodes of a Ray cluster must see).

    Each triple keeps its place in its source: an export is as it was.
    """
    from lisdata import regrouping

    run_spread("regroup", regrouping.regroup, regrouping.regroup_share, dataset, to, **settings)


def sort_options() -> list[click.Option]:
    """Return the options of conversions of triples alone."""
    return [
        click.Option(
            ["--sort-by"],
            type=click.Choice(["subject", "graph"]),
            help="Sort all triples, so that each subject (graph) has one structure: convert and regroup in one.",
        ),
        click.Option(
            ["--memory-mib"], type=click.IntRange(1), default=MEMORY_MIB, show_default=True, help=_MEMORY_HELP
        ),
    ]


def run_sorted_conversion(
    source: str, paths: tuple[str, ...], to: Path, options: dict[str, Any], **settings: Any
) -> None:
    """Convert `paths` sorted and print what came of it; `settings` are those of `convert_sorted`."""
    from lisdata.cli.printing import print_manifest
    from lisdata.cli.progress import run_progress
    from lisdata.regrouping import convert_sorted

    with run_progress(f"convert {source}") as show:
        manifest = convert_sorted(source, list(paths), to, on_progress=show, options=options, **settings)
    print_manifest(to, manifest)
