"""Commands on runs: `run-report` and `finish`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lisdata.cli.options import example

if TYPE_CHECKING:
    from lisdata.runs.report import RunReport, UnitReport

DATASET = click.Path(exists=True, file_okay=False, path_type=Path)
MOST_ROWS = 40
_TITLES = {
    "seconds": "seconds of all units, added up",
    "megabytes_per_second": "megabytes per second of a unit's time",
}
HEADER = ("unit", "records", "rejected", "MB read", "MB written", "seconds", "tries")


@click.command(epilog=example("lisdata finish graph.lis"))
@click.argument("dataset", type=DATASET)
def finish(dataset: Path) -> None:
    """Write the manifest of DATASET, whose ranks have done all units (--rank), or tell which have not."""
    from lisdata import finishing
    from lisdata.cli.printing import print_manifest

    print_manifest(dataset, finishing.finish(dataset))


@click.command(name="run-report", epilog=example("lisdata run-report graph.lis"))
@click.argument("dataset", type=DATASET)
@click.option("--json", "as_json", is_flag=True, help="Print all units as JSON.")
def run_report(dataset: Path, as_json: bool) -> None:
    """Tell what the run of DATASET did, or has done so far: records, rejects, bytes, seconds, by unit and in all."""
    from lisdata.cli.printing import print_stats
    from lisdata.runs.report import report_run

    report = report_run(dataset)
    if as_json:
        print_stats(report.to_dict(), as_json=True)
    else:
        _print_report(report)


def _print_report(report: RunReport) -> None:
    """Print a row a unit (those not done, then the slowest, where there are many), then the sums."""
    from lisdata.cli.printing import counted, print_rows, print_stats
    from lisdata.cli.terminal import say

    units = report.units
    if len(units) > MOST_ROWS:
        units = tuple(sorted(units, key=lambda unit: (unit.is_done, -(unit.seconds or 0))))[:MOST_ROWS]
        say(f"{counted(len(units), 'units')} of {len(report.units):,}: those not done, then the slowest")
    print_rows(HEADER, [_row(unit) for unit in units])
    state = {"state": "finished" if report.is_finished else "not finished: the same command goes on"}
    facts = {name: str(getattr(report, name) or "-") for name in ("started", "finished", "workers", "engine", "world")}
    sums = {_TITLES.get(name, name): value for name, value in report.totals.items()}
    print_stats(state | facts | sums, as_json=False)


def _row(unit: UnitReport) -> tuple[str, ...]:
    if not unit.is_done:
        return (unit.name, "not done", "", f"{unit.source_bytes / 1e6:,.1f}", "", "", "")
    return (
        unit.name,
        f"{unit.records:,}",
        f"{unit.rejected:,}",
        f"{unit.source_bytes / 1e6:,.1f}",
        f"{(unit.written_bytes or 0) / 1e6:,.1f}",
        "-" if unit.seconds is None else f"{unit.seconds:,.2f}",
        "-" if unit.tries is None else str(unit.tries),
    )
