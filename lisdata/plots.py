"""Plots of reports, drawn without a display and without pyplot's global state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curve = Mapping[int, float]
_MOST_LEVEL_LABELS = 10


def plot_loss(points: Sequence[tuple[int, float]], path: Path) -> None:
    """Draw training loss in nats against steps, as a PNG."""
    figure = _new_figure()
    axes = figure.add_subplot()
    axes.plot([step for step, _ in points], [loss for _, loss in points], linewidth=1)
    axes.set(xlabel="step", ylabel="training loss (nats per token)")
    axes.grid(alpha=0.3)
    _write(figure, path)


def plot_perplexity(
    curves: Mapping[str, Curve],
    path: Path,
    *,
    published: Mapping[str, Curve] | None = None,
    training_length: int | None = None,
) -> None:
    """Draw perplexity against context length, one line a model, as a PNG.

    `published` curves, those of the paper, are dotted, in the colour of the model of the same name. `training_length`
    is marked by a vertical line.
    """
    figure = _new_figure()
    axes = figure.add_subplot()
    colours = {name: f"C{index}" for index, name in enumerate([*curves, *(published or {})])}
    for name, curve in curves.items():
        axes.plot(list(curve), list(curve.values()), marker="o", color=colours[name], label=name)
    for name, curve in (published or {}).items():
        axes.plot(list(curve), list(curve.values()), ":", color=colours[name], label=f"{name} (paper)")
    lengths = sorted({length for curve in [*curves.values(), *(published or {}).values()] for length in curve})
    axes.set(xscale="log", xlabel="context length (tokens)", ylabel="perplexity")
    axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
    axes.minorticks_off()
    if training_length is not None:
        axes.axvline(training_length, color="grey", linewidth=0.8, linestyle="--", label="training length")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    _write(figure, path)


def plot_context_growth(
    curves: Mapping[str, Mapping[float, tuple[float, float | None]]],
    path: Path,
    *,
    published: Mapping[str, Mapping[float, float]] | None = None,
) -> None:
    """Draw perplexity against context length in training windows, one line a model, as a PNG.

    A point is a mean over seeds and their standard deviation, if there is one, which is drawn as a bar. `published`
    curves are dotted, in the colour of the model of the same name.
    """
    figure = _new_figure()
    axes = figure.add_subplot()
    colours = {name: f"C{index}" for index, name in enumerate(curves)}
    for name, curve in curves.items():
        means = [mean for mean, _ in curve.values()]
        bars = [deviation or 0.0 for _, deviation in curve.values()]
        axes.errorbar(list(curve), means, bars, marker="o", markersize=3, capsize=2, color=colours[name], label=name)
    for name, values in (published or {}).items():
        axes.plot(list(values), list(values.values()), ":", color=colours[name], label=f"{name} (paper)")
    multiples = sorted({multiple for curve in curves.values() for multiple in curve})
    axes.set(xscale="log", yscale="log", xlabel="context length (training windows)", ylabel="perplexity")
    axes.set_xticks(multiples, [f"{multiple:g}" for multiple in multiples])
    ticks = [4, 5, 6, 8, 10, 15, 20, 30]
    axes.set_yticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize="x-small", ncols=2)
    _write(figure, path)


def plot_binding(
    bars: Mapping[str, Mapping[str, tuple[float, float | None]]],
    path: Path,
    *,
    published: Mapping[str, Mapping[str, float]] | None = None,
    what: str = "unseen names, char_top_5_exact",
) -> None:
    """Draw the share of names spelled exactly, a group of bars a task and in it one a model, as a PNG.

    A bar is a mean over seeds, with their standard deviation if there is one; a line across it is the paper's figure.
    `what` is shown.
    """
    figure = _new_figure()
    figure.set_size_inches(10, 4.5)
    axes = figure.add_subplot()
    tasks = list(dict.fromkeys(task for found in bars.values() for task in found))
    width = 0.85 / max(1, len(bars))
    for index, (name, found) in enumerate(bars.items()):
        at = [tasks.index(task) - 0.425 + width * (index + 0.5) for task in found]
        means, deviations = [m for m, _ in found.values()], [d or 0.0 for _, d in found.values()]
        axes.bar(at, means, width, yerr=deviations, label=name, color=f"C{index}", error_kw={"linewidth": 0.8})
        lines = [
            (x, values[task])
            for x, task in zip(at, found, strict=True)
            if task in (values := (published or {}).get(name, {}))
        ]
        axes.hlines(
            [y for _, y in lines], [x - width / 2 for x, _ in lines], [x + width / 2 for x, _ in lines], colors="k"
        )
    axes.set_xticks(range(len(tasks)), tasks, fontsize="small")
    if len(tasks) > _MOST_LEVEL_LABELS:
        for label in axes.get_xticklabels():
            label.set(rotation=40, horizontalalignment="right")
    axes.set(ylim=(0, 1.02), ylabel=f"{what} (line: paper)")
    axes.grid(alpha=0.3, axis="y")
    if bars:
        axes.legend(fontsize="x-small", ncols=2)
    _write(figure, path)


def plot_overheads(
    bars: Mapping[str, Mapping[str, tuple[float, float | None]]], path: Path, *, published: float | None = None
) -> None:
    """Draw how much longer a step takes than the baseline's, a group of bars a condition, as a PNG.

    `bars` is model -> condition -> mean and standard deviation, 0.1 being a tenth longer; `published` is dotted.
    """
    figure = _new_figure()
    axes = figure.add_subplot()
    conditions = list(dict.fromkeys(condition for found in bars.values() for condition in found))
    width = 0.8 / max(1, len(bars))
    for index, (name, found) in enumerate(bars.items()):
        at = [conditions.index(condition) - 0.4 + width * (index + 0.5) for condition in found]
        means = [100 * mean for mean, _ in found.values()]
        axes.bar(at, means, width, yerr=[100 * (deviation or 0.0) for _, deviation in found.values()], label=name)
    if published is not None:
        axes.axhline(100 * published, color="k", linestyle=":", label="leaking (paper, one GPU)")
    axes.set_xticks(range(len(conditions)), conditions)
    axes.set(ylabel="step time beyond the RoPE model's (%)")
    axes.grid(alpha=0.3, axis="y")
    axes.legend(fontsize="small")
    _write(figure, path)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPanel:
    """A figure by depth, 0 to 1: mean over seeds and their standard deviation, if there is one; and the paper's."""

    label: str
    points: Mapping[float, tuple[float, float | None]]
    published: Mapping[float, float]


def plot_layer_sweep(panels: Sequence[SweepPanel], path: Path) -> None:
    """Draw figures against the share of layers that take no tags, one panel a figure, as a PNG."""
    figure = _new_figure()
    figure.set_size_inches(5 * len(panels), 4)
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        means = [mean for mean, _ in panel.points.values()]
        bars = [deviation or 0.0 for _, deviation in panel.points.values()]
        axes.errorbar(list(panel.points), means, bars, marker="o", markersize=4, capsize=2, label="here")
        axes.plot(list(panel.published), list(panel.published.values()), ":", marker=".", color="k", label="paper")
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set(xlabel="share of layers without tags, the first ones", ylabel=panel.label)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    _write(figure, path)


def plot_by_kind(table: Mapping[str, Mapping[str, Mapping[str, float]]], path: Path) -> None:
    """Draw mean loss by kind before and after training, a pair of bars a kind for each model, as a PNG.

    `table` is model -> kind -> {"before", "after"}, in nats per token.
    """
    figure = _new_figure()
    axes = figure.add_subplot()
    rows = [
        (f"{kind}\n{model}" if len(table) > 1 else kind, row)
        for model, kinds in table.items()
        for kind, row in kinds.items()
    ]
    for offset, when in ((-0.2, "before"), (0.2, "after")):
        axes.bar([n + offset for n in range(len(rows))], [row[when] for _, row in rows], width=0.4, label=when)
    axes.set_xticks(range(len(rows)), [name for name, _ in rows])
    axes.set(ylabel="loss (nats per token)")
    axes.grid(alpha=0.3, axis="y")
    axes.legend()
    _write(figure, path)


def _new_figure() -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(7, 4.5), layout="constrained")


def _write(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=120, metadata={"Software": None})
