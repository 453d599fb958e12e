"""Tables of names spelled from facts: a row a task, a column a model, the paper's figures beside ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from lisdata.atomic import write_atomically
from lisdata.plots import plot_binding
from lisdata.reproduce.context_growth import Spread, align_columns

JsonDict = dict[str, Any]
Key = tuple[str | int, ...]
Published = tuple[float | None, float | None, float | None]
TOP_5, TOP_1, PERPLEXITY = "char_top_5_exact", "char_top_1_exact", "perplexity"
FIGURES = {TOP_1: 0, TOP_5: 1, PERPLEXITY: 2}
"""Each figure, and its place in what was published."""


def join_key(key: Key) -> str:
    """Return the values of a row's key in one string."""
    return "-".join(map(str, key))


@dataclass(frozen=True, slots=True, kw_only=True)
class SpellingTable:
    """What a table looks like.

    A row is a key, a value for each of `columns`; `name_task` gives the name of its task, under which a run has its
    scores. `means` are further rows, each the plain mean of others. `readings` say what is scored; `published` has
    (top 1, top 5, perplexity) by row and variant for one of them. The plot shows the rows `plotted` under these names.
    """

    format: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[Key]
    readings: Mapping[str, str]
    published: Mapping[Key, Mapping[str, Published]]
    published_reading: str
    plotted: Mapping[Key, str]
    plotted_what: str
    means: Mapping[Key, Sequence[Key]] = field(default_factory=dict)
    name_task: Callable[[Key], str] = join_key

    @property
    def all_rows(self) -> list[Key]:
        """The rows, and the means behind them."""
        return [*self.rows, *self.means]


def write_spelling_table(
    table: SpellingTable, runs: Sequence[JsonDict], scale: Any, directory: Path, *, remarks: Sequence[str] = ()
) -> str:
    """Write table.txt, table.json and table.png of the runs to `directory`; return the first. Remarks end it."""
    variants = list(dict.fromkeys(run["variant"] for run in runs))
    parts = [
        f"{table.title}; mean ± standard deviation over seeds.",
        f"{TOP_5}: every scored character among the five likeliest (the paper's hit@5).",
        f"Scale: {', '.join(f'{name} {value}' for name, value in asdict(scale).items())}.",
        f"Runs: {', '.join(f'{v} {_parameters(runs, v):,} parameters' for v in variants)}.",
    ]
    for reading, what in table.readings.items():
        for figure in (TOP_5, TOP_1, PERPLEXITY):
            title = "perplexity a character" if figure == PERPLEXITY else figure
            parts += ["", f"{title}, {what}", "", *_format(table, runs, variants, reading, figure)]
    text = "\n".join([*parts, *remarks]) + "\n"
    content = {"format": table.format, "scale": asdict(scale), "rows": _rows_json(table, runs, variants)}
    write_atomically(directory / "table.txt", text.encode())
    write_atomically(directory / "table.json", (json.dumps(content, indent=1) + "\n").encode())
    plot_binding(
        _bars(table, runs, variants),
        directory / "table.png",
        published=_published_bars(table, variants),
        what=table.plotted_what,
    )
    return text


def _spread(
    table: SpellingTable, runs: Sequence[JsonDict], variant: str, key: Key, reading: str, figure: str
) -> Spread:
    """Return a figure of a row over the seeds of a variant; a perplexity beyond a float counts as infinite."""
    return Spread.of([_figure(table, run, key, reading, figure) for run in runs if run["variant"] == variant])


def _figure(table: SpellingTable, run: JsonDict, key: Key, reading: str, figure: str) -> float:
    if key in table.means:
        return fmean(_figure(table, run, member, reading, figure) for member in table.means[key])
    value = run["scores"][table.name_task(key)][reading][figure]
    return float("inf") if value is None else float(value)


def _parameters(runs: Sequence[JsonDict], variant: str) -> int:
    return next(int(run["num_parameters"]) for run in runs if run["variant"] == variant)


def _format(
    table: SpellingTable, runs: Sequence[JsonDict], variants: Sequence[str], reading: str, figure: str
) -> list[str]:
    digits = ".2f" if figure == PERPLEXITY else ".3f"
    lines = [[*table.columns, *variants]]
    for key in table.all_rows:
        found = [_spread(table, runs, variant, key, reading, figure) for variant in variants]
        lines.append([*map(str, key), *(f"{value:{digits}}" for value in found)])
        published = table.published.get(key, {}) if reading == table.published_reading else {}
        values = [published[v][FIGURES[figure]] if v in published else None for v in variants]
        if any(value is not None for value in values):
            blank = [""] * (len(key) - 1)
            lines.append(["  paper", *blank, *("" if value is None else f"{value:{digits}}" for value in values)])
    return align_columns(lines)


def _rows_json(table: SpellingTable, runs: Sequence[JsonDict], variants: Sequence[str]) -> list[JsonDict]:
    return [
        {
            "variant": variant,
            **dict(zip(table.columns, key, strict=True)),
            "reading": reading,
            "seeds": [run["seed"] for run in runs if run["variant"] == variant],
            **{figure: asdict(_spread(table, runs, variant, key, reading, figure)) for figure in FIGURES},
            "paper": table.published.get(key, {}).get(variant) if reading == table.published_reading else None,
        }
        for variant in variants
        for key in table.all_rows
        for reading in table.readings
    ]


def _bars(
    table: SpellingTable, runs: Sequence[JsonDict], variants: Sequence[str]
) -> dict[str, dict[str, tuple[float, float | None]]]:
    """Return for each variant, by the name of a plotted row, the share that is spelled exactly."""
    bars: dict[str, dict[str, tuple[float, float | None]]] = {}
    for variant in variants:
        for key, name in table.plotted.items():
            found = _spread(table, runs, variant, key, table.published_reading, TOP_5)
            bars.setdefault(variant, {})[name] = (found.mean, found.deviation)
    return bars


def _published_bars(table: SpellingTable, variants: Sequence[str]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for key, name in table.plotted.items():
        for variant, (_, hit, _) in table.published.get(key, {}).items():
            if variant in variants and hit is not None:
                found.setdefault(variant, {})[name] = hit
    return found
