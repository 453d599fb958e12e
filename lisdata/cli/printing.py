"""What commands print on stdout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from lisdata.conversion import Sample
    from lisdata.registry import ExportReport
    from lisdata.shards.verifying import VerifyReport


def print_rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of left-aligned columns, the header underlined."""
    table = [tuple(header), *(tuple(r) for r in rows)]
    widths = [max(len(row[c]) for row in table) for c in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    lines.insert(1, "  ".join("-" * width for width in widths))
    click.echo("\n".join(lines))


def print_manifest(to: Path, manifest: dict[str, Any]) -> None:
    """Print where a dataset is and what it holds."""
    counts = ", ".join(f"{count:,} {name}" for name, count in manifest["counts"].items() if count)
    click.echo(f"{to}: {counts or 'empty'}")
    kinds = manifest.get("kinds", {})
    if len(kinds) > 1:
        click.echo("kinds: " + ", ".join(f"{count:,} {kind}" for kind, count in kinds.items()))
    rejected = sum(entry["records"]["rejected"] for entry in manifest.get("inputs", []))
    if rejected:
        is_kept = any(name.startswith("rejects/") for name in manifest["files"])
        where = f", kept in {to / 'rejects'}" if is_kept else ", skipped"
        click.echo(f"rejected: {rejected:,} records{where}")
    for name, value in manifest.get("report", {}).items():
        if value:
            click.echo(f"{name.replace('_', ' ')}: {value:,}" if isinstance(value, int) else f"{name}: {value}")


def print_sample(sample: Sample) -> None:
    """Print a dry run: inputs, units, first structures."""
    from lisdata.cli.inspecting import HEADER, table_rows

    for entry in sample.plan["inputs"]:
        note = f", {entry['compression']}" if entry["compression"] else ""
        click.echo(f"input {entry['index']}: {entry['name']} ({entry['size']:,} bytes{note})")
    units = sample.plan["units"]
    click.echo(f"{len(units)} units of about {sample.plan['unit_mib']} MiB; nothing was written")
    click.echo("first structures:")
    print_rows(HEADER, table_rows(list(sample.structures)))


def print_export(reports: Sequence[ExportReport]) -> None:
    """Print the files written and, field by field, what could not be brought back."""
    for report in reports:
        for path in report.files:
            click.echo(str(path))
        if not report.losses:
            click.echo(f"lossless: {report.num_records:,} records")
        for name, count in report.losses.items():
            click.echo(f"not lossless: {name}: {count:,}")


def print_verification(path: Path, report: VerifyReport) -> None:
    """Print every problem, then the verdict."""
    for problem in report.problems:
        click.echo(f"BAD {problem}")
    for name in report.strangers:
        click.echo(f"note: {path / name} is not part of the dataset", err=True)
    verdict = "bad" if report.problems else "good"
    click.echo(f"{path}: {verdict}, {report.num_files} files, {report.num_bytes / 1e6:,.1f} MB checked")


def print_registry(groups: Sequence[str]) -> None:
    """Print the names of each group with what they are."""
    from lisdata import registry
    from lisdata.models import MODELS

    for group in groups:
        if len(groups) > 1:
            click.echo(f"{group}:")
        if group == "models":
            rows = [(name, entry.summary) for name, entry in MODELS.items()]
        else:
            load = {"sources": registry.load_source, "exporters": registry.load_exporter}.get(group)
            rows = [(n, load(n).summary if load else "") for n in registry.names(group)]  # type: ignore[attr-defined]
        width = max(len(name) for name, _ in rows)
        for name, summary in rows:
            click.echo(f"  {name.ljust(width)}  {summary}".rstrip())


def print_stats(summary: dict[str, Any], *, as_json: bool) -> None:
    """Print a summary of counts: a line a figure, a table a distribution."""
    if as_json:
        import orjson

        click.echo(orjson.dumps(summary, option=orjson.OPT_INDENT_2).decode())
        return
    for name, value in summary.items():
        title = name.replace("_", " ")
        if isinstance(value, dict):
            click.echo(f"{title}:")
            for key, count in value.items():
                click.echo(f"  {_figure(count):>14}  {key}")
        else:
            click.echo(f"{title}: {_figure(value)}")


def _figure(value: int | float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
