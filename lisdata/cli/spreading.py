"""Options that say where the units of a run are run: processes here, tasks of Ray, or ranks of a scheduler."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from lisdata.runs import JsonDict, Share

_AUTO = "auto"


class _RankOrAuto(click.ParamType):  # type: ignore[type-arg]  # not generic in every version
    """A number, or "auto": what Slurm says in `variable`."""

    name = "integer|auto"

    def __init__(self, variable: str, least: int) -> None:
        self._variable, self._least = variable, least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; fail for none, or one that is too small."""
        text = str(value)
        if text == _AUTO:
            text = os.environ.get(self._variable, "")
            if not text:
                self.fail(f"auto needs the environment variable {self._variable}, which Slurm's srun sets", param, ctx)
        if not text.isascii() or not text.isdigit() or int(text) < self._least:
            self.fail(f"expected auto or an integer from {self._least}, got {text!r}", param, ctx)
        return int(text)


def spread_options() -> list[click.Option]:
    """Return the options; none of them changes a byte of the dataset."""
    return [
        click.Option(
            ["--engine"],
            type=click.Choice(["process", "ray"]),
            default="process",
            show_default=True,
            help="Run units in processes here, or as tasks of Ray (extra ray): of a cluster of --workers CPUs started "
            "here, or of one at --ray-address.",
        ),
        click.Option(["--ray-address"], help="Address of a Ray cluster (auto: the one of this machine)."),
        click.Option(
            ["--rank"],
            type=_RankOrAuto("SLURM_PROCID", 0),
            help="Do only each N-th unit, as rank I (from 0) of --world N, in a folder that all ranks see; auto: "
            "SLURM_PROCID.",
        ),
        click.Option(
            ["--world"],
            type=_RankOrAuto("SLURM_NTASKS", 1),
            help="How many ranks there are; auto: SLURM_NTASKS.",
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Where the units are run; ranks have a world size, and only the engine ray an address."""

    engine: Literal["process", "ray"] = "process"
    ray_address: str | None = None
    rank: int | None = None
    world: int | None = None

    def __post_init__(self) -> None:
        if (self.rank is None) != (self.world is None):
            raise click.UsageError("--rank and --world go together")
        if self.rank is not None and self.world is not None and self.rank >= self.world:
            raise click.UsageError(f"expected --rank below --world {self.world}, got {self.rank}")
        if self.rank is not None and self.engine == "ray":
            raise click.UsageError("--rank shares the work without Ray: leave out --engine ray")
        if self.ray_address is not None and self.engine != "ray":
            raise click.UsageError("--ray-address needs --engine ray")


def take_spread(settings: dict[str, Any]) -> Spread:
    """Take the options out of `settings` and return them; raise UsageError for those that do not go together."""
    return Spread(**{f.name: settings.pop(f.name) for f in fields(Spread)})


def run_spread(
    title: str,
    run: Callable[..., JsonDict],
    run_share: Callable[..., Share],
    source: Path,
    to: Path,
    *,
    fresh: bool,
    **settings: Any,
) -> None:
    """Call `run`, or `run_share` for a rank, with all settings but where it runs, and print what came of it."""
    from lisdata.cli.printing import print_manifest, print_share
    from lisdata.cli.progress import run_progress

    spread = take_spread(settings)
    if spread.rank is not None and fresh:
        raise click.UsageError("--fresh would change the folder under the other ranks: do it before they start")
    with run_progress(title) as show:
        if spread.rank is not None:
            share = run_share(source, to, rank=spread.rank, world=spread.world, on_progress=show, **settings)
        else:
            where = {"engine": spread.engine, "ray_address": spread.ray_address}
            manifest = run(source, to, fresh=fresh, on_progress=show, **where, **settings)
    if spread.rank is None:
        print_manifest(to, manifest)
    else:
        print_share(to, share)
