"""The table of perplexity against context growth: mean and spread over seeds, beside the paper's numbers."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lisdata.atomic import write_atomically
from lisdata.evaluation import LIS_TABLE_3
from lisdata.plots import plot_context_growth

JsonDict = dict[str, Any]
FORMAT = "lisdata context growth table 1"
WHOLE = "whole"
REFERENCE = "lisformer-lines"
PAPER_WINDOW = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One variant in one reading: for each context length the mean loss in nats a character, by seed."""

    variant: str
    reading: str
    losses: Mapping[int, Mapping[int, float]]

    @property
    def label(self) -> str:
        """The row's name in table and plot."""
        return self.variant if self.reading == WHOLE else f"{self.variant}, {self.reading}"

    @property
    def seeds(self) -> list[int]:
        """The seeds that were run."""
        return sorted(next(iter(self.losses.values())))


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and sample standard deviation over seeds; one seed has no deviation."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of one or more values."""
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)

    def __format__(self, spec: str) -> str:
        mean = format(self.mean, spec)
        return mean if self.deviation is None else f"{mean} ±{self.deviation:{spec.lstrip('+')}}"


def write_table(runs: list[JsonDict], scale: Any, directory: Path) -> str:
    """Write table.txt, table.json and table.png of the runs to `directory`; return the first.

    `scale` has the fields `window` and `context_lengths`. The paper's curves stand beside those of the same model at
    equal multiples of the training window, its own being 256.
    """
    rows = _list_rows(runs)
    lengths = sorted(scale.context_lengths)
    published = _published(scale.window, lengths)
    text = "\n".join(
        [
            f"Perplexity of contexts 1 to {lengths[-1] // scale.window} times the training window of {scale.window}"
            " characters; mean ± standard deviation over seeds.",
            describe_scale(scale),
            "",
            *_format_perplexities(rows, lengths, scale.window, published),
            "",
            f"Loss beyond that of {REFERENCE} in nats a character, seed by seed; positive is worse.",
            "",
            *_format_differences(rows, lengths),
        ]
    )
    content = {
        "format": FORMAT,
        "scale": asdict(scale),
        "rows": [_row_json(row) for row in rows],
        "published_perplexity": published,
    }
    write_atomically(directory / "table.txt", f"{text}\n".encode())
    write_atomically(directory / "table.json", (json.dumps(content, indent=1) + "\n").encode())
    curves = {
        row.label: {n / scale.window: (s.mean, s.deviation) for n, s in _perplexities(row).items()} for row in rows
    }
    papers = {
        name: {n / scale.window: value for n, value in curve.items()}
        for name, curve in published.items()
        if name in curves
    }
    plot_context_growth(curves, directory / "table.png", published=papers)
    return f"{text}\n"


def _list_rows(runs: Sequence[JsonDict]) -> list[Row]:
    """Return a row for each reading of each variant, in the order in which the runs come."""
    losses: dict[tuple[str, str], dict[int, dict[int, float]]] = {}
    for run in runs:
        for reading, figures in run["readings"].items():
            row = losses.setdefault((run["variant"], reading), {})
            for length, found in figures.items():
                row.setdefault(int(length), {})[run["seed"]] = found["nll"] / found["num_tokens"]
    return [Row(variant=variant, reading=reading, losses=found) for (variant, reading), found in losses.items()]


def _published(window: int, lengths: Sequence[int]) -> dict[str, dict[int, float]]:
    """Return the paper's perplexities at the context lengths that are as many windows as theirs were."""
    return {
        name: {n: curve[PAPER_WINDOW * n // window] for n in lengths if PAPER_WINDOW * n // window in curve}
        for name, curve in LIS_TABLE_3.items()
    }


def _perplexities(row: Row) -> dict[int, Spread]:
    return {n: Spread.of([math.exp(loss) for loss in by_seed.values()]) for n, by_seed in row.losses.items()}


def _growth(row: Row, lengths: Sequence[int]) -> Spread:
    """Return how many times the perplexity of the shortest context that of the longest is."""
    first, last = row.losses[lengths[0]], row.losses[lengths[-1]]
    return Spread.of([math.exp(last[seed] - first[seed]) for seed in first])


def _format_perplexities(
    rows: Sequence[Row], lengths: Sequence[int], window: int, published: Mapping[str, Mapping[int, float]]
) -> list[str]:
    table = [["model", "seeds", *(f"x{n / window:g} ({n:,})" for n in lengths), "last / first"]]
    for row in rows:
        perplexities = _perplexities(row)
        figures = [f"{perplexities[n]:.2f}" for n in lengths]
        table.append([row.label, str(len(row.seeds)), *figures, f"{_growth(row, lengths):.2f}"])
        curve = published.get(row.label, {})
        if curve:
            figures = [f"{curve[n]:.2f}" if n in curve else "" for n in lengths]
            is_whole = lengths[0] in curve and lengths[-1] in curve
            ratio = f"{curve[lengths[-1]] / curve[lengths[0]]:.2f}" if is_whole else ""
            table.append([f"  paper, window {PAPER_WINDOW}", "1", *figures, ratio])
    return align_columns(table)


def _format_differences(rows: Sequence[Row], lengths: Sequence[int]) -> list[str]:
    table = [["model", "seeds", *(f"{n:,}" for n in lengths)]]
    for row in rows:
        differences = _differences(row, rows)
        if differences:
            num_seeds = len(next(iter(differences.values())))
            figures = [f"{Spread.of(list(differences[n].values())):+.3f}" for n in lengths]
            table.append([row.label, str(num_seeds), *figures])
    return align_columns(table)


def _differences(row: Row, rows: Sequence[Row]) -> dict[int, dict[int, float]]:
    """Return the loss beyond the reference's by context length and seed, for the seeds that both were run under."""
    reference = next((r for r in rows if r.label == REFERENCE), None)
    if reference is None or row is reference:
        return {}
    return {
        n: found
        for n, by_seed in row.losses.items()
        if (found := {s: loss - reference.losses[n][s] for s, loss in by_seed.items() if s in reference.losses[n]})
    }


def _row_json(row: Row) -> JsonDict:
    return {
        "variant": row.variant,
        "reading": row.reading,
        "seeds": row.seeds,
        "perplexity": {
            n: {**asdict(spread), "by_seed": {s: math.exp(loss) for s, loss in row.losses[n].items()}}
            for n, spread in _perplexities(row).items()
        },
    }


def describe_scale(scale: Any) -> str:
    """Return a line with the settings of a scale."""
    settings = (f"{name} {_plain(value)}" for name, value in asdict(scale).items())
    return f"Scale: {', '.join(settings)}."


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def align_columns(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows as lines, the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in table]
