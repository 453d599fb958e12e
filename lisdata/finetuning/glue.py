"""GLUE from files to report: a trained model, a tokenizer and maybe a parser in, table, JSON and plot out.

DIR/
  runs/TASK-seed-N.json   the figures of a finished run
  models/TASK-seed-N/     the training of a run that is not finished yet
  glue.txt glue.json glue.png

A run whose JSON file is there is not done again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lisdata.atomic import write_atomically
from lisdata.encoding import Tokenizer, load_tokenizer
from lisdata.errors import PlanError, SchemaError
from lisdata.evaluation.causal_scorer import SCORING_REGIMES, TAGLESS
from lisdata.evaluation.own_tokenizer import check_own_tokenizer
from lisdata.evaluation.tag_cache import TagCache
from lisdata.finetuning.finetune_settings import FinetuneSettings, paper_settings
from lisdata.finetuning.finetuning import FinetuneRun, JsonDict, TaskData, finetune, load_task
from lisdata.finetuning.glue_report import write_glue_report
from lisdata.finetuning.glue_tasks import find_task
from lisdata.locks import hold_lock
from lisdata.settings import build_settings
from lisdata.training.report import describe_versions
from lisdata.training.starting import find_trained, hash_weights, start_model

RUN_FORMAT = "lisdata GLUE run 1"
OnProgress = Callable[[float, float, str], None]
"""Called with the runs done, of which the last may be a fraction, the runs in all, and a remark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlueRequest:
    """What to fine-tune: `model` is a checkpoint, a folder of them, or an encoder as Hugging Face saves it.

    `data` has a folder a task under GLUE's name, or is that of the one task. Seeds are 0 to `num_seeds` - 1; they draw
    the new output, the order of the examples and dropout. `parser` tags each text, `regime` says which of the tags the
    model sees; without a parser it sees none. `changes` are settings in place of the paper's (see
    `FinetuneSettings`). With `keep_models` the weights of finished runs stay.
    """

    model: Path
    tokenizer: Path
    data: Path
    directory: Path
    tasks: Sequence[str]
    num_seeds: int = 3
    parser: str | None = None
    tag_cache: Path | None = None
    regime: str = "full"
    changes: JsonDict = field(default_factory=dict)
    max_train: int | None = None
    num_threads: int | None = None
    keep_models: bool = False

    def __post_init__(self) -> None:
        if not self.tasks or len(set(self.tasks)) < len(self.tasks):
            raise ValueError(f"expected tasks, each once, got {', '.join(self.tasks) or 'none'}")
        for name in self.tasks:
            find_task(name)
        if self.num_seeds < 1 or (self.max_train is not None and self.max_train < 1):
            raise ValueError(f"expected positive numbers, got {self.num_seeds=}, {self.max_train=}")
        if self.regime not in SCORING_REGIMES:
            raise ValueError(f"regime={self.regime!r} is none of {', '.join(SCORING_REGIMES)}")

    def load_tags(self) -> TagCache | None:
        """Return what tags texts, if there is a parser and the model sees tags."""
        if self.parser is None or self.regime in TAGLESS:
            return None
        return TagCache(self.parser, self.tag_cache or self.directory / "tags.jsonl")

    def settings(self, task: str) -> FinetuneSettings:
        """Return the paper's settings of the model on a task, with the changes."""
        found = paper_settings(find_trained(self.model).name, task)
        return build_settings(FinetuneSettings, asdict(found) | self.changes, "fine-tuning")


def run_glue(request: GlueRequest, *, on_progress: OnProgress | None = None) -> str:
    """Fine-tune the model on each task under each seed, as far as that is not done; write the report, return its table.

    A run that was stopped goes on exactly where it was. Raises PlanError where the folder has runs of something else,
    SchemaError for files that are not GLUE's, KeyboardInterrupt when a signal ended a training, whose state is saved.
    """
    tokenizer, tag = load_tokenizer(request.tokenizer), request.load_tags()
    check_own_tokenizer(request.model, tokenizer, request.tokenizer)
    settings = {name: request.settings(name) for name in request.tasks}
    runs: list[JsonDict] = []
    num_runs = len(request.tasks) * request.num_seeds
    facts = {"model": _describe_trained(request), "parser": None if tag is None else tag.pinned}
    with hold_lock(request.directory / "runs", "another fine-tuning"):
        for name in request.tasks:
            data = load_task(
                find_task(name),
                request.data,
                tokenizer,
                tag,
                max_length=settings[name].max_length,
                max_train=request.max_train,
            )
            for seed in range(request.num_seeds):
                show = None if on_progress is None else _show(on_progress, f"{name}-seed-{seed}", len(runs), num_runs)
                run = FinetuneRun(
                    model=request.model,
                    settings=settings[name],
                    regime=request.regime if tag is not None else "none",
                    seed=seed,
                    directory=request.directory / "models" / f"{name}-seed-{seed}",
                    num_threads=request.num_threads,
                    on_step=show,
                )
                runs.append(_run_once(request, run, data, tokenizer, facts))
        if on_progress is not None:
            on_progress(num_runs, num_runs, "done")
        return write_glue_report(runs, request.directory)


def _describe_trained(request: GlueRequest) -> JsonDict:
    found = find_trained(request.model)
    weights = hash_weights(start_model(request.model))
    return {"name": found.name, "checkpoint": found.path.name, "weights_sha256": weights}


def _run_once(
    request: GlueRequest, run: FinetuneRun, data: TaskData, tokenizer: Tokenizer, facts: JsonDict
) -> JsonDict:
    """Return the record of a run, doing it unless it is done."""
    path = request.directory / "runs" / f"{run.directory.name}.json"
    asked = {"settings": asdict(run.settings), "regime": run.regime, "data": data.facts, **facts}
    if path.exists():
        return _read_run(path, asked)
    figures = finetune(run, data, tokenizer)
    record = {"format": RUN_FORMAT, **figures, **asked, "versions": describe_versions()}
    write_atomically(path, (json.dumps(record, indent=1, allow_nan=False) + "\n").encode())
    if not request.keep_models:
        shutil.rmtree(run.directory)
    return record


def _read_run(path: Path, asked: JsonDict) -> JsonDict:
    """Return the record of a finished run; PlanError where it is of something else than what is asked."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SchemaError(f"{path}: expected JSON, found {error}") from error
    if not isinstance(record, dict) or record.get("format") != RUN_FORMAT:
        raise SchemaError(f"{path}: expected the format {RUN_FORMAT!r}, found {str(record)[:80]!r}")
    different = [name for name, value in json.loads(json.dumps(asked)).items() if record.get(name) != value]
    if different:
        name = different[0]
        raise PlanError(f"{path}: the run here has {name} {record.get(name)}, not {asked[name]}; choose another folder")
    found: JsonDict = record
    return found


def _show(on_progress: OnProgress, name: str, num_done: int, num_runs: int) -> Callable[[int, int, float], None]:
    """Return what shows the steps of a run, of which `num_done` are done, as progress over all runs."""
    return lambda step, num_steps, loss: on_progress(
        num_done + step / num_steps, num_runs, f"{name}: step {step} of {num_steps}, loss {loss:.3f}"
    )
