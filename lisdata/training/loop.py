"""The training loop: AdamW on a loss of batches, with checkpoints from which a run goes on exactly."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn

from lisdata.checkpoints import (
    Checkpoint,
    check_facts,
    latest,
    newest_whole,
    prune_checkpoints,
    write_checkpoint,
)
from lisdata.errors import LisDataError
from lisdata.locks import hold_lock
from lisdata.models import describe_model
from lisdata.paths import StrPath
from lisdata.training.batches import Batch, BatchSource
from lisdata.training.config import TrainConfig
from lisdata.training.loss import move_batch, next_token_loss
from lisdata.training.report import LossCurve, write_report

NUM_KEPT_CHECKPOINTS = 2
BEST = "best"

Objective = Callable[[nn.Module, Batch], Tensor]
"""The loss of a model on a batch, a scalar."""
Evaluate = Callable[[nn.Module], dict[str, Any]]
"""Measures a model, which it may put into evaluation mode, and returns results ready for JSON."""


class DivergedError(LisDataError):
    """The loss is no longer a finite number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run is after a step; `step` counts from 1."""

    step: int
    num_steps: int
    loss: float
    learning_rate: float
    tokens_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainResult:
    """How a run ended; `is_finished` is false when it was interrupted and waits to be resumed.

    `best` is the checkpoint of the best evaluation, where a figure says which that is.
    """

    step: int
    is_finished: bool
    checkpoint: Path
    report: Path
    best: Path | None = None


def train(
    model: nn.Module,
    batches: BatchSource,
    config: TrainConfig,
    *,
    directory: StrPath,
    objective: Objective = next_token_loss,
    facts: dict[str, Any] | None = None,
    evaluate: Evaluate | None = None,
    keep_best: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> TrainResult:
    """Train `model` on the device where it is, or go on where an earlier call with this `directory` stopped.

    A resumed run has the weights, bit for bit, of one that was never stopped (on one device and, on a GPU, as far as
    torch's kernels are deterministic). Checkpoints go to directory/checkpoints, results to report.json and loss.png.
    `objective` gives the loss of a batch; the settings of one that is a dataclass, such as `SipeObjective`, and `facts`
    (such as the hash of the `labels`) are further conditions under which alone the run resumes. `evaluate` is called
    every `evaluate_every` steps and after the last; where `keep_best` names a figure of its results, the weights under
    which that was least (for the first time) are kept as a checkpoint in directory/best. The first SIGINT or SIGTERM
    ends the run after its step, with a checkpoint; the second acts as usual. Where the newest checkpoint is damaged,
    the run goes on from an older one, and a warning of the logger "lisdata" says so.

    Raises CheckpointError when the directory holds another run or damaged checkpoints only, PlanError when another
    process trains there, DivergedError when the loss is not finite.
    """
    device = next(model.parameters()).device
    all_facts = {
        "model": describe_model(model),
        "training": config.trajectory(),
        "batches": batches.description(),
        **({"objective": asdict(objective)} if is_dataclass(objective) else {}),
        **(facts or {}),
    }
    run, directory = _Run(model, batches, config, objective, device, all_facts, keep_best), Path(directory)
    devices = [device] if device.type == "cuda" else []
    with (
        hold_lock(directory, "another training"),
        torch.random.fork_rng(devices),
        _threads(config.num_threads),
        _interruption() as interrupted,
    ):
        torch.manual_seed(config.seed)
        return _go_on(run, directory, evaluate, on_progress, interrupted)


def _go_on(
    run: "_Run",
    directory: Path,
    evaluate: Evaluate | None,
    on_progress: Callable[[Progress], None] | None,
    interrupted: threading.Event,
) -> TrainResult:
    """Bring `run` from its newest checkpoint, if there is one, to its end or an interruption; write its report."""
    checkpoints, config = directory / "checkpoints", run.config
    found = newest_whole(checkpoints)
    path = None
    if found is not None:
        path, checkpoint = found
        check_facts(checkpoint.facts, run.facts, path)
        run.restore(checkpoint)
    while run.step < config.num_steps and not interrupted.is_set():
        progress = run.take_step()
        is_last = run.step == config.num_steps
        if evaluate is not None and (is_last or _is_due(run.step, config.evaluate_every)):
            run.evaluate(evaluate, directory / BEST)
        if is_last or _is_due(run.step, config.checkpoint_every):
            path = run.save(checkpoints)
        if on_progress is not None:
            on_progress(progress)
    if path is None or run.saved_step != run.step:
        path = run.save(checkpoints)
    return TrainResult(
        step=run.step,
        is_finished=run.step == config.num_steps,
        checkpoint=path,
        report=write_report(run.to_report(), run.curve, directory),
        best=latest(directory / BEST),
    )


class _Run:
    """What changes while a run goes on, and its passage to and from a checkpoint."""

    def __init__(
        self,
        model: nn.Module,
        batches: BatchSource,
        config: TrainConfig,
        objective: Objective,
        device: torch.device,
        facts: dict[str, Any],
        keep_best: str | None,
    ) -> None:
        self.objective = objective
        self.model = model
        self.batches = batches
        self.config = config
        self.device = device
        self.facts = facts
        self.keep_best = keep_best
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.optimizer = torch.optim.AdamW(
            self.parameters.values(),
            lr=config.learning_rate,
            eps=config.epsilon,
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.step = 0
        self.saved_step: int | None = None
        self.seconds = 0.0
        self.curve = LossCurve.for_run(config.num_steps)
        self.evaluations: list[dict[str, Any]] = []

    def take_step(self) -> Progress:
        began = time.perf_counter()
        learning_rate = self.config.learning_rate_at(self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        batch = move_batch(self.batches.next_batch(), self.device)
        self.model.train()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bf16"):
            loss = self.objective(self.model, batch)
        value = loss.item()
        if not math.isfinite(value):
            raise DivergedError(f"step {self.step + 1}: expected a finite loss, found {value}")
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters.values(), self.config.clip_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        self.curve.add(self.step, value)
        seconds = time.perf_counter() - began
        self.seconds += seconds
        return Progress(
            step=self.step,
            num_steps=self.config.num_steps,
            loss=value,
            learning_rate=learning_rate,
            tokens_per_second=batch["input_ids"].numel() / seconds,
        )

    def evaluate(self, evaluate: Evaluate, directory: Path) -> None:
        """Add an evaluation; keep the weights in `directory` where it is the best so far."""
        self.evaluations.append({"step": self.step, **evaluate(self.model)})
        name = self.keep_best
        if name is None or any(found[name] <= self.evaluations[-1][name] for found in self.evaluations[:-1]):
            return
        write_checkpoint(self.to_checkpoint(), directory)
        prune_checkpoints(directory, keep=1)

    def save(self, directory: Path) -> Path:
        path = write_checkpoint(self.to_checkpoint(), directory)
        prune_checkpoints(directory, keep=NUM_KEPT_CHECKPOINTS)
        self.saved_step = self.step
        return path

    def to_checkpoint(self) -> Checkpoint:
        moments = self.optimizer.state_dict()["state"]
        random = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            random["cuda"] = torch.cuda.get_rng_state(self.device)
        return Checkpoint(
            step=self.step,
            facts=self.facts,
            state={
                "batches": self.batches.state_dict(),
                "curve": asdict(self.curve),
                "evaluations": self.evaluations,
                "seconds": self.seconds,
            },
            tensors={
                "model": self.model.state_dict(),
                "optimizer": {
                    f"{parameter}/{key}": value
                    for index, parameter in enumerate(self.parameters)
                    for key, value in moments.get(index, {}).items()  # none of what the loss does not reach
                },
                "random": random,
            },
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        self.model.load_state_dict(checkpoint.tensors["model"])
        index = {parameter: i for i, parameter in enumerate(self.parameters)}
        moments: dict[int, dict[str, Tensor]] = {i: {} for i in index.values()}
        for name, value in checkpoint.tensors["optimizer"].items():
            parameter, _, key = name.rpartition("/")
            moments[index[parameter]][key] = value
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})
        self.batches.load_state_dict(checkpoint.state["batches"])
        self.curve = LossCurve(**checkpoint.state["curve"])
        self.evaluations = checkpoint.state["evaluations"]
        self.seconds = checkpoint.state["seconds"]
        self.step = self.saved_step = checkpoint.step
        torch.set_rng_state(checkpoint.tensors["random"]["cpu"])
        random = checkpoint.tensors["random"]
        if self.device.type == "cuda" and "cuda" in random:  # which it is not where the run began on a CPU
            torch.cuda.set_rng_state(random["cuda"], self.device)

    def to_report(self) -> dict[str, Any]:
        return {
            "num_parameters": sum(p.numel() for p in self.model.parameters()),
            "training": asdict(self.config),
            "facts": self.facts,
            "device": str(self.device),
            "num_steps_done": self.step,
            "is_finished": self.step == self.config.num_steps,
            "seconds": self.seconds,
            "evaluations": self.evaluations,
        }


def _is_due(step: int, every: int | None) -> bool:
    return every is not None and step % every == 0


@contextmanager
def _threads(num_threads: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _interruption() -> Iterator[threading.Event]:
    """Turn the first SIGINT or SIGTERM into an event; outside the main thread, where none is caught, it never comes."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(_number: int, _frame: FrameType | None) -> None:
        event.set()
        restore()

    for number in before:
        signal.signal(number, note)
    try:
        yield event
    finally:
        restore()
