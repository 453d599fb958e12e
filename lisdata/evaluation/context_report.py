"""The table of perplexity against context length: as text, as JSON and as a plot, beside the paper's numbers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lisdata.metrics import NllSum
from lisdata.paths import StrPath
from lisdata.plots import plot_perplexity

FORMAT = "lisdata perplexity report 1"

LIS_TABLE_3: dict[str, dict[int, float]] = {
    "rope": {256: 4.70, 512: 5.99, 1024: 8.23, 2048: 10.71, 4096: 13.36},
    "alibi": {256: 4.96, 512: 4.94, 1024: 4.96, 2048: 4.93, 4096: 4.93},
    "random-lines": {256: 4.89, 512: 4.79, 1024: 4.90, 2048: 4.87, 4096: 4.91},
    "lisformer-lines": {256: 4.81, 512: 4.74, 1024: 4.85, 2048: 4.83, 4096: 4.86},
}
"""LIS Table 3: all-token validation perplexity on Tiny Shakespeare, 5,000 steps on 256 characters, one run a row."""


def format_context_table(
    measured: Mapping[str, Mapping[int, NllSum]], published: Mapping[str, Mapping[int, float]]
) -> str:
    """Return a table of perplexities, a row for each model, with the ratio of the longest context to the shortest.

    The published row of a model follows its own, marked as the paper's.
    """
    lengths = _list_lengths(measured)
    rows = [["model", *(f"{length:,}" for length in lengths), f"{lengths[-1]:,} / {lengths[0]:,}"]]
    for name, sums in measured.items():
        rows.append(_format_row(name, {length: sums[length].perplexity for length in lengths}))
        if name in published:
            rows.append(_format_row("  paper", {length: published[name].get(length) for length in lengths}))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
    return "\n".join(lines) + "\n"


def write_context_report(
    measured: Mapping[str, Mapping[int, NllSum]],
    directory: StrPath,
    *,
    published: Mapping[str, Mapping[int, float]],
    training_length: int | None = None,
    facts: Mapping[str, Any] | None = None,
) -> str:
    """Write perplexity.json, perplexity.txt and perplexity.png to `directory`; return the table as text.

    `published` (such as `LIS_TABLE_3`) is told apart in all three. `facts` (checkpoints, number of steps, seeds) go
    into the JSON.
    """
    curves = {name: {length: sums[length].perplexity for length in sorted(sums)} for name, sums in measured.items()}
    content = {
        "format": FORMAT,
        "facts": dict(facts or {}),
        "training_length": training_length,
        "num_scored_tokens": {name: max(s.num_tokens for s in sums.values()) for name, sums in measured.items()},
        "perplexity": curves,
        "published_perplexity": published,
    }
    table, directory = format_context_table(measured, published), Path(directory)
    (directory / "perplexity.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    (directory / "perplexity.txt").write_text(table, encoding="utf-8")
    plot_perplexity(curves, directory / "perplexity.png", published=published, training_length=training_length)
    return table


def _list_lengths(measured: Mapping[str, Mapping[int, NllSum]]) -> Sequence[int]:
    lengths = {tuple(sorted(sums)) for sums in measured.values()}
    if len(lengths) != 1:
        raise ValueError(f"expected models measured at the same context lengths, got {sorted(lengths)}")
    return lengths.pop()


def _format_row(name: str, perplexities: Mapping[int, float | None]) -> list[str]:
    values = list(perplexities.values())
    shortest, longest = values[0], values[-1]
    ratio = "" if shortest is None or longest is None else f"{longest / shortest:.2f}"
    return [name, *("" if value is None else f"{value:.2f}" for value in values), ratio]
