"""The plot of a benchmark: a bar a score, the spread over seeds on it."""

from __future__ import annotations

from collections.abc import Sequence
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
