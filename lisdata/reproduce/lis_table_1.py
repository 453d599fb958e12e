"""LIS Table 1: representative rows of the other tables, from their finished runs; nothing is trained here.

A range goes over what the row names, tiers or numbers of names, of means over seeds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import exp
from pathlib import Path
from statistics import fmean

from lisdata.atomic import write_atomically
from lisdata.plots import plot_binding
from lisdata.reproduce import load_experiment
from lisdata.reproduce.context_growth import WHOLE, align_columns
from lisdata.reproduce.preparation import OnStep
from lisdata.reproduce.runner import Experiment, JsonDict, RunRequest, read_runs
from lisdata.reproduce.spelling_report import TOP_5

MAIN_TIERS = ("memorization", "transfer", "generalization")
_Values = Callable[[list[JsonDict]], list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table1Sources:
    """Folders of the experiments' results; by default those beside this one's, named like lis_table_3."""

    lis_table_3: str | None = None
    lis_table_5: str | None = None
    lis_tables_8_11: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A row: which experiment it is from, its flat and its LIS variant, what of a variant's runs, and the paper's."""

    diagnostic: str
    condition: str
    source: str
    variants: tuple[str, str]
    values: _Values
    paper: tuple[tuple[float, float], tuple[float, float]]
    is_growth: bool = False


def _spelled(names: Sequence[str], reading: str) -> _Values:
    """Return what takes the share spelled exactly in each of some tasks, a mean over runs."""

    def values(runs: list[JsonDict]) -> list[float]:
        return [fmean(run["scores"][name][reading][TOP_5] for run in runs) for name in names]

    return values


def _perplexities(runs: list[JsonDict]) -> list[float]:
    """Return the perplexity at the shortest and at the longest context, means over runs."""
    lengths = sorted(map(int, runs[0]["readings"][WHOLE]))
    found = [[run["readings"][WHOLE][str(length)] for run in runs] for length in (lengths[0], lengths[-1])]
    return [fmean(exp(figures["nll"] / figures["num_tokens"]) for figures in at) for at in found]


def _separate(form: str, condition: str, paper: tuple[tuple[float, float], tuple[float, float]]) -> _Row:
    return _Row(
        diagnostic="independent KG/text",
        condition=condition,
        source="lis_table_5",
        variants=("serialized", "LIS"),
        values=_spelled([f"test-{form}-{tier}" for tier in MAIN_TIERS], "last"),
        paper=paper,
    )


def _diverse(setting: str, paper: tuple[tuple[float, float], tuple[float, float]]) -> _Row:
    return _Row(
        diagnostic="template-diverse KG to text",
        condition=f"{setting}, test, chain2/3",
        source="lis_tables_8_11",
        variants=("B", "J"),
        values=_spelled([f"test-chain{arity}-{setting}" for arity in (2, 3)], "all"),
        paper=paper,
    )


ROWS = (
    _Row(
        diagnostic="Tiny Shakespeare",
        condition="perplexity, shortest to longest context",
        source="lis_table_3",
        variants=("rope", "lisformer-lines"),
        values=_perplexities,
        paper=((4.70, 13.36), (4.81, 4.86)),
        is_growth=True,
    ),
    _separate("text", "text eval, main tiers", ((0.248, 0.269), (0.401, 0.445))),
    _separate("kg", "KG eval, main tiers", ((0.280, 0.296), (0.475, 0.510))),
    _diverse("single", ((0.126, 0.359), (0.923, 0.972))),
    _diverse("same-entities", ((0.030, 0.411), (0.835, 0.952))),
    _diverse("same-relation", ((0.000, 0.109), (0.038, 0.182))),
)


def prepare(data: Path | None, directory: Path, scale: Table1Sources, on_step: OnStep) -> JsonDict:
    """Return nothing: the table has no data of its own."""
    return {}


def run(request: RunRequest) -> JsonDict:
    """Raise ValueError: there is no run."""
    raise ValueError("lis-table-1 is read from other experiments' runs")


def write_table(runs: list[JsonDict], scale: Table1Sources, directory: Path) -> str:
    """Write table.txt, table.json and table.png of what has been run elsewhere; return the first."""
    found = {source: _read_source(directory, source, folder) for source, folder in asdict(scale).items()}
    rows = [_row_json(row, found[row.source]) for row in ROWS]
    lines = [["diagnostic", "condition", "flat", "paper", "LIS", "paper", "seeds"]]
    missing: list[str] = []
    for row, figures in zip(ROWS, rows, strict=True):
        cells = []
        for variant, values, published in zip(row.variants, figures["values"], row.paper, strict=True):
            cells += ["missing" if values is None else _range(row, values), _range(row, published)]
            if values is None:
                missing.append(f"{row.source.replace('_', '-')} {variant}")
        lines.append([row.diagnostic, row.condition, *cells, "/".join(map(str, figures["seeds"]))])
    text = "\n".join(
        [
            "Representative rows: a perplexity from the shortest to the longest context, else the range of"
            f" {TOP_5} (hit@5) over what the row names; means over seeds.",
            "",
            *align_columns(lines),
            *(["", f"Missing, not yet run: {', '.join(dict.fromkeys(missing))}."] if missing else []),
            "",
        ]
    )
    content = {"format": "lisdata table 1 1", "rows": rows}
    write_atomically(directory / "table.txt", text.encode())
    write_atomically(directory / "table.json", (json.dumps(content, indent=1) + "\n").encode())
    _plot(rows, directory / "table.png")
    return text


def _read_source(directory: Path, source: str, folder: str | None) -> list[JsonDict]:
    experiment = load_experiment(source.replace("_", "-"))
    return read_runs(experiment, directory.parent / source if folder is None else Path(folder))


def _row_json(row: _Row, runs: list[JsonDict]) -> JsonDict:
    by_variant = [[run for run in runs if run["variant"] == variant] for variant in row.variants]
    return {
        "diagnostic": row.diagnostic,
        "condition": row.condition,
        "variants": row.variants,
        "values": [row.values(own) if own else None for own in by_variant],
        "seeds": [len(own) for own in by_variant],
        "paper": row.paper,
    }


def _range(row: _Row, values: Sequence[float]) -> str:
    if row.is_growth:
        return f"{values[0]:.2f} -> {values[-1]:.2f}"
    return f"{min(values):.3f}-{max(values):.3f}"


def _plot(rows: Sequence[JsonDict], path: Path) -> None:
    """Draw the middle of each range, and the range as a bar across it."""
    bars: dict[str, dict[str, tuple[float, float | None]]] = {}
    published: dict[str, dict[str, float]] = {}
    for row, figures in zip(ROWS, rows, strict=True):
        for name, values, paper in zip(("flat", "LIS"), figures["values"], row.paper, strict=True):
            if not row.is_growth and values is not None:
                task = row.condition.replace(", ", "\n", 1)
                bars.setdefault(name, {})[task] = ((min(values) + max(values)) / 2, (max(values) - min(values)) / 2)
                published.setdefault(name, {})[task] = fmean(paper)
    plot_binding(bars, path, published=published, what="char_top_5_exact")


EXPERIMENT = Experiment(
    name="lis-table-1",
    variants=(),
    scales={"recorded": Table1Sources()},
    prepare=prepare,
    run=run,
    report=write_table,
)
