"""`lisdata shuffle-report`: how well an order mixes the rows of a token dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from lisdata.cli.options import DatasetFolder, example
from lisdata.cli.terminal import say


@click.command("shuffle-report", epilog=example("lisdata shuffle-report graph.tok --shuffle window --window 4096"))
@click.argument("dataset", type=DatasetFolder())
@click.option(
    "--shuffle",
    type=click.Choice(["all", "window", "none"]),
    default="all",
    show_default=True,
    help="A permutation of all rows, a local one, or rows as they are stored.",
)
@click.option("--window", type=click.IntRange(1), help="Rows that are mixed at once, with --shuffle window.")
@click.option("--bucket", type=click.IntRange(1), help="Rows of about equal length that come together.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the order.")
@click.option("--epoch", type=click.IntRange(0), default=0, show_default=True, help="Epoch that is looked at.")
@click.option(
    "--batch-size", type=click.IntRange(1), default=64, show_default=True, help="Rows of the batches looked at."
)
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), help="Also draw the order to this PNG, SVG or PDF file."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def shuffle_report(dataset: Path, shuffle: str, plot: Path | None, as_json: bool, **settings: Any) -> None:
    """Tell how well the loader's order mixes the rows of DATASET, beside a uniform permutation.

    Neighbours should be stored far apart, no part (file) should fill a batch, and the place in the epoch should say
    nothing of the place in the dataset (chi-square about 1 or less) nor of the next epoch (correlation about 0).
    """
    from lisdata.loader.mixing import open_tokens
    from lisdata.loader.shuffle_figure import plot_shuffle
    from lisdata.loader.shuffle_report import report_shuffle

    chosen: dict[str, bool | Literal["window"]] = {"all": True, "window": "window", "none": False}
    report = report_shuffle(open_tokens(dataset), shuffle=chosen[shuffle], **settings)
    if plot is not None:
        plot_shuffle(report, plot)
        say(f"plot: {plot}", err=True)
    _print(report, as_json=as_json)


def _print(report: dict[str, Any], *, as_json: bool) -> None:
    from lisdata.cli.printing import counted, print_json, print_rows

    if as_json:
        print_json(report)
        return
    seen = f"{counted(report['rows_seen'], 'rows')} of {report['rows']:,} seen"
    say(f"{seen}, {report['parts']}, batches of {report['batch_size']:,}")
    figures = report["figures"].items()
    print_rows(
        ("figure", "found", "uniform"),
        [(name.replace("_", " "), f"{f['found']:.6g}", f"{f['uniform']:.6g}") for name, f in figures],
    )
