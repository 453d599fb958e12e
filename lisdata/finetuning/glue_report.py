"""The report of a model fine-tuned on tasks of GLUE under several seeds: a table, JSON and a plot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from lisdata.atomic import write_atomically
from lisdata.evaluation.benchmark_plot import Bar, plot_scores
from lisdata.evaluation.benchmark_report import align_table, mean_and_deviation, percent
from lisdata.finetuning.glue_tasks import MACRO_TASKS, TASKS

FORMAT = "lisdata GLUE report 1"
JsonDict = dict[str, Any]
SCORE = "score"


def write_glue_report(runs: Sequence[JsonDict], directory: Path) -> str:
    """Write glue.txt, glue.json and glue.png of runs, of each task under the same seeds; return the table."""
    by_task: dict[str, list[JsonDict]] = {}
    for run in runs:
        by_task.setdefault(run["task"], []).append(run)
    scores = {name: [score_of(run) for run in found] for name, found in by_task.items()}
    means = macro_scores(scores)
    text = "\n".join([*_head(runs), *align_table(_rows(by_task, scores, means)), *_cuts(by_task)]) + "\n"
    content = {
        "format": FORMAT,
        "scores": {name: _spread(values) for name, values in scores.items()},
        "mean": _spread(means) | {"tasks": counted_tasks(scores)},
        "metrics": {name: _metrics(found) for name, found in by_task.items()},
        "runs": list(runs),
    }
    write_atomically(directory / "glue.txt", text.encode())
    write_atomically(directory / "glue.json", (json.dumps(content, indent=1) + "\n").encode())
    bars = [Bar(_mean_name(scores), *mean_and_deviation(means))] if means else []
    bars += [Bar(name, *mean_and_deviation(values)) for name, values in scores.items()]
    plot_scores(bars, directory / "glue.png", label="GLUE: score in %")
    return text


def score_of(run: JsonDict) -> float:
    """Return the score of a run: that of its last state, on the first of its task's splits."""
    return float(run["scores"][TASKS[run["task"]].dev_splits[0]][SCORE])


def counted_tasks(scores: dict[str, list[float]]) -> list[str]:
    """Return the tasks that count in the mean: all that there are but WNLI."""
    return [name for name in scores if name in MACRO_TASKS]


def macro_scores(scores: dict[str, list[float]]) -> list[float]:
    """Return the plain mean over the tasks that count, one a seed; nothing where none does."""
    counted = [scores[name] for name in counted_tasks(scores)]
    return [fmean(values) for values in zip(*counted, strict=True)]


def _head(runs: Sequence[JsonDict]) -> list[str]:
    parser = "none" if runs[0]["parser"] is None else f"{runs[0]['regime']}, by {runs[0]['parser']}"
    return [
        "GLUE: development scores in %, after the last epoch, nothing chosen on them; mean and standard deviation over",
        "seeds. In the last column the best epoch of each run, which is chosen on what it is measured on.",
        f"model: {runs[0]['model']['name']}, {runs[0]['model']['checkpoint']}; tags: {parser}",
    ]


def _rows(by_task: dict[str, list[JsonDict]], scores: dict[str, list[float]], means: list[float]) -> list[list[str]]:
    num_seeds = len(next(iter(scores.values())))
    rows = [["", "examples", "mean", "sd", *(f"#{n}" for n in range(num_seeds)), "best epoch"]]
    if means:
        rows.append([_mean_name(scores), "", *_shown(means), ""])
    for name, found in by_task.items():
        metrics = " and ".join(TASKS[name].metrics)
        best = fmean(max(_epoch_scores(run)) for run in found)
        examples = f"{found[0]['data']['train']['examples']:,}"
        rows.append([f"{name} ({metrics})", examples, *_shown(scores[name]), percent(best)])
        for part, values in _metrics(found).items():
            rows.append([f"  {part}", "", *_shown(values), ""])
    return rows


def _cuts(by_task: dict[str, list[JsonDict]]) -> Iterator[str]:
    """Yield a line for each task with rows that lost tokens, which are those of all its runs."""
    for name, found in by_task.items():
        run = found[0]
        cut = [
            f"{split['rows_cut']:,} of {split['examples']:,} rows of {split_name}"
            for split_name, split in run["data"].items()
            if split.get("rows_cut")
        ]
        if cut:
            yield f"{name}: cut to {run['settings']['max_length']} tokens: {', '.join(cut)}"


def _mean_name(scores: dict[str, list[float]]) -> str:
    return f"mean over tasks ({len(counted_tasks(scores))} of {len(MACRO_TASKS)})"


def _metrics(runs: Sequence[JsonDict]) -> dict[str, list[float]]:
    """Return what a score is made of, and the scores of further splits, by name, one a seed."""
    task = TASKS[runs[0]["task"]]
    first, *others = task.dev_splits
    parts = [(first, metric, metric) for metric in task.metrics if len(task.metrics) > 1]
    parts += [(split, SCORE, split) for split in others]
    return {name: [run["scores"][split][key] for run in runs] for split, key, name in parts}


def _epoch_scores(run: JsonDict) -> list[float]:
    split = TASKS[run["task"]].dev_splits[0]
    return [epoch[split][SCORE] for epoch in run["epochs"]]


def _spread(values: Sequence[float]) -> JsonDict:
    if not values:
        return {"seeds": []}
    mean, deviation = mean_and_deviation(values)
    return {"mean": mean, "deviation": deviation, "seeds": list(values)}


def _shown(values: Sequence[float]) -> list[str]:
    return [*map(percent, mean_and_deviation(values)), *map(percent, values)]
