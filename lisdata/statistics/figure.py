"""A small figure of a summary: bars of its counts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SIZE_PANELS = ("structure_size_histogram", "row_length_histogram")
_NUM_BARS, _NUM_LETTERS = 12, 38


def plot_statistics(summary: Mapping[str, Any], path: str | Path) -> None:
    """Draw each distribution of a summary as bars: a PNG, SVG or PDF file, by its suffix.

    Raises ValueError for another suffix. The greatest counts are drawn where there are many; sizes are drawn whole.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    target = Path(path)
    known = FigureCanvasAgg.get_supported_filetypes()
    if target.suffix[1:].lower() not in known:
        raise ValueError(f"expected a file that ends in one of {', '.join(sorted(known))}, got {target.name!r}")
    panels = [(name, counts) for name, counts in summary.items() if _is_distribution(name, counts)]
    num_rows = -(-len(panels) // 2) or 1
    figure = Figure(figsize=(11, 1 + 2.6 * num_rows), layout="constrained")
    figure.suptitle(_title(summary), fontsize=11)
    for number, (name, counts) in enumerate(panels):
        axes = figure.add_subplot(num_rows, 2, number + 1)
        axes.set_title(name.replace("_", " "), fontsize=9)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
        if name in _SIZE_PANELS:
            bars = axes.bar(range(len(counts)), list(counts.values()), width=0.9)
            axes.set_xticks(range(len(counts)), list(counts), rotation=45, ha="right")
            axes.set_xlim(-0.6, max(len(counts), _NUM_BARS // 2) - 0.4)
        else:
            shown = list(counts.items())[:_NUM_BARS]
            bars = axes.barh(range(len(shown)), [count for _, count in shown])
            axes.set_yticks(range(len(shown)), [_cut(key) for key, _ in shown], parse_math=False)
            axes.set_ylim(max(len(shown), _NUM_BARS // 2) - 0.4, -0.6)
            axes.margins(x=0.15)
        axes.bar_label(bars, fmt="{:,.0f}", fontsize=6, padding=2)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # labels may be of any script
        figure.savefig(target, dpi=120)


def _is_distribution(name: str, counts: Any) -> bool:
    return isinstance(counts, dict) and bool(counts) and name not in ("report", "structure_sizes", "row_lengths")


def _title(summary: Mapping[str, Any]) -> str:
    shown = ("structures", "incidences", "distinct_contents", "rows", "tokens")
    return ", ".join(f"{summary[name]:,} {name.replace('_', ' ')}" for name in shown if name in summary)


def _cut(text: str) -> str:
    return text if len(text) <= _NUM_LETTERS else "..." + text[3 - _NUM_LETTERS :]
