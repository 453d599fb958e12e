"""One model fine-tuned on one task of GLUE under one seed, and measured after each epoch."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from lisdata.encoding import Tokenizer
from lisdata.evaluation.mode import evaluating
from lisdata.evaluation.sentence_rows import check_model, iter_batches, pad_rows
from lisdata.evaluation.sentence_scores import Int64, TagTexts
from lisdata.finetuning.example_batches import LABEL, ExampleBatches
from lisdata.finetuning.finetune_settings import FinetuneSettings
from lisdata.finetuning.glue_files import Examples, find_task_folder, read_split
from lisdata.finetuning.glue_tasks import GlueTask
from lisdata.finetuning.prediction_metrics import Numbers
from lisdata.finetuning.text_rows import make_text_rows
from lisdata.models import describe_model, find_model
from lisdata.models.sequence_classifier import SequenceClassifier
from lisdata.training import Batch, train
from lisdata.training.loss import model_columns, move_batch
from lisdata.training.starting import hash_weights, start_model
from lisdata.training.tag_regimes import apply_tag_regime

JsonDict = dict[str, Any]
TRAIN = "train"
_BATCH_TOKENS = 4096


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskData:
    """A task's rows (3, T) of ids and tags and their labels, by split; `facts` tell where they come from."""

    task: GlueTask
    rows: Mapping[str, Sequence[Int64]]
    labels: Mapping[str, Numbers]
    facts: JsonDict


@dataclass(frozen=True, slots=True, kw_only=True)
class FinetuneRun:
    """What one run is: `model` is a checkpoint, or a folder of Hugging Face's, `directory` that of its training."""

    model: Path
    settings: FinetuneSettings
    regime: str
    seed: int
    directory: Path
    checkpoint_every: int | None = 500
    num_threads: int | None = None
    on_step: Callable[[int, int, float], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelObjective:
    """The mean cross-entropy of classes, or the mean squared error of numbers."""

    is_number: bool

    def __call__(self, model: nn.Module, batch: Batch) -> Tensor:
        """Return the loss of a model with an output for each class, or with one for the number."""
        outputs = model(**model_columns(model, batch)).float()
        if self.is_number:
            return mse_loss(outputs[:, 0], batch[LABEL])
        return cross_entropy(outputs, batch[LABEL])


def load_task(
    task: GlueTask,
    data: Path,
    tokenizer: Tokenizer,
    tag: TagTexts | None,
    *,
    max_length: int,
    max_train: int | None = None,
) -> TaskData:
    """Return the rows of a task whose files are below `data`; of those to train on `max_train`, evenly spread, or all.

    Raises SchemaError for files that are not the task's.
    """
    folder = find_task_folder(data, task)
    splits = {split: read_split(task, folder, split) for split in (TRAIN, *task.dev_splits)}
    splits[TRAIN] = _spread(splits[TRAIN], max_train)
    made = {
        split: make_text_rows(found.texts, tokenizer, tag, max_length=max_length) for split, found in splits.items()
    }
    facts = {
        split: {
            "examples": len(found),
            "left_out": found.num_left_out,
            "sha256": found.sha256(),
            **made[split].counts,
        }
        for split, found in splits.items()
    }
    rows = {split: found.rows for split, found in made.items()}
    return TaskData(task=task, rows=rows, labels={n: found.labels for n, found in splits.items()}, facts=facts)


def finetune(run: FinetuneRun, data: TaskData, tokenizer: Tokenizer) -> JsonDict:
    """Fine-tune a model, or go on with it, and return the figures of its last state and of all epochs, for JSON.

    `scores` has the metrics of each split that is measured on. Raises KeyboardInterrupt when a signal ended the
    training, whose state is saved; LisDataError for a model of fewer tokens than the tokenizer has.
    """
    task, settings = data.task, run.settings
    batches = ExampleBatches(
        data.rows[TRAIN],
        data.labels[TRAIN],
        batch_size=settings.batch_size,
        regime=run.regime,
        seed=run.seed,
        dataset=task.name,
    )
    config = settings.train_config(
        batches.batches_an_epoch, seed=run.seed, checkpoint_every=run.checkpoint_every, num_threads=run.num_threads
    )
    classifier, facts = build_classifier(run, task, tokenizer)
    on_step = run.on_step
    result = train(
        classifier,
        batches,
        config,
        directory=run.directory,
        objective=LabelObjective(is_number=not task.classes),
        facts=facts,
        evaluate=lambda model: {"scores": measure(model, data, run)},
        on_progress=None if on_step is None else lambda p: on_step(p.step, p.num_steps, p.loss),
    )
    if not result.is_finished:
        raise KeyboardInterrupt
    report = json.loads(result.report.read_text(encoding="utf-8"))
    return {
        "task": task.name,
        "seed": run.seed,
        "settings": asdict(settings),
        "num_parameters": report["num_parameters"],
        "steps": report["num_steps_done"],
        "seconds": report["seconds"],
        "scores": report["evaluations"][-1]["scores"],
        "epochs": [found["scores"] for found in report["evaluations"]],
        "data": data.facts,
        "facts": facts,
    }


def build_classifier(run: FinetuneRun, task: GlueTask, tokenizer: Tokenizer) -> tuple[SequenceClassifier, JsonDict]:
    """Return the model with an output for the task, drawn under the run's seed, and what it began with."""
    model = start_model(run.model, seed=run.seed, dropout=run.settings.dropout)
    check_model(model, tokenizer)
    pooling = "first" if find_model(describe_model(model)["name"]).is_masked else "last"
    with torch.random.fork_rng():
        torch.manual_seed(run.seed)
        classifier = SequenceClassifier(model, task.num_outputs, pooling=pooling, dropout=run.settings.dropout)
    facts = {"from": {**describe_model(model), "weights_sha256": hash_weights(model)}, "pooling": pooling}
    return classifier, facts


def measure(model: nn.Module, data: TaskData, run: FinetuneRun) -> dict[str, dict[str, float]]:
    """Return the metrics of a model on each split of a task that is measured on."""
    found = {}
    for split in data.task.dev_splits:
        outputs = predict(model, data.rows[split], regime=run.regime, seed=run.seed)
        predicted = outputs.argmax(1) if data.task.classes else outputs[:, 0]
        found[split] = data.task.measure(predicted, data.labels[split])
    return found


def predict(model: nn.Module, rows: Sequence[Int64], *, regime: str, seed: int) -> Numbers:
    """Return what a classifier says of rows (3, T) under a tag regime, (N, C) float64."""
    outputs: list[Numbers | None] = [None] * len(rows)
    with evaluating(model) as device:
        for places in iter_batches([row.shape[1] for row in rows], _BATCH_TOKENS):
            batch = move_batch(apply_tag_regime(pad_rows([rows[n] for n in places]), regime, seed=seed), device)
            for place, output in zip(places, model(**model_columns(model, batch)).double().cpu().numpy(), strict=True):
                outputs[place] = output
    return np.stack([output for output in outputs if output is not None])


def _spread(examples: Examples, number: int | None) -> Examples:
    """Return `number` of the examples, evenly spread; all where there are not more."""
    if number is None or number >= len(examples):
        return examples
    chosen = np.linspace(0, len(examples) - 1, number).round().astype(np.int64)
    texts = tuple(examples.texts[n] for n in chosen.tolist())
    return Examples(texts=texts, labels=examples.labels[chosen], num_left_out=examples.num_left_out)
