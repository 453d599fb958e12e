"""The table of link prediction: filtered ranks by variant and split, mean and spread over seeds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lisdata.atomic import write_atomically
from lisdata.plots import plot_binding
from lisdata.reproduce.context_growth import Spread, align_columns

JsonDict = dict[str, Any]
FORMAT = "lisdata link prediction table 1"
FIGURES = {"mrr": "MRR", "hits_at_1": "hits@1", "hits_at_3": "hits@3", "hits_at_10": "hits@10"}
GROUPS = {"main": "subject or value of a statement, head or tail of a triple", "others": "all other participants"}


def write_table(runs: list[JsonDict], scale: Any, directory: Path) -> str:
    """Write table.txt, table.json and table.png of the runs to `directory`; return the first."""
    variants = list(dict.fromkeys(run["variant"] for run in runs))
    data = runs[0]["data"]
    facts = ", ".join(f"{data[f'num_{split}_facts']:,} {split}" for split in ("train", "dev", "test"))
    parts = [
        "The participant of a role, among all contents; filtered ranks, ties split; mean ± standard deviation over "
        "seeds.",
        f"Facts: {facts}; {data['num_contents']:,} contents.",
        f"Scale: {', '.join(f'{name} {value}' for name, value in asdict(scale).items())}.",
    ]
    for split in ("test", "dev"):
        for group, what in GROUPS.items():
            lines = _format(runs, variants, split, group)
            if len(lines) > 1:
                parts += ["", f"{split}: {what}", "", *lines]
    text = "\n".join(parts) + "\n"
    rows = [
        {
            "variant": variant,
            "split": split,
            "asked": group,
            "seeds": [run["seed"] for run in runs if run["variant"] == variant],
            "num_ranked": _of(runs, variant)[0]["ranks"][split][group]["num_ranked"],
            **{figure: asdict(_spread(runs, variant, split, group, figure)) for figure in FIGURES},
        }
        for variant in variants
        for split in ("dev", "test")
        for group in GROUPS
    ]
    content = {"format": FORMAT, "scale": asdict(scale), "data": data, "rows": rows}
    write_atomically(directory / "table.txt", text.encode())
    write_atomically(directory / "table.json", (json.dumps(content, indent=1) + "\n").encode())
    bars = {
        variant: {
            f"{title}\n{group}": (spread.mean, spread.deviation)
            for group in GROUPS
            for figure, title in FIGURES.items()
            if _is_ranked(runs, variant, "test", group)
            for spread in [_spread(runs, variant, "test", group, figure)]
        }
        for variant in variants
    }
    plot_binding(bars, directory / "table.png", what="filtered, test facts")
    return text


def _of(runs: Sequence[JsonDict], variant: str) -> list[JsonDict]:
    return [run for run in runs if run["variant"] == variant]


def _is_ranked(runs: Sequence[JsonDict], variant: str, split: str, group: str) -> bool:
    return bool(_of(runs, variant)[0]["ranks"][split][group]["num_ranked"])


def _spread(runs: Sequence[JsonDict], variant: str, split: str, group: str, figure: str) -> Spread:
    return Spread.of([run["ranks"][split][group][figure] for run in _of(runs, variant)])


def _format(runs: Sequence[JsonDict], variants: Sequence[str], split: str, group: str) -> list[str]:
    table = [["variant", "parameters", "seeds", "asked", *FIGURES.values()]]
    for variant in variants:
        if not _is_ranked(runs, variant, split, group):
            continue
        found = _of(runs, variant)
        table.append(
            [
                variant,
                f"{found[0]['num_parameters']:,}",
                str(len(found)),
                f"{found[0]['ranks'][split][group]['num_ranked']:,}",
                *(f"{_spread(runs, variant, split, group, figure):.3f}" for figure in FIGURES),
            ]
        )
    return align_columns(table)
