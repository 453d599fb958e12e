"""`run`, `train` and `evaluate`: a recipe's steps, with progress."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lisdata.cli.options import INTERRUPTED
from lisdata.cli.printing import counted, print_idle_workers, print_manifest, print_rejected
from lisdata.cli.progress import counter, steps_progress
from lisdata.cli.terminal import say
from lisdata.errors import RecipeError
from lisdata.pipeline import DataFolders, PlannedStep, check_data, clear_outputs, make_data, planned_steps
from lisdata.recipe import Recipe, choose_models, load_recipe
from lisdata.shards.manifest import TOKEN_FORMAT, read_manifest

if TYPE_CHECKING:
    from lisdata.training import Progress


def run_recipe(
    path: Path,
    to: Path,
    changes: tuple[str, ...],
    *,
    workers: int,
    dry_run: bool,
    steps: tuple[str, ...],
    models: tuple[str, ...] = (),
    fresh: bool = False,
) -> None:
    """Run the steps ("data", "train", "evaluate") of a recipe that it has, for all its models or those named."""
    recipe = choose_models(load_recipe(path, changes), models)
    num_units = check_data(recipe, to) if "data" in steps else []
    if recipe.models or recipe.evaluate:
        from lisdata.experiment import check_models

        check_models(recipe)
    if dry_run:
        _print_steps(planned_steps(recipe, to, num_units), workers)
        return
    if fresh:
        clear_outputs(to)
    if "data" in steps:
        _make_data(recipe, to, workers)
    if "train" in steps and recipe.models:
        _train(recipe, to)
    if steps == ("evaluate",) and not recipe.evaluate:
        raise RecipeError(f"{path}: expected a table [evaluate], found none")
    if "evaluate" in steps and recipe.evaluate:
        from lisdata.experiment import evaluate_models

        click.echo(evaluate_models(recipe, to), nl=False)
        say(f"report and plot: {to}", err=True)


def _print_steps(steps: list[PlannedStep], workers: int) -> None:
    for step in steps:
        say(step.text if step.num_units is None else f"{step.text} ({counted(step.num_units, 'units')})")
    most = max((step.num_units or 0 for step in steps), default=0)
    print_idle_workers(workers, most, can_grow=True, setting="unit_mib in a [[source]] of large files")


def _make_data(recipe: Recipe, to: Path, workers: int) -> None:
    with steps_progress() as steps:
        manifest = make_data(recipe, to, workers=workers, on_step=steps.begin)
    if manifest["format"] == TOKEN_FORMAT:  # which does not say what was rejected on the way to it
        for step in recipe.sources:
            folder = DataFolders(root=to).incidence(step.name)
            print_rejected(folder, read_manifest(folder))
    print_manifest(to, manifest)


def _train(recipe: Recipe, to: Path) -> None:
    from lisdata.experiment import train_models
    from lisdata.training.allocation import keep_freed_memory

    keep_freed_memory()
    with ExitStack() as stack:

        def on_progress(label: str) -> Callable[[Progress], None]:
            stack.close()
            show = stack.enter_context(counter(f"train {label}", unit="steps"))
            return lambda p: show(p.step, p.num_steps, f"loss {p.loss:.3f}, {p.tokens_per_second:,.0f} tokens/s")

        results = train_models(recipe, to, on_progress=on_progress)
    for result in results:
        say(f"{result.report}: step {result.step}")
    if results and not results[-1].is_finished:
        say("Interrupted: the same command goes on from the last checkpoint.", err=True)
        click.get_current_context().exit(INTERRUPTED)
