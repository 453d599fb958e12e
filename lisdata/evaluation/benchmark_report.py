"""The report of a benchmark: the scores of a model's seeds as text, JSON and a plot, and the verdict on each item."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from lisdata.atomic import write_atomically
from lisdata.errors import PlanError, SchemaError
from lisdata.evaluation import blimp, syntaxgym
from lisdata.evaluation.benchmark_plot import Bar, plot_scores
from lisdata.evaluation.bootstrap import BootstrapDifference
from lisdata.evaluation.item_results import ItemResults, Ties, write_item_results
from lisdata.json_shape import find_mismatch
from lisdata.training.report import describe_versions

FORMAT = "lisdata benchmark 1"

Section = Mapping[str, Sequence[float]]
"""Scores, 0 to 1, by the name of the row: one a column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkReport:
    """What a benchmark says of a model under some seeds.

    `results` has one entry a seed and, with `has_vote`, at the end the seeds' vote. `sections` hold rows with a score
    for each of them; the section `plotted` is drawn, with the rows of the first. `facts` are ready for JSON, `remarks`
    are lines that the table begins with.
    """

    name: str
    title: str
    results: Sequence[ItemResults]
    sections: Mapping[str, Section]
    plotted: str
    facts: Mapping[str, Any]
    remarks: Sequence[str] = ()
    has_vote: bool = False
    chance: float | None = None

    @property
    def num_seeds(self) -> int:
        """The number of results that are no vote."""
        return len(self.results) - self.has_vote


def report_syntaxgym(
    results: Sequence[ItemResults],
    *,
    facts: Mapping[str, Any],
    remarks: Sequence[str] = (),
    has_vote: bool = False,
) -> BenchmarkReport:
    """Return the report of results on SyntaxGym's suites."""
    scores = [result.group_scores() for result in results]
    num_counted = len(syntaxgym.counted_suites(scores[0]))
    sections = {
        "": {f"mean over suites ({num_counted})": [syntaxgym.macro_score(found) for found in scores]},
        "circuit": _by_row([syntaxgym.circuit_scores(found) for found in scores]),
        "suite": _by_row(scores),
    }
    return BenchmarkReport(
        name="syntaxgym",
        title="SyntaxGym: right items in %",
        results=results,
        sections=sections,
        plotted="circuit",
        facts=facts,
        remarks=remarks,
        has_vote=has_vote,
    )


def report_blimp(
    results: Sequence[ItemResults],
    paradigms: Sequence[blimp.Paradigm],
    *,
    facts: Mapping[str, Any],
    remarks: Sequence[str] = (),
    ties: Ties = "wrong",
) -> BenchmarkReport:
    """Return the report of results on BLiMP's paradigms."""
    scores = [result.group_scores(ties) for result in results]
    sections = {
        "": {f"mean over paradigms ({len(paradigms)})": [blimp.macro_score(found) for found in scores]},
        "field": _by_row([blimp.field_scores(found, paradigms) for found in scores]),
        "phenomenon": _by_row([blimp.phenomenon_scores(found, paradigms) for found in scores]),
        "paradigm": _by_row(scores),
    }
    num_ties = [result.num_ties for result in results]
    remark = f"ties: {', '.join(map(str, num_ties))}, each counts as {ties}"
    return BenchmarkReport(
        name="blimp",
        title="BLiMP: right pairs in %",
        results=results,
        sections=sections,
        plotted="phenomenon",
        facts=dict(facts) | {"ties": ties, "num_ties": num_ties},
        remarks=[*remarks, remark],
        chance=0.5,
    )


def check_folder(directory: Path, name: str, asked: Mapping[str, Any]) -> None:
    """Raise PlanError where the folder has a report called `name` with other facts than those `asked` for."""
    path = directory / f"{name}.json"
    if not path.exists():
        return
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SchemaError(f"{path}: expected the report of a benchmark, found {error}") from error
    mismatch = find_mismatch(report, {"format": str, "facts": dict})
    if mismatch is not None:
        raise SchemaError(f"{path}: {mismatch}")
    for fact, value in asked.items():  # reports of older versions lack some
        found = report["facts"].get(fact, value)
        if found != value:
            raise PlanError(f"{path}: the report here has {fact} {found!r}, not {value!r}; choose another folder")


def write_benchmark_report(report: BenchmarkReport, directory: Path) -> str:
    """Write NAME.json, NAME.txt, NAME.png and NAME-items.csv to `directory`; return the table as text."""
    directory.mkdir(parents=True, exist_ok=True)
    table = format_benchmark(report)
    write_atomically(directory / f"{report.name}.txt", table.encode())
    write_atomically(directory / f"{report.name}.json", (json.dumps(_to_json(report), indent=1) + "\n").encode())
    write_item_results(report.results, directory / f"{report.name}-items.csv")
    rows = {**report.sections[""], **report.sections[report.plotted]}
    bars = [Bar(name, *mean_and_deviation(row[: report.num_seeds])) for name, row in rows.items()]
    plot_scores(bars, directory / f"{report.name}.png", label=report.title, chance=report.chance)
    return table


def format_benchmark(report: BenchmarkReport) -> str:
    """Return the table: the mean and standard deviation over seeds, each seed, and the vote, if there is one."""
    columns = [f"#{number}" for number in range(1, report.num_seeds + 1)] + ["vote"] * report.has_vote
    is_one = len(columns) == 1
    seeds = [f"#{number}: {result.model}" for number, result in enumerate(report.results[: report.num_seeds], 1)]
    lines = [report.title, *report.remarks, *seeds]
    if report.has_vote:
        lines.append("vote: what most of the seeds say of each item")
    rows = [["", *(["score"] if is_one else ["mean", "sd", *columns])]]
    for section, scores in report.sections.items():
        if section:
            rows.append([section])
        for name, row in scores.items():
            mean, deviation = mean_and_deviation(row[: report.num_seeds])
            spread = [] if is_one else [percent(mean), percent(deviation)]
            rows.append([f"{'  ' if section else ''}{name}", *spread, *map(percent, row)])
    return "\n".join([*lines, *align_table(rows)]) + "\n"


def format_differences(differences: Mapping[str, BootstrapDifference]) -> str:
    """Return a table of differences in percentage points, with their intervals."""
    rows = [["", "difference", "interval", "p"]]
    for name, found in differences.items():
        interval = f"[{100 * found.low:+.2f}, {100 * found.high:+.2f}]"
        rows.append([name, f"{100 * found.difference:+.2f}", interval, f"{found.p_value:.4f}"])
    return "\n".join(align_table(rows)) + "\n"


def differences_to_json(differences: Mapping[str, BootstrapDifference]) -> str:
    """Return the differences as JSON."""
    return json.dumps({name: asdict(found) for name, found in differences.items()}, indent=1) + "\n"


def align_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines, the first column to the left, the others to the right; rows may be short."""
    num_columns = max(map(len, rows))
    full = [[*row, *[""] * (num_columns - len(row))] for row in rows]
    widths = [max(map(len, column)) for column in zip(*full, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in full]


def mean_and_deviation(scores: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean over seeds and their standard deviation, where there are several."""
    return fmean(scores), stdev(scores) if len(scores) > 1 else None


def percent(score: float | None) -> str:
    """Return a share in %, with two decimals; nothing for none."""
    return "" if score is None else f"{100 * score:.2f}"


def _by_row(columns: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    return {name: [column[name] for column in columns] for name in columns[0]}


def _to_json(report: BenchmarkReport) -> dict[str, Any]:
    sections = {
        section or "benchmark": {name: _row_to_json(report, row) for name, row in scores.items()}
        for section, scores in report.sections.items()
    }
    models = [result.model for result in report.results[: report.num_seeds]]
    return {
        "format": FORMAT,
        "benchmark": report.name,
        "models": models,
        "facts": dict(report.facts),
        "scores": sections,
        "versions": describe_versions(),
    }


def _row_to_json(report: BenchmarkReport, row: Sequence[float]) -> dict[str, Any]:
    mean, deviation = mean_and_deviation(row[: report.num_seeds])
    vote = {"vote": row[-1]} if report.has_vote else {}
    return {"mean": mean, "deviation": deviation, "seeds": list(row[: report.num_seeds]), **vote}
