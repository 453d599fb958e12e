"""How much time and memory each injection of hexatags adds to a training step of SiPE's Transformer-XL.

    python benchmarks/sipe_step.py --steps 5
    python benchmarks/sipe_step.py --steps 5 --losses        # also the two tag losses

A step is forward, backward, clipping and AdamW on random tokens, a third of them untagged. The models take turns in
one process, in a new order each round, since a step also depends on the memory that the one before it left. "ms" is
the CPU time, of all threads, of a model's fastest step, and "ratio" the median over the rounds of its time to that of
the first model in the same round: a shared machine sways them less than a mean. "kept" is what autograd holds from the
forward pass for the backward pass, parameters apart.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from lisdata.models.transformer_xl import INJECTIONS, TransformerXl, TransformerXlConfig
from lisdata.training.batches import Batch
from lisdata.training.loss import next_token_loss
from lisdata.training.sipe_losses import SipeObjective


@dataclass(kw_only=True)
class Run:
    """One model under one precision, and what was measured."""

    injection: str
    precision: str
    model: TransformerXl
    optimizer: torch.optim.Optimizer
    seconds: list[float] = field(default_factory=list)
    kept_mib: float = 0.0


def main() -> None:
    """Print a table and, as the last line, the same as JSON."""
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    batch = make_batch(arguments)
    runs = [make_run(name, precision, arguments) for precision in arguments.precisions for name in arguments.injections]
    for run in runs:
        run.kept_mib = measure_kept(run, batch)
    for precision in arguments.precisions:
        alike = [run for run in runs if run.precision == precision]
        for number in range(arguments.steps + 1):
            for run in random.Random(number).sample(alike, len(alike)):
                seconds = time_step(run, batch)
                if number:  # the first round warms up
                    run.seconds.append(seconds)
    rows = [describe(run, runs) for run in runs]
    print(f"{'injection':<20}{'precision':>10}{'parameters':>13}{'ms':>8}{'ratio':>8}{'kept MiB':>10}{'ratio':>8}")
    for row in rows:
        figures = f"{row['parameters']:>13,}{row['ms']:>8.0f}{row['time_ratio']:>8.3f}"
        print(f"{row['injection']:<20}{row['precision']:>10}{figures}{row['kept_mib']:>10.0f}{row['kept_ratio']:>8.3f}")
    print(json.dumps({"settings": vars(arguments), "torch": torch.__version__, "rows": rows}))


def parse_arguments() -> argparse.Namespace:
    """Return the settings of the command line; the sizes are those of the reduced runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {
        "layers": 4,
        "width": 256,
        "heads": 8,
        "length": 256,
        "batch": 16,
        "vocabulary": 8000,
    }.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--losses", action="store_true", help="Also predict tags.")
    parser.add_argument("--injections", nargs="+", default=list(INJECTIONS), choices=list(INJECTIONS))
    parser.add_argument("--precisions", nargs="+", default=["fp32", "bf16"], choices=["fp32", "bf16"])
    return parser.parse_args()


def make_batch(arguments: argparse.Namespace) -> Batch:
    """Return random tokens and tags, one position more than the model reads."""
    generator = torch.Generator().manual_seed(0)
    shape = (arguments.batch, arguments.length + 1)
    is_untagged = torch.rand(shape, generator=generator) < 1 / 3
    return {
        "input_ids": torch.randint(0, arguments.vocabulary, shape, generator=generator),
        "terminal": torch.randint(0, 2, shape, generator=generator).masked_fill(is_untagged, -100),
        "nonterminal": torch.randint(0, 5, shape, generator=generator).masked_fill(is_untagged, -100),
    }


def make_run(injection: str, precision: str, arguments: argparse.Namespace) -> Run:
    """Build a model and its optimizer."""
    torch.manual_seed(0)
    config = TransformerXlConfig(
        vocabulary_size=arguments.vocabulary,
        width=arguments.width,
        num_layers=arguments.layers,
        num_attention_heads=arguments.heads,
        injection=injection,
        predicts_tags=arguments.losses,
    )
    model = TransformerXl(config)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    return Run(injection=injection, precision=precision, model=model, optimizer=optimizer)


def loss_of(run: Run, batch: Batch) -> Tensor:
    """Return the loss of a batch under the run's precision."""
    objective = SipeObjective() if run.model.config.predicts_tags else next_token_loss
    with torch.autocast("cpu", torch.bfloat16, enabled=run.precision == "bf16"):
        return objective(run.model, batch)


def time_step(run: Run, batch: Batch) -> float:
    """Take a step and return its CPU seconds."""
    began = time.process_time()
    loss_of(run, batch).backward()
    nn.utils.clip_grad_norm_(run.model.parameters(), 1.0)
    run.optimizer.step()
    run.optimizer.zero_grad()
    return time.process_time() - began


def measure_kept(run: Run, batch: Batch) -> float:
    """Return the MiB of distinct storages that a forward pass keeps for the backward pass, parameters apart."""
    own = {p.untyped_storage().data_ptr() for p in run.model.parameters()}
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        loss = loss_of(run, batch)
    del loss
    return sum(kept.values()) / 2**20


def describe(run: Run, runs: list[Run]) -> dict[str, Any]:
    """Return a run's figures and their ratios to those of the first injection at the same precision."""
    base = next(other for other in runs if other.precision == run.precision)
    return {
        "injection": run.injection,
        "precision": run.precision,
        "parameters": sum(p.numel() for p in run.model.parameters()),
        "ms": round(min(run.seconds) * 1e3, 1),
        "time_ratio": round(median(a / b for a, b in zip(run.seconds, base.seconds, strict=True)), 3),
        "kept_mib": round(run.kept_mib, 1),
        "kept_ratio": round(run.kept_mib / base.kept_mib, 3),
    }


if __name__ == "__main__":
    main()
