"""The commands that compare datasets: `align` (what they share) and `audit` (where they differ)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lisdata.cli.options import DatasetFolder, example
from lisdata.cli.printing import print_json
from lisdata.cli.terminal import say

if TYPE_CHECKING:
    from lisdata.alignment import AuditReport, MeetingReport, SameAsMatches
    from lisdata.shards import IncidenceDataset

DATASET = DatasetFolder()


@click.command(epilog=example("lisdata align text.lis table2.lis"))
@click.argument("datasets", type=DATASET, nargs=-1, metavar="DATASET...")
@click.option(
    "--same-as",
    "tables",
    multiple=True,
    metavar="TABLE",
    help="Contents that are the same: a TSV file (NAME, tab, the NAME it is shown as, perhaps a tab and a SOURCE), a "
    "dataset with such a table, or a predicate in the DATASETs (owl:sameAs or an IRI); may be given several times.",
)
@click.option(
    "--id-prefix",
    multiple=True,
    metavar="PREFIX=IRI",
    help="Ids in TSV files short for IRIs, e.g. Q=http://www.wikidata.org/entity/; may be given several times.",
)
@click.option(
    "--key-scope",
    metavar="SCOPE",
    help="The first names of TSV files are keys of a table: table:TABLE.COLUMN, table:NAMESPACE.TABLE.COLUMN.",
)
@click.option(
    "--to",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the rows of --same-as to this folder; lisdata merge puts them beside a dataset.",
)
@click.option("--examples", type=click.IntRange(0), default=3, show_default=True, help="Contents to show of each pair.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def align(
    datasets: tuple[Path, ...],
    tables: tuple[str, ...],
    id_prefix: tuple[str, ...],
    key_scope: str | None,
    to: Path | None,
    examples: int,
    as_json: bool,
) -> None:
    """Count the contents that DATASETs made apart share, by kind, with examples; or write a table of the same ones.

    A same_as table changes no shard: contents that it joins count as one here, and in column `content` of tokens
    (lisdata encode --same-as).
    """
    from lisdata.alignment import collect_same_as, count_matches, find_meetings, write_same_as
    from lisdata.shards import IncidenceDataset
    from lisdata.shards.same_as import SameAs

    if id_prefix and not tables:
        raise click.UsageError(
            "--id-prefix is for ids in TSV files of --same-as; for those in DATASETs, convert again with --id-prefix"
        )
    opened = [IncidenceDataset(path) for path in datasets]
    rows = collect_same_as(tables, opened, id_prefix=id_prefix, key_scope=key_scope)
    if to is not None:
        if not tables:
            raise click.UsageError("--to is for the rows of --same-as")
        count = write_same_as(rows, to)
        matches = count_matches(opened, SameAs.of_dataset(IncidenceDataset(to)))
        if as_json:
            print_json({"rows": count} | matches.to_dict())
        else:
            say(f"{to}: {count:,} rows join {matches.contents:,} contents into {matches.classes:,} classes")
        _print_matches(matches, opened, is_told=not as_json)
        return
    same_as = SameAs.of_rows(rows) if tables else None
    report = find_meetings(opened, same_as=same_as, num_examples=examples)
    found = None if same_as is None else count_matches(opened, same_as)
    if as_json:
        print_json(report.to_dict() | ({} if found is None else {"same_as": found.to_dict()}))
    else:
        _print_meetings(report)
    if found is not None:
        _print_matches(found, opened, is_told=not as_json)


def _print_matches(matches: SameAsMatches, datasets: Sequence[IncidenceDataset], *, is_told: bool) -> None:
    """Print how much of a same_as table the datasets have; warn of one that joins nothing of them."""
    if not datasets:
        return
    if is_told:
        where = ", ".join(f"{d.path} {count:,}" for d, count in zip(datasets, matches.found, strict=True))
        say(f"same_as: of {matches.contents:,} contents are in {where}; {matches.joined:,} classes join some of them")
    if not any(matches.found):
        advice = "names must be spelled as there (--id-prefix, --key-scope); lisdata inspect shows them"
        say(f"Warning: no content of the same_as table is in these datasets: {advice}", err=True)


def _print_meetings(report: MeetingReport) -> None:
    from lisdata.cli.printing import print_rows

    names = [name.rstrip("/").rsplit("/", 1)[-1] for name in report.names]
    rows = [
        (name, f"{sum(found.values()):,}", _kinds(found), "")
        for name, found in zip(names, report.contents, strict=True)
    ]
    for meeting in report.meetings:
        title = " & ".join(names[member] for member in meeting.members)
        kinds = _kinds(meeting.by_kind)
        if meeting.by_table:
            kinds += f" (keys: {_kinds(meeting.by_table)})"
        rows.append((title, f"{meeting.count:,}", kinds, ", ".join(meeting.examples)))
    print_rows(("datasets", "contents", "by kind", "examples"), rows)
    if any(meeting.by_table for meeting in report.meetings):
        advice = "where they are rows of different tables, convert with --namespace"
        say(f"Keys of tables of one name meet, whatever their databases: {advice}.", err=True)


def _kinds(found: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in found.items())


@click.command(epilog=example("lisdata audit graph.lis graph.lis"))
@click.argument("before", type=DATASET, metavar="A")
@click.argument("after", type=click.Path(exists=True, path_type=Path), metavar="B")
@click.option(
    "--match-scopes",
    is_flag=True,
    help="Take input n of both datasets for one file, so that its blank nodes compare; always so for an export.",
)
@click.option("--ordinals", is_flag=True, help="Compare the place of each instance in its source too.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the source that reads an export again, where a dataset cannot keep it (schema=FILE); may be "
    "given several times.",
)
@click.option("--examples", type=click.IntRange(0), default=5, show_default=True, help="Differences to show of a kind.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def audit(
    before: Path,
    after: Path,
    match_scopes: bool,
    ordinals: bool,
    options: tuple[str, ...],
    examples: int,
    as_json: bool,
) -> None:
    """Compare dataset A with B, another dataset or an export of A, which is converted again; exit 1 on a difference.

    Facts are compared as multisets: contents, instances (label, handle, participants by role, position and content),
    single incidences, documents and tensors. How facts are grouped into structures is not compared. Of two datasets of
    tokens, or one and its export in another format (see lisdata list token-formats), the rows are compared, and
    by which tokenizer they were made.
    """
    from lisdata.alignment import audit as audit_datasets

    report = audit_datasets(
        before,
        after,
        match_scopes=match_scopes,
        ordinals=ordinals,
        options=_settings(options),
        num_examples=examples,
    )
    print_json(report.to_dict()) if as_json else _print_audit(report)
    if not report.ok:
        click.get_current_context().exit(1)


def _settings(options: Sequence[str]) -> dict[str, str | tuple[str, ...]]:
    """Return the options by name; one that is given several times as all of its values."""
    found: dict[str, tuple[str, ...]] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"expected NAME=VALUE, got {option!r}", param_hint="--option")
        name = name.replace("-", "_")
        found[name] = (*found.get(name, ()), value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _print_audit(report: AuditReport) -> None:
    from lisdata.cli.printing import print_rows

    header = ("", "A", "B", "repeated in A", "repeated in B", "lost", "added")
    rows = [] if report.counted == "rows" else [("structures", *(f"{n:,}" for n in report.counts), "", "", "", "")]
    for name in ("converted", "rejected") if report.records[0] else ():
        rows.append((f"records {name}", *(f"{records[name]:,}" for records in report.records), "", "", "", ""))
    for level in report.levels:
        counts = (*level.totals, *level.duplicates, level.lost, level.added)
        rows.append((level.level, *(f"{count:,}" for count in counts)))
    print_rows(header, rows)
    for level in report.levels:
        for title, shown, count in (
            ("lost", level.lost_examples, level.lost),
            ("added", level.added_examples, level.added),
        ):
            for text in shown:
                say(f"{title}: {text}")
            if count > len(shown) > 0:
                say(f"{title}: {count - len(shown):,} more {level.level}")
    say("equal" if report.ok else "different")
