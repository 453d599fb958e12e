"""What commands print on stdout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lisdata.cli.terminal import say
from lisdata.printable import one_line

if TYPE_CHECKING:
    from lisdata.conversion import Sample
    from lisdata.registry import ExportReport
    from lisdata.runs import Share
    from lisdata.shards.verifying import VerifyReport


EXPECTED_COUNTS = frozenset({"headers_left_out", "incidences_left_out", "iris", "iri_tokens"})
"""Names in a report that say nothing unusual: `stats` has them, the command that counted does not tell them."""


LONG_IRI = 8
"""Tokens above which an IRI, on average, is worth a word on how it could be shorter."""


def counted(count: int, name: str) -> str:
    """Return "1 row" or "2 rows" for the plural `name`."""
    return f"{count:,} {name.removesuffix('s') if count == 1 else name}"


def print_rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of left-aligned columns, the header underlined; each row is one line, whatever its cells hold."""
    from lisdata.drawing.display_width import display_width

    table = [[one_line(cell) for cell in row] for row in (header, *rows)]
    widths = [max(display_width(row[c]) for row in table) for c in range(len(header))]
    lines = []
    for row in table:
        cells = (cell + " " * (width - display_width(cell)) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    click.echo("\n".join(lines))


def print_manifest(to: Path, manifest: dict[str, Any]) -> None:
    """Print where a dataset is, what it holds and what its report counts, but for what is as it should be."""
    has_parts = len(manifest.get("parts", ())) > 1  # a table of contents and one of labels in each
    each = {name: " by part" if has_parts and name in ("contents", "labels") else "" for name in manifest["counts"]}
    counts = ", ".join(counted(count, name) + each[name] for name, count in manifest["counts"].items() if count)
    say(f"{to}: {counts or 'empty'}")
    kinds = manifest.get("kinds", {})
    if len(kinds) > 1:
        say("kinds: " + ", ".join(f"{count:,} {kind}" for kind, count in kinds.items()))
    print_rejected(to, manifest)
    for name, value in manifest.get("report", {}).items():
        if value and name not in EXPECTED_COUNTS:
            say(f"{name.replace('_', ' ')}: {value:,}")
    _print_length_of_iris(manifest.get("report", {}))


def _print_length_of_iris(report: dict[str, int]) -> None:
    """Say on stderr where IRIs fill the rows, and what would spell them shorter."""
    iris, tokens = report.get("iris", 0), report.get("iri_tokens", 0)
    if tokens > LONG_IRI * iris:
        mean = f"{tokens / iris:.0f} tokens on average"
        say(f"IRIs take {mean}; --surface label spells entities by their labels, or the ends of IRIs", err=True)


def print_share(to: Path, share: Share) -> None:
    """Print the dataset where all ranks are done; else that this one is, and which are not."""
    if share.manifest is not None:
        print_manifest(to, share.manifest)
        return
    from lisdata.runs.ranks import describe_missing

    say(f"{to}: rank {share.rank} of {share.world}: its {counted(share.num_units, 'units')} done")
    say(f"{to}: {describe_missing(share.missing)}", err=True)


def print_rejected(to: Path, manifest: dict[str, Any]) -> None:
    """Print how many records of the inputs were rejected, if any, and where they are; warn where none was good."""
    records: Counter[str] = Counter()
    for entry in manifest.get("inputs", []):
        records.update(entry["records"])
    if not records["rejected"]:
        return
    is_kept = any(name.startswith("rejects/") for name in manifest["files"])
    where = f"kept in {to / 'rejects'}" if is_kept else "skipped"
    say(f"rejected: {counted(records['rejected'], 'records')}, {where}")
    if not records["converted"]:
        remedy = (
            f"the .jsonl files in {to / 'rejects'} say why" if is_kept else "with --on-error stop the first says why"
        )
        rejected = "the only record was" if records["seen"] == 1 else f"all {records['seen']:,} records were"
        say(f"Warning: {to} is empty, since {rejected} rejected: {remedy}.", err=True)


def print_sample(sample: Sample, to: Path, *, workers: int) -> None:
    """Print a dry run: new inputs, units (and whether they keep `workers` busy), first structures."""
    from lisdata.cli.inspecting import HEADER, table_rows
    from lisdata.inputs import MEBIBYTE
    from lisdata.registry import load_source

    inputs = sample.plan["inputs"][sample.num_known :]
    if sample.num_known:
        say(f"{to} has {counted(sample.num_known, 'inputs')}; added would be {len(inputs):,}")
    for entry in inputs:
        note = f", {entry['compression']}" if entry["compression"] else ""
        say(f"input {entry['index']}: {entry['name']} ({counted(entry['size'], 'bytes')}{note})")
    units = sample.units
    kept = len(sample.plan["units"]) - len(units)
    stay = f", {kept:,} as they are" if kept else ""
    say(f"{counted(len(units), 'units')} of about {sample.plan['unit_mib']} MiB{stay}; nothing was written")
    can_be_cut = load_source(sample.plan["source"]).splits or len(units) < len(inputs)
    is_large = any(unit["weight"] > MEBIBYTE for unit in units)
    if units:
        print_idle_workers(workers, len(units), can_grow=can_be_cut and is_large, setting="--unit-mib")
    if sample.structures:
        say("first structures:")
        print_rows(HEADER, table_rows(list(sample.structures)))


def print_idle_workers(workers: int, num_units: int, *, can_grow: bool, setting: str) -> None:
    """Say on stderr when there are more workers than units, each the work of one, and what would give more units."""
    if workers > num_units:
        remedy = f"smaller {setting} gives more" if can_grow else "no more can be made of these files"
        say(f"{workers} workers but {counted(num_units, 'units')}: {remedy}", err=True)


def print_export(reports: Sequence[ExportReport]) -> None:
    """Print the files written and, field by field, what could not be brought back."""
    for report in reports:
        for path in report.files:
            say(str(path))
        if not report.losses:
            say(f"lossless: {counted(report.num_records, 'records')}")
        for name, count in report.losses.items():
            say(f"not lossless: {name}: {count:,}")


def print_verification(path: Path | str, report: VerifyReport) -> None:
    """Print every problem, then the verdict."""
    for problem in report.problems:
        say(f"BAD {problem}")
    for name in report.strangers:
        say(f"note: {path}/{name} is not part of the dataset", err=True)
    verdict = "good" if report.ok else "bad"
    files = counted(report.num_files, "files")
    say(f"{path}: {verdict}, {files}, {report.num_bytes / 1e6:,.1f} MB checked")


def print_registry(groups: Sequence[str]) -> None:
    """Print the names of each group with what they are."""
    from lisdata import registry
    from lisdata.models import MODELS
    from lisdata.token_formats.formats import EXPORTED, load_exported

    for group in groups:
        if len(groups) > 1:
            say(f"{group}:")
        if group == "models":
            rows = [(name, entry.summary) for name, entry in MODELS.items()]
        elif group == "token-formats":
            rows = [(name, load_exported(name).summary) for name in EXPORTED]
        else:
            load = {"sources": registry.load_source, "exporters": registry.load_exporter}.get(group)
            rows = [(n, load(n).summary if load else "") for n in registry.names(group)]  # type: ignore[attr-defined]
        width = max(len(name) for name, _ in rows)
        for name, summary in rows:
            say(f"  {name.ljust(width)}  {summary}".rstrip())


def print_json(data: dict[str, Any]) -> None:
    """Print a document of JSON, indented."""
    import orjson

    click.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())


def print_stats(summary: dict[str, Any], *, as_json: bool) -> None:
    """Print a summary of counts: a line a figure, a table a distribution."""
    if as_json:
        print_json(summary)
        return
    for name, value in summary.items():
        title = name.replace("_", " ")
        if isinstance(value, dict):
            say(f"{title}:")
            for key, count in value.items():
                say(f"  {_figure(count):>14}  {key}")
        else:
            say(f"{title}: {_figure(value)}")


def _figure(value: int | float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
