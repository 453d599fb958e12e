"""`reproduce`: a published experiment done again, resumed where it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lisdata.cli.options import ResumingCommand, device_option, example
from lisdata.cli.terminal import say
from lisdata.reproduce import EXPERIMENTS

if TYPE_CHECKING:
    from lisdata.cli.progress import Show
    from lisdata.pipeline import OnStep

_HELP = f"""Do EXPERIMENT again and print its table, the paper's numbers beside ours.

Every variant is trained once under each seed; the same command goes on from wherever it was stopped. A run leaves
one JSON file (data hash, seed, versions, steps, seconds, machine), all runs together table.txt, table.json and
table.png.

"paper" is the paper's size and schedule. "reduced" is, for lis-table-3, width 64, 3 layers of 2 heads, windows of 128
characters, 1,500 steps of batch 32 at learning rate 1.5e-3, and contexts of 1 to 16 training windows, as the paper's:
about 3 minutes of one thread a run. For lis-tables-8-11 it is the paper's models and data at 25,000 of its 100,000
updates: about half an hour of one thread a run. For lis-table-6 and lis-table-7 it is the paper's models and data at
20,000 updates, for lis-table-5 width 128 and 300 names at 12,000: each about 20 to 30 minutes of one thread a run.
For sipe-table-2 it is width 128, 3 layers, packs of 128 tokens and 2,400 steps: about 15 minutes of one thread a run;
"larger" is 4 layers of width 256 and 5,000 steps. For sipe-axes it is the same at 1,200 steps, for sipe-layers width
96, 6 layers and 1,200 steps, for sipe-variants RoBERTa of width 128 and 3 layers at 2,000 steps: 5 to 9 minutes of
one thread a run. For sipe-table-3 it is the size of sipe-table-2, 1,500 steps on seven books and 400 on an eighth: 6
to 14 minutes of one thread a run; for sipe-glue CoLA, RTE and 8,000 examples of SST-2, 5 epochs each: 5 to 10 minutes.
For lis-link-prediction it is width 64 and 2,000 steps,
minutes of one thread a run on thousands of triples; "full" is width 200 and 40,000 steps.

\b
Experiments:
{chr(10).join(f"  {name}: {entry.summary}." for name, entry in EXPERIMENTS.items())}
"""


@click.command(
    cls=ResumingCommand,
    help=_HELP,
    epilog=example("lisdata reproduce lis-table-3 --data input.txt --to out/table3 --seeds 3 --jobs 2"),
)
@click.argument("experiment", type=click.Choice(list(EXPERIMENTS)))
@click.option(
    "--data", type=click.Path(exists=True, path_type=Path), help="Its input, where it has one: a file or a folder."
)
@click.option("--to", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder of all results.")
@click.option("--scale", help="Size and schedule: reduced or paper; default: the experiment's first.")
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True, help="Seeds 0 to N - 1.")
@click.option("--steps", type=click.IntRange(1), help="Training steps; default: the scale's.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="One-thread runs side by side.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a setting of the scale.")
@click.option("--only", "variants", multiple=True, metavar="VARIANT", help="Only this variant; may be repeated.")
@device_option
def reproduce(
    experiment: str,
    data: Path | None,
    to: Path,
    scale: str | None,
    seeds: int,
    steps: int | None,
    jobs: int,
    changes: tuple[str, ...],
    variants: tuple[str, ...],
) -> None:
    """Print the table of an experiment, after the runs that it lacks."""
    from lisdata.reproduce import load_experiment
    from lisdata.reproduce.runner import choose_scale
    from lisdata.reproduce.runner import reproduce as run_all

    settings = {} if steps is None else {"num_steps": steps}
    found = load_experiment(experiment)
    chosen = choose_scale(found, scale or next(iter(found.scales)), changes, **settings)
    with _progress(experiment) as (on_step, on_progress):
        table = run_all(
            experiment,
            data=data,
            directory=to,
            scale=chosen,
            num_seeds=seeds,
            variants=variants,
            jobs=jobs,
            on_step=on_step,
            on_progress=on_progress,
        )
    click.echo(table, nl=False)
    say(f"records and plot: {to}", err=True)


@contextmanager
def _progress(experiment: str) -> Iterator[tuple[OnStep, Show]]:
    """Give what shows the steps of making the data, and what shows the runs, from the first on."""
    from lisdata.cli.progress import counter, steps_progress

    with ExitStack() as runs, steps_progress() as steps:
        shown: list[Show] = []

        def on_progress(done: float, total: float, note: str) -> None:
            if not shown:
                steps.end()
                shown.append(runs.enter_context(counter(f"reproduce {experiment}", unit="runs")))
            shown[0](done, total, note)

        yield steps.begin, on_progress
