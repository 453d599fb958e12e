"""Training: batches, next-token loss, and a loop whose checkpoints resume exactly."""

from lisdata.training.batches import Batch, BatchSource, LoaderBatches, ResumableLoader, TokenWindows
from lisdata.training.config import TrainConfig
from lisdata.training.loop import DivergedError, Progress, TrainResult, train
from lisdata.training.loss import next_token_loss, next_token_nll, next_token_targets

__all__ = [
    "Batch",
    "BatchSource",
    "DivergedError",
    "LoaderBatches",
    "Progress",
    "ResumableLoader",
    "TokenWindows",
    "TrainConfig",
    "TrainResult",
    "next_token_loss",
    "next_token_nll",
    "next_token_targets",
    "train",
]
