"""Training: batches, losses of next and of masked tokens, and a loop whose checkpoints resume exactly."""

from lisdata.training.batches import Batch, BatchSource, LoaderBatches, ResumableLoader, TokenWindows
from lisdata.training.config import TrainConfig
from lisdata.training.held_out import TrainingRows, is_held_out
from lisdata.training.loop import DivergedError, Objective, Progress, TrainResult, train
from lisdata.training.loss import next_token_loss, next_token_nll, next_token_targets
from lisdata.training.masked_losses import MaskedSipeObjective, masked_token_loss, masked_token_nll
from lisdata.training.masking import MaskedBatches, MaskRecipe, mask_tokens
from lisdata.training.sipe_losses import SipeObjective, sipe_nll
from lisdata.training.tag_regimes import TAG_REGIMES, RegimeBatches, apply_tag_regime

__all__ = [
    "TAG_REGIMES",
    "Batch",
    "BatchSource",
    "DivergedError",
    "LoaderBatches",
    "MaskRecipe",
    "MaskedBatches",
    "MaskedSipeObjective",
    "Objective",
    "Progress",
    "RegimeBatches",
    "ResumableLoader",
    "SipeObjective",
    "TokenWindows",
    "TrainConfig",
    "TrainResult",
    "TrainingRows",
    "apply_tag_regime",
    "is_held_out",
    "mask_tokens",
    "masked_token_loss",
    "masked_token_nll",
    "next_token_loss",
    "next_token_nll",
    "next_token_targets",
    "sipe_nll",
    "train",
]
