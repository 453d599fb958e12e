"""A small figure of an order: where in the dataset the rows of an epoch come from, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def plot_shuffle(report: Mapping[str, Any], path: str | Path) -> None:
    """Draw a report of `report_shuffle`: a PNG, SVG or PDF file, by its suffix; raises ValueError for another suffix.

    A dot is a row, its place in the epoch against its number: an even cloud is well mixed, lines and blocks are not.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    target = Path(path)
    known = FigureCanvasAgg.get_supported_filetypes()
    if target.suffix[1:].lower() not in known:
        raise ValueError(f"expected a file that ends in one of {', '.join(sorted(known))}, got {target.name!r}")
    figure = Figure(figsize=(8, 6), layout="constrained")
    order, bars = figure.subplots(2, 1, height_ratios=(3, 1))
    order.scatter([place for place, _ in report["points"]], [row for _, row in report["points"]], s=2, linewidths=0)
    order.set(xlabel=f"place in epoch {report['epoch']}", ylabel="row of the dataset")
    names = list(report["figures"])
    for shift, which in ((-0.2, "found"), (0.2, "uniform")):
        at = [number + shift for number in range(len(names))]
        found = bars.barh(at, [report["figures"][name][which] for name in names], height=0.4, label=which)
        bars.bar_label(found, fmt="{:.4g}", fontsize=7, padding=2)
    bars.set_yticks(range(len(names)), [name.replace("_", " ") for name in names], fontsize=8)
    bars.set_xscale("symlog", linthresh=0.01)
    bars.invert_yaxis()
    bars.legend(fontsize="small")
    figure.savefig(target, dpi=120)
