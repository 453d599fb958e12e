"""Time and memory of training steps of several models, which take turns in one process.

A step is forward, backward, clipping and AdamW. Models come in a new order each round, since a step also depends on the
memory that the one before it left. "ms" is the CPU time, of all threads, of a model's fastest step, and "ratio" the
median over the rounds of its time to that of the first model at the same precision in the same round: a shared machine
sways them less than a mean. "kept" is what autograd holds from the forward pass for the backward, parameters apart.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

PRECISIONS = ("fp32", "bf16")


@dataclass(kw_only=True)
class Run:
    """One model at one precision, its loss on the batch, and what was measured."""

    label: str
    precision: str
    model: nn.Module
    loss: Callable[[nn.Module], Tensor]
    optimizer: torch.optim.Optimizer
    seconds: list[float] = field(default_factory=list)
    kept_mib: float = 0.0

    def loss_of(self) -> Tensor:
        """Return the loss under the run's precision."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.precision == "bf16"):
            return self.loss(self.model)


def measure(runs: Sequence[Run], num_steps: int) -> list[dict[str, Any]]:
    """Take `num_steps` steps of each run after one to warm up, and return a row of figures for each."""
    for run in runs:
        run.kept_mib = measure_kept(run)
    for precision in dict.fromkeys(run.precision for run in runs):
        alike = [run for run in runs if run.precision == precision]
        for number in range(num_steps + 1):
            for run in random.Random(number).sample(alike, len(alike)):
                seconds = time_step(run)
                if number:
                    run.seconds.append(seconds)
    return [describe(run, runs) for run in runs]


def time_step(run: Run) -> float:
    """Take a step and return its CPU seconds."""
    began = time.process_time()
    run.loss_of().backward()
    nn.utils.clip_grad_norm_(run.model.parameters(), 1.0)
    run.optimizer.step()
    run.optimizer.zero_grad()
    return time.process_time() - began


def measure_kept(run: Run) -> float:
    """Return the MiB of distinct storages that a forward pass keeps for the backward pass, parameters apart."""
    own = {p.untyped_storage().data_ptr() for p in run.model.parameters()}
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        loss = run.loss_of()
    del loss
    return sum(kept.values()) / 2**20


def describe(run: Run, runs: Sequence[Run]) -> dict[str, Any]:
    """Return a run's figures and their ratios to those of the first run at the same precision."""
    base = next(other for other in runs if other.precision == run.precision)
    return {
        "model": run.label,
        "precision": run.precision,
        "parameters": sum(p.numel() for p in run.model.parameters()),
        "ms": round(min(run.seconds) * 1e3, 1),
        "time_ratio": round(median(a / b for a, b in zip(run.seconds, base.seconds, strict=True)), 3),
        "kept_mib": round(run.kept_mib, 1),
        "kept_ratio": round(run.kept_mib / base.kept_mib, 3),
    }


def print_table(rows: Sequence[dict[str, Any]], settings: dict[str, Any]) -> None:
    """Print a table and, as the last line, the same as JSON."""
    width = max(20, *(len(row["model"]) + 1 for row in rows))
    print(f"{'model':<{width}}{'precision':>10}{'parameters':>13}{'ms':>8}{'ratio':>8}{'kept MiB':>10}{'ratio':>8}")
    for row in rows:
        figures = f"{row['parameters']:>13,}{row['ms']:>8.0f}{row['time_ratio']:>8.3f}"
        print(
            f"{row['model']:<{width}}{row['precision']:>10}{figures}{row['kept_mib']:>10.0f}{row['kept_ratio']:>8.3f}"
        )
    print(json.dumps({"settings": settings, "torch": torch.__version__, "rows": rows}))
