"""How long and how fast to train."""

import math
from dataclasses import asdict, dataclass
from typing import Any

SCHEDULES = ("cosine", "linear", "constant")
PRECISIONS = ("fp32", "bf16")
MAX_THREADS = 1 << 15
DEFAULT_EPSILON = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """Settings of one training run; steps are optimizer steps, and the optimizer is AdamW.

    `batch_size` is for whoever builds the batches. The learning rate rises linearly over the warm-up steps and then
    falls to 0 along a half cosine or a line, or stays. `epsilon` is AdamW's. `checkpoint_every` and `evaluate_every`
    count steps; without them both happen after the last step only. `bf16` computes under autocast and keeps float32
    weights. Without `num_threads` torch decides.
    """

    num_steps: int
    batch_size: int
    learning_rate: float = 3e-4
    weight_decay: float = 0.1
    clip_norm: float = 1.0
    schedule: str = "cosine"
    num_warmup_steps: int = 0
    seed: int = 0
    checkpoint_every: int | None = None
    evaluate_every: int | None = None
    precision: str = "fp32"
    epsilon: float = DEFAULT_EPSILON
    num_threads: int | None = None

    def __post_init__(self) -> None:
        for name in ("num_steps", "batch_size", "checkpoint_every", "evaluate_every", "num_threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}={value} is not a positive number")
        for name in ("learning_rate", "clip_norm", "epsilon"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name}={getattr(self, name)} is not a positive number")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"{self.weight_decay=} is negative or not finite")
        if not 0 <= self.num_warmup_steps <= self.num_steps:
            raise ValueError(f"{self.num_warmup_steps=} is outside 0..{self.num_steps=}")
        if self.schedule not in SCHEDULES:
            raise ValueError(f"{self.schedule=} is none of {', '.join(SCHEDULES)}")
        if self.precision not in PRECISIONS:
            raise ValueError(f"{self.precision=} is none of {', '.join(PRECISIONS)}")
        if (self.num_threads or 0) > MAX_THREADS:
            raise ValueError(f"{self.num_threads=} is more than {MAX_THREADS}")
        if self.seed < 0:
            raise ValueError(f"{self.seed=} is negative")

    def learning_rate_at(self, step: int) -> float:
        """Return the learning rate of step 0..num_steps - 1."""
        if step < self.num_warmup_steps:
            return self.learning_rate * (step + 1) / self.num_warmup_steps
        if self.schedule == "constant":
            return self.learning_rate
        progress = (step - self.num_warmup_steps) / (self.num_steps - self.num_warmup_steps)
        if self.schedule == "linear":
            return self.learning_rate * (1 - progress)
        return self.learning_rate * (1 + math.cos(math.pi * progress)) / 2

    def trajectory(self) -> dict[str, Any]:
        """Return the settings that decide the weights: a run resumes only under the same ones."""
        bystanders = {"checkpoint_every", "evaluate_every", "num_threads"}
        if self.epsilon == DEFAULT_EPSILON:  # checkpoints from before there was a choice do not name it
            bystanders.add("epsilon")
        return {name: value for name, value in asdict(self).items() if name not in bystanders}
