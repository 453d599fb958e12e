"""What the commands that convert files share: their options, and the run that they start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lisdata.cli.options import ResumingCommand
from lisdata.cli.spreading import spread_options, take_spread
from lisdata.decompression import MAX_EXPANSION

FOLDER = click.Path(file_okay=False, path_type=Path)


class ConvertCommand(ResumingCommand):
    """A command that converts files into a dataset."""

    bad_record_advice = (
        "To go on without bad records: --on-error quarantine --fresh (keeps them byte for byte beside the shards), or "
        "--on-error skip --fresh."
    )


def convert_options(*, unit_mib: str = "64") -> list[click.Option]:
    """Return the options of a conversion that are not the source's; `unit_mib` says which default that one has."""
    policies = click.Choice(["stop", "skip", "quarantine"])
    return [
        click.Option(["--to"], type=FOLDER, required=True, help="Folder of the dataset to write."),
        click.Option(["--workers"], type=click.IntRange(1), default=1, show_default=True, help="Worker processes."),
        click.Option(
            ["--on-error"],
            type=policies,
            default="stop",
            show_default=True,
            help="On a bad record: stop, skip and count it, or keep it byte for byte beside the shards.",
        ),
        click.Option(
            ["--unit-mib"],
            type=click.IntRange(1),
            show_default=f"{unit_mib}, with --append that of the dataset",
            help="Size of a unit of work.",
        ),
        click.Option(
            ["--compression"],
            type=click.Choice(["zstd", "none"]),
            default="zstd",
            show_default=True,
            help="Compression of the shards.",
        ),
        click.Option(
            ["--max-expansion"],
            type=click.IntRange(1),
            default=MAX_EXPANSION,
            show_default=True,
            help="Most bytes that a byte of a compressed file or archive may expand to, once it is above 256 MiB.",
        ),
        click.Option(["--dry-run"], is_flag=True, help="Show the plan and the first structures; write nothing."),
        click.Option(["--fresh"], is_flag=True, help="Start over instead of resuming."),
        click.Option(["--replan"], is_flag=True, help="Inputs changed: convert again only the units that read them."),
        click.Option(["--append"], is_flag=True, help="Add PATHs to the dataset that is there, but files it has."),
        *spread_options(),
    ]


def run_conversion(
    source: str,
    paths: tuple[str, ...],
    to: Path,
    options: dict[str, Any],
    *,
    workers: int,
    dry_run: bool,
    fresh: bool,
    replan: bool,
    append: bool,
    unit_mib: int | None,
    **settings: Any,
) -> None:
    """Convert `paths` and print what came of it, or (dry run) what would.

    `settings` are those of ConvertConfig, and where the units are run; `unit_mib` is None for the usual.
    """
    from lisdata import conversion
    from lisdata.cli.printing import print_manifest, print_sample, print_share
    from lisdata.cli.progress import run_progress

    spread = take_spread(settings)
    check_paths(paths)
    settings |= {} if unit_mib is None else {"unit_mib": unit_mib}
    changes = {"fresh": fresh, "replan": replan, "append": append}
    asked = [f"--{name}" for name, is_asked in changes.items() if is_asked]
    if spread.rank is not None and asked:
        raise click.UsageError(f"{asked[0]} would change the folder under the other ranks: do it before they start")
    if len(asked) > 1:
        raise click.UsageError(f"{' and '.join(asked)} do not go together")
    if dry_run:
        sample = conversion.sample(source, list(paths), to, options=options, append=append, **settings)
        print_sample(sample, to, workers=workers)
        return
    _, *command = click.get_current_context().command_path.split()  # "lisdata" goes without saying
    given: dict[str, Any] = {"workers": workers, "options": options} | settings
    with run_progress(" ".join(command)) as show:
        if spread.rank is not None and spread.world is not None:
            share = conversion.convert_share(
                source, list(paths), to, rank=spread.rank, world=spread.world, on_progress=show, **given
            )
        else:
            given |= changes | {"engine": spread.engine, "ray_address": spread.ray_address}
            manifest = conversion.convert(source, list(paths), to, on_progress=show, **given)
    if spread.rank is None:
        print_manifest(to, manifest)
    else:
        print_share(to, share)


def check_paths(paths: tuple[str, ...]) -> None:
    """Raise BadParameter for a path, neither a URL nor a pattern, where nothing is."""
    for path in paths:
        if not path:
            raise click.BadParameter("expected a file or folder, got an empty path", param_hint="PATH")
        if "://" not in path and not any(c in path for c in "*?[") and not Path(path).exists():
            raise click.BadParameter(f"{path!r} does not exist", param_hint="PATH")
