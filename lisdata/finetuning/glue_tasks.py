"""The tasks of GLUE (Wang et al. 2019): what their files look like, what their labels mean, how they are scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean

from lisdata.finetuning.prediction_metrics import (
    Numbers,
    accuracy,
    f1_score,
    matthews_correlation,
    pearson_correlation,
    spearman_correlation,
)

METRICS: dict[str, Callable[[Numbers, Numbers], float]] = {
    "accuracy": accuracy,
    "f1": f1_score,
    "matthews": matthews_correlation,
    "pearson": pearson_correlation,
    "spearman": spearman_correlation,
}
ENTAILMENT = {"entailment": 0, "not_entailment": 1}
BINARY = {"0": 0, "1": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class GlueTask:
    """A task: its name in commands, the folder that GLUE gives it, and what is in its files.

    `texts` are the columns of the one text or the two; each may have several names, as has `label`: files of different
    origin differ. Without a header the columns are numbers. `classes` are the labels as files spell them; a task
    without any predicts a number. The score is the mean of its `metrics`. `dev_splits` are the files measured on, the
    first the one that the score is of. Where files have rows that lack columns, as QQP's do, these are left out.
    """

    name: str
    folder: str
    texts: tuple[tuple[str | int, ...], ...]
    label: tuple[str | int, ...]
    classes: Mapping[str, int]
    metrics: tuple[str, ...]
    has_header: bool = True
    has_short_rows: bool = False
    dev_splits: tuple[str, ...] = ("dev",)

    @property
    def num_outputs(self) -> int:
        """The number of classes, or 1 for a number."""
        return len(set(self.classes.values())) or 1

    def measure(self, predicted: Numbers, true: Numbers) -> dict[str, float]:
        """Return each metric and, as `score`, their mean."""
        found = {name: METRICS[name](predicted, true) for name in self.metrics}
        return found | {"score": fmean(found.values())}


TASKS: dict[str, GlueTask] = {
    task.name: task
    for task in (
        GlueTask(
            name="cola",
            folder="CoLA",
            texts=((3,),),
            label=(1,),
            classes=BINARY,
            metrics=("matthews",),
            has_header=False,
        ),
        GlueTask(
            name="sst2", folder="SST-2", texts=(("sentence",),), label=("label",), classes=BINARY, metrics=("accuracy",)
        ),
        GlueTask(
            name="mrpc",
            folder="MRPC",
            texts=(("#1 String", "sentence1"), ("#2 String", "sentence2")),
            label=("Quality", "label"),
            classes=BINARY | {"not_equivalent": 0, "equivalent": 1},
            metrics=("accuracy", "f1"),
        ),
        GlueTask(
            name="stsb",
            folder="STS-B",
            texts=(("sentence1",), ("sentence2",)),
            label=("score",),
            classes={},
            metrics=("pearson", "spearman"),
        ),
        GlueTask(
            name="qqp",
            folder="QQP",
            texts=(("question1",), ("question2",)),
            label=("is_duplicate",),
            classes=BINARY,
            metrics=("accuracy", "f1"),
            has_short_rows=True,
        ),
        GlueTask(
            name="mnli",
            folder="MNLI",
            texts=(("sentence1",), ("sentence2",)),
            label=("gold_label",),
            classes={"entailment": 0, "neutral": 1, "contradiction": 2},
            metrics=("accuracy",),
            dev_splits=("dev_matched", "dev_mismatched"),
        ),
        GlueTask(
            name="qnli",
            folder="QNLI",
            texts=(("question",), ("sentence",)),
            label=("label",),
            classes=ENTAILMENT,
            metrics=("accuracy",),
        ),
        GlueTask(
            name="rte",
            folder="RTE",
            texts=(("sentence1",), ("sentence2",)),
            label=("label",),
            classes=ENTAILMENT,
            metrics=("accuracy",),
        ),
        GlueTask(
            name="wnli",
            folder="WNLI",
            texts=(("sentence1",), ("sentence2",)),
            label=("label",),
            classes=BINARY,
            metrics=("accuracy",),
        ),
    )
}
MACRO_TASKS = tuple(name for name in TASKS if name != "wnli")
"""The eight that papers, SiPE's among them, take the mean of."""


def find_task(name: str) -> GlueTask:
    """Return a task; raise ValueError, listing those there are, for an unknown name."""
    if name not in TASKS:
        raise ValueError(f"there is no task {name!r}: the tasks are {', '.join(TASKS)}")
    return TASKS[name]
