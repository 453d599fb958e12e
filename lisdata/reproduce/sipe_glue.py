"""SiPE Tables 4 to 6: the backbones of sipe-table-3 fine-tuned on tasks of GLUE, with and without hexatags.

Controls that the paper lacks: models with tags fine-tuned without any, or with those of each text in a random order.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lisdata.checkpoints import latest
from lisdata.encoding import load_tokenizer
from lisdata.errors import LisDataError
from lisdata.evaluation.tag_cache import TagCache
from lisdata.finetuning.finetune_settings import FinetuneSettings, paper_settings
from lisdata.finetuning.finetuning import FinetuneRun, TaskData, finetune, load_task
from lisdata.finetuning.glue_tasks import MACRO_TASKS, find_task
from lisdata.reproduce.preparation import OnStep, telling
from lisdata.reproduce.runner import Experiment, JsonDict, RunRequest
from lisdata.reproduce.sipe_backbones import VARIANTS as BACKBONE_VARIANTS
from lisdata.reproduce.sipe_corpus import SipeFolders
from lisdata.reproduce.sipe_glue_report import write_table
from lisdata.reproduce.sipe_pretraining import FIRST, stage_folder
from lisdata.runs import OnProgress
from lisdata.shards.manifest import file_entry
from lisdata.torch_threads import one_thread

PRETRAINED = "sipe_table_3"


@dataclass(frozen=True, slots=True, kw_only=True)
class GlueScale:
    """Which tasks, and how a model is fine-tuned: as in SiPE's Table 11, but for what is not None here.

    `pretrained` is the folder of a sipe-table-3 with the models, by default the one of that name beside this one's.
    A task is learned from at most `max_train` examples, evenly spread.
    """

    tasks: tuple[str, ...]
    pretrained: str | None = None
    parser: str = "tagger"
    learning_rate: float | None = None
    weight_decay: float | None = None
    num_epochs: int | None = None
    batch_size: int | None = None
    max_train: int | None = None
    max_length: int = 128
    checkpoint_every: int = 200

    def __post_init__(self) -> None:
        for task in self.tasks:
            find_task(task)
        if not self.tasks:
            raise ValueError("expected tasks, got none")

    def settings(self, model: str, task: str) -> FinetuneSettings:
        """Return how a model of the registry is fine-tuned on a task."""
        names = ("learning_rate", "weight_decay", "num_epochs", "batch_size", "max_length")
        changes: dict[str, Any] = {name: value for name in names if (value := getattr(self, name)) is not None}
        return replace(paper_settings(model, task), **changes)

    def find_pretrained(self, directory: Path) -> Path:
        """Return the folder of the pretrained models."""
        return directory.parent / PRETRAINED if self.pretrained is None else Path(self.pretrained)


SCALES: dict[str, GlueScale] = {
    "reduced": GlueScale(
        tasks=("cola", "rte", "sst2"), learning_rate=3e-4, weight_decay=0.1, num_epochs=5, max_train=8000
    ),
    "paper": GlueScale(tasks=MACRO_TASKS),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GlueVariant:
    """A variant of sipe-table-3 by name, and the tags that it is fine-tuned and measured with."""

    pretrained: str
    regime: str

    @property
    def model(self) -> str:
        """The model's name in the registry."""
        return BACKBONE_VARIANTS[self.pretrained].model


def _variants() -> Iterator[tuple[str, GlueVariant]]:
    for name, variant in BACKBONE_VARIANTS.items():
        if not variant.is_late:
            regime = "none" if variant.injection == "none" else variant.regime
            yield name, GlueVariant(pretrained=name, regime=regime)
    for name in ("roberta-input", "transformer-xl-position"):
        for label, regime in (("untagged", "none"), ("scrambled", "shuffled")):
            yield f"{name}-{label}", GlueVariant(pretrained=name, regime=regime)


VARIANTS: dict[str, GlueVariant] = dict(_variants())
"""A model is fine-tuned with the tags it learned with; at the end the controls, which are given other ones."""


def prepare(data: Path | None, directory: Path, scale: GlueScale, on_step: OnStep) -> JsonDict:
    """Tag the texts of all tasks, unless that is done, and say what they and the models' tokenizer are."""
    assert data is not None  # the experiment's entry says that it needs a folder
    pretrained = SipeFolders(root=scale.find_pretrained(directory))
    if not pretrained.tokenizer.exists():
        raise LisDataError(
            f"{pretrained.root}: expected the models of sipe-table-3, found none: reproduce it first, or say where it "
            "is with --set pretrained=FOLDER"
        )
    with one_thread():
        facts = {name: _load(data, directory, scale, name, on_step(f"tag {name}")).facts for name in scale.tasks}
    return {"tasks": facts, "tokenizer": file_entry(pretrained.tokenizer)["sha256"]}


def run(request: RunRequest) -> JsonDict:
    """Fine-tune a pretrained model of the same seed on each task, or go on, and return the scores."""
    assert request.data is not None
    variant, scale = VARIANTS[request.variant], request.scale
    pretrained = f"{variant.pretrained}-seed-{request.seed}"
    folder = stage_folder(scale.find_pretrained(request.directory), pretrained, FIRST)
    checkpoint = latest(folder / "checkpoints")
    if checkpoint is None:
        raise LisDataError(f"{folder}: expected the model that sipe-table-3 trains, found none")
    tokenizer = load_tokenizer(SipeFolders(root=scale.find_pretrained(request.directory)).tokenizer)
    began, tasks = time.perf_counter(), {}
    training = request.directory / "models" / request.name
    with one_thread():
        for number, name in enumerate(scale.tasks):
            run_of = FinetuneRun(
                model=checkpoint,
                settings=scale.settings(variant.model, name),
                regime=variant.regime,
                seed=request.seed,
                directory=training / name,
                checkpoint_every=scale.checkpoint_every,
                num_threads=1,
                on_step=_shown(request, number, len(scale.tasks)),
            )
            tasks[name] = finetune(run_of, _load(request.data, request.directory, scale, name), tokenizer)
    shutil.rmtree(training)
    seconds = time.perf_counter() - began
    return {"pretrained": pretrained, "regime": variant.regime, "tasks": tasks, "seconds": seconds}


def _load(data: Path, directory: Path, scale: GlueScale, task: str, on_progress: OnProgress | None = None) -> TaskData:
    tokenizer = load_tokenizer(SipeFolders(root=scale.find_pretrained(directory)).tokenizer)
    cache = TagCache(scale.parser, directory / "tags.jsonl")
    tag = cache if on_progress is None else telling(cache, on_progress)
    length = scale.max_length
    return load_task(find_task(task), data, tokenizer, tag, max_length=length, max_train=scale.max_train)


def _shown(request: RunRequest, number: int, num_tasks: int) -> Any:
    """Return what shows the steps of task `number` (from 0) as a share of all tasks, in thousandths."""
    on_step = request.on_step
    if on_step is None:
        return None
    return lambda step, num_steps, loss: on_step(round(1000 * (number + step / num_steps) / num_tasks), 1000, loss)


EXPERIMENT = Experiment(
    name="sipe-glue",
    variants=tuple(VARIANTS),
    scales=SCALES,
    prepare=prepare,
    run=run,
    report=write_table,
)
