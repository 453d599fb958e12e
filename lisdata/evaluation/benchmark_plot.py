"""The plots of benchmarks: a bar a score, the spread over seeds on it; two models' attention, a point a pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Bar(NamedTuple):
    """A score, 0 to 1, and the standard deviation over seeds, if there are several."""

    name: str
    mean: float
    deviation: float | None


def plot_scores(bars: Sequence[Bar], path: Path, *, label: str, chance: float | None = None) -> None:
    """Draw the scores in %, from top to bottom, as a PNG; `label` is that of the axis, `chance` is marked by a line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 1.2 + 0.3 * len(bars)), layout="constrained")
    axes = figure.add_subplot()
    names, means = [bar.name for bar in bars], [100 * bar.mean for bar in bars]
    has_spread = all(bar.deviation is not None for bar in bars)
    spread = [100 * (bar.deviation or 0.0) for bar in bars] if has_spread else None
    axes.barh(names, means, xerr=spread, capsize=2, color=["C1", *["C0"] * (len(bars) - 1)])
    if chance is not None:
        axes.axvline(100 * chance, color="grey", linewidth=0.8, linestyle="--", label="chance")
        axes.legend(fontsize="small")
    axes.invert_yaxis()
    axes.set(xlabel=label, xlim=(0, 100))
    axes.grid(alpha=0.3, axis="x")
    figure.savefig(path, dpi=120, metadata={"Software": None})


def plot_paired_attention(points: Mapping[str, Sequence[tuple[float, float]]], path: Path, *, row: str) -> None:
    """Draw the attention of each pair in two models, (second, first), by group, as a PNG; on the line both are equal.

    `row` is whose attention it is, the verb's or the object's.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.add_subplot()
    for number, (name, pairs) in enumerate(points.items()):
        x, y = zip(*pairs, strict=True)
        axes.plot(x, y, ".", color=f"C{number}", markersize=4, label=f"{name} ({len(pairs)})")
    most = max(max(pair) for pairs in points.values() for pair in pairs)
    axes.plot([0, most], [0, most], color="grey", linewidth=0.8)
    axes.set(xlabel=f"attention of the {row} in the second model", ylabel=f"attention of the {row} in the first model")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120, metadata={"Software": None})
