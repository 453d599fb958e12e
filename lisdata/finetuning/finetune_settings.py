"""How models are fine-tuned on GLUE: SiPE's Table 11, and what the paper leaves open."""

from __future__ import annotations

from dataclasses import dataclass

from lisdata.finetuning.glue_tasks import TASKS
from lisdata.training import TrainConfig

_BACKBONES = ("sipe-roberta", "sipe-deberta", "sipe-transformer-xl", "sipe-modernbert")
_NUM_EPOCHS = {"sst2": 3, "qqp": 3, "mnli": 3, "qnli": 3}  # the large tasks; of the others 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FinetuneSettings:
    """Settings of AdamW on one task: the learning rate rises over `warmup_share` of the steps, then falls along a line.

    `dropout` is that of the model and of its new output. A row has at most `max_length` tokens. The paper gives
    `learning_rate`, `weight_decay` and `epsilon`; the rest is usual for RoBERTa (Liu et al. 2019).
    """

    learning_rate: float
    weight_decay: float
    num_epochs: int = 10
    batch_size: int = 32
    warmup_share: float = 0.06
    dropout: float = 0.1
    max_length: int = 128
    clip_norm: float = 1.0
    epsilon: float = 1e-6
    precision: str = "fp32"

    def __post_init__(self) -> None:
        for name in ("num_epochs", "batch_size", "max_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} is not a positive number")
        for name in ("warmup_share", "dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} is outside [0, 1)")

    def train_config(
        self, batches_an_epoch: int, *, seed: int, checkpoint_every: int | None, num_threads: int | None
    ) -> TrainConfig:
        """Return the settings of a training, which is evaluated after each epoch."""
        num_steps = self.num_epochs * batches_an_epoch
        return TrainConfig(
            num_steps=num_steps,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            clip_norm=self.clip_norm,
            schedule="linear",
            num_warmup_steps=round(self.warmup_share * num_steps),
            seed=seed,
            checkpoint_every=checkpoint_every,
            evaluate_every=batches_an_epoch,
            precision=self.precision,
            epsilon=self.epsilon,
            num_threads=num_threads,
        )


def _settings_of(backbone: str, task: str) -> FinetuneSettings:
    rate, decay = 1e-5, 0.1
    if backbone == "sipe-modernbert":
        rate, decay = _MODERNBERT[task]
    return FinetuneSettings(learning_rate=rate, weight_decay=decay, num_epochs=_NUM_EPOCHS.get(task, 10))


_MODERNBERT = {
    "cola": (8e-5, 1e-6),
    "sst2": (8e-5, 1e-5),
    "mrpc": (5e-5, 5e-6),
    "stsb": (8e-5, 5e-6),
    "qqp": (5e-5, 5e-6),
    "mnli": (5e-5, 5e-6),
    "qnli": (8e-5, 5e-6),
    "rte": (5e-5, 1e-5),
    "wnli": (5e-5, 1e-5),
}
"""Learning rate and weight decay; of WNLI, which the paper does not have, those of RTE."""

PAPER_SETTINGS: dict[tuple[str, str], FinetuneSettings] = {
    (backbone, task): _settings_of(backbone, task) for backbone in _BACKBONES for task in TASKS
}
"""By model and task. Transformer-XL, of which the paper says nothing, has those of RoBERTa."""


def paper_settings(model: str, task: str) -> FinetuneSettings:
    """Return the settings of a model of the registry on a task; ValueError for a model that is not fine-tuned."""
    if (model, task) not in PAPER_SETTINGS:
        raise ValueError(f"expected one of the models {', '.join(_BACKBONES)}, got {model!r}")
    return PAPER_SETTINGS[model, task]
