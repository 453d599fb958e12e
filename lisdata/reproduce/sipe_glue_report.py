"""The table of SiPE's backbones on GLUE by the tags that they are given, the paper's figures beside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from lisdata.atomic import write_atomically
from lisdata.evaluation.benchmark_plot import Bar, plot_scores
from lisdata.finetuning.glue_report import score_of
from lisdata.finetuning.glue_tasks import MACRO_TASKS
from lisdata.reproduce.context_growth import Spread, align_columns, describe_scale
from lisdata.reproduce.runner import JsonDict
from lisdata.reproduce.sipe_backbones import VARIANTS

FORMAT = "lisdata SiPE GLUE table 1"
MACRO = "mean"
# in the order of MACRO_TASKS: CoLA, SST-2, MRPC, STS-B, QQP, MNLI, QNLI, RTE (SiPE Tables 4 and 6)
_BASE: dict[str, tuple[float, ...]] = {
    "roberta": (31.41, 87.23, 80.96, 79.11, 83.24, 73.03, 77.65, 65.76),
    "roberta-input": (31.77, 87.22, 82.02, 81.41, 83.36, 74.05, 78.24, 64.66),
    "deberta": (27.22, 87.31, 80.49, 76.20, 84.02, 71.25, 68.07, 62.94),
    "deberta-input": (26.09, 87.88, 81.11, 76.98, 84.95, 71.85, 68.88, 63.06),
    "deberta-position": (24.97, 87.50, 83.45, 76.33, 84.88, 71.74, 67.94, 64.14),
    "modernbert": (25.00, 85.09, 79.74, 79.67, 83.53, 71.29, 62.51, 62.21),
    "modernbert-input": (24.45, 85.86, 82.82, 81.21, 83.09, 72.24, 61.83, 63.06),
    "modernbert-position": (23.26, 84.25, 81.56, 79.49, 82.45, 71.15, 65.79, 63.90),
    "transformer-xl": (13.80, 84.14, 79.20, 76.90, 83.83, 68.07, 76.00, 63.42),
    "transformer-xl-position": (26.26, 88.80, 82.75, 81.80, 85.64, 75.22, 82.28, 67.51),
}
_LARGE: dict[str, tuple[float, ...]] = {
    "roberta": (30.71, 88.95, 80.92, 81.89, 84.31, 74.72, 80.18, 65.94),
    "roberta-input": (30.36, 87.50, 83.70, 82.34, 85.10, 74.43, 82.68, 64.62),
    "modernbert": (25.06, 84.44, 81.86, 79.03, 82.54, 72.03, 61.99, 63.54),
    "modernbert-input": (24.58, 85.47, 82.00, 80.05, 82.55, 72.36, 62.11, 61.49),
}
"""SiPE Table 5."""
PUBLISHED = {"base": _BASE, "large": _LARGE}


class Row(NamedTuple):
    """The runs of a variant, one a seed."""

    variant: str
    runs: list[JsonDict]

    @property
    def base(self) -> str:
        """The same backbone without tags."""
        return VARIANTS[self.runs[0]["pretrained"].rpartition("-seed-")[0]].backbone

    def scores(self, task: str) -> dict[int, float]:
        """Return the scores, 0 to 1, of a task, or of the mean over all, by seed."""
        if task == MACRO:
            by_task = [self.scores(name) for name in self.runs[0]["tasks"]]
            return {seed: fmean(scores[seed] for scores in by_task) for seed in by_task[0]}
        return {run["seed"]: score_of(run["tasks"][task]) for run in self.runs}


def write_table(runs: list[JsonDict], scale: Any, directory: Path) -> str:
    """Write table.txt, table.json and table.png of the runs to `directory`; return the first."""
    rows = _list_rows(runs)
    columns = [*scale.tasks, MACRO]
    text = "\n".join(
        [
            "GLUE of SiPE's backbones by the tags they learned with and are fine-tuned with (variant): development",
            "scores in % after the last epoch, nothing chosen on them; mean ± standard deviation over seeds, each with",
            "a pretrained model of its own. The paper's mean is that of the same tasks.",
            describe_scale(scale),
            "",
            *_format_scores(rows, columns),
            "",
            "Beyond the same backbone without tags, in points, seed by seed.",
            "",
            *_format_differences(rows, columns),
        ]
    )
    content = {"format": FORMAT, "scale": asdict(scale), "rows": [_row_json(row, rows, columns) for row in rows]}
    write_atomically(directory / "table.txt", f"{text}\n".encode())
    write_atomically(directory / "table.json", (json.dumps(content, indent=1) + "\n").encode())
    spreads = {row.variant: Spread.of(list(row.scores(MACRO).values())) for row in rows}
    bars = [Bar(name, spread.mean, spread.deviation) for name, spread in spreads.items()]
    plot_scores(bars, directory / "table.png", label="GLUE: mean over tasks in %")
    return f"{text}\n"


def published_scores(variant: str, tasks: Sequence[str], *, size: str = "base") -> dict[str, float]:
    """Return the paper's scores of a variant at a size, and their mean where it has all of the tasks."""
    scores = PUBLISHED[size].get(variant)
    found = {} if scores is None else dict(zip(MACRO_TASKS, scores, strict=True))
    chosen = {task: found[task] for task in tasks if task in found}
    return chosen | ({MACRO: fmean(chosen.values())} if chosen and len(chosen) == len(tasks) else {})


def _list_rows(runs: Sequence[JsonDict]) -> list[Row]:
    rows: dict[str, Row] = {}
    for run in runs:
        rows.setdefault(run["variant"], Row(run["variant"], [])).runs.append(run)
    return list(rows.values())


def _format_scores(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    table = [["variant", "tags", "seeds", *columns]]
    for row in rows:
        scores = [[100 * score for score in row.scores(column).values()] for column in columns]
        cells = [f"{Spread.of(found):.2f}" for found in scores]
        table.append([row.variant, row.runs[0]["regime"], str(len(row.runs)), *cells])
        for size in PUBLISHED:
            paper = published_scores(row.variant, columns[:-1], size=size)
            if paper:
                figures = [f"{paper[column]:.2f}" if column in paper else "" for column in columns]
                table.append([f"  paper, {size}", "", "", *figures])
    return align_columns(table)


def _format_differences(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    table = [["variant", "seeds", *columns]]
    for row in rows:
        found = {column: _beyond_base(row, rows, column) for column in columns}
        if found[MACRO]:
            cells = [f"{Spread.of([100 * value for value in found[column]]):+.2f}" for column in columns]
            table.append([row.variant, str(len(found[MACRO])), *cells])
    return align_columns(table)


def _beyond_base(row: Row, rows: Sequence[Row], column: str) -> list[float]:
    """Return the score beyond that of the base, for the seeds that both were run under."""
    base = next((other for other in rows if other.variant == row.base), None)
    if base is None or base is row:
        return []
    own, others = row.scores(column), base.scores(column)
    return [own[seed] - others[seed] for seed in sorted(own.keys() & others.keys())]


def _row_json(row: Row, rows: Sequence[Row], columns: Sequence[str]) -> JsonDict:
    return {
        "variant": row.variant,
        "regime": row.runs[0]["regime"],
        "seeds": [run["seed"] for run in row.runs],
        "scores": {column: list(row.scores(column).values()) for column in columns},
        "beyond_base": {column: _beyond_base(row, rows, column) for column in columns},
        "paper": {size: published_scores(row.variant, columns[:-1], size=size) for size in PUBLISHED},
    }
