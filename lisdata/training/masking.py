"""Masking for encoders: which tokens are to be predicted, and what a model sees in their places.

A batch that was masked has `masked_target` (B, T), the token that stood at each chosen position and -100 elsewhere. At
chosen positions, whatever is seen there, no tag is given (SiPE appendix A.1): `terminal`, `nonterminal` and `deprel`
are negative, and what the tag losses predict is kept in `terminal_target` and `nonterminal_target`.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lisdata.schema import DEPREL_COLUMN
from lisdata.training.batches import Batch, BatchSource
from lisdata.training.loss import NOT_SCORED, scored_positions
from lisdata.training.tag_regimes import UNTAGGED

MASKED_TARGET = "masked_target"
TAG_COLUMNS = ("terminal", "nonterminal")


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskRecipe:
    """How often and how tokens are masked; the shares are those of BERT and RoBERTa.

    A token is chosen with probability `rate`, but for `kept_ids` (of the tokenizer's template) and what is not scored.
    Of the chosen, a share of `mask_share` is shown as `mask_id`, one of `random_share` as a token drawn from all
    `vocabulary_size`, and the rest as it is. Everything is drawn anew for each batch, as a function of `seed` and the
    number of the batch.
    """

    mask_id: int
    vocabulary_size: int
    rate: float = 0.15
    mask_share: float = 0.8
    random_share: float = 0.1
    kept_ids: tuple[int, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ValueError(f"{self.rate=} is no probability above 0")
        if min(self.mask_share, self.random_share) < 0 or self.mask_share + self.random_share > 1:
            raise ValueError(f"{self.mask_share=} and {self.random_share=} are no shares of 1")
        if not 0 <= self.mask_id < self.vocabulary_size:
            raise ValueError(f"{self.mask_id=} is none of {self.vocabulary_size} tokens")
        if self.seed < 0:
            raise ValueError(f"{self.seed=} is negative")


def mask_tokens(batch: Batch, recipe: MaskRecipe, *, step: int) -> Batch:
    """Return the batch, number `step` of its run, with tokens masked by the recipe."""
    ids = batch["input_ids"]
    is_scored = scored_positions(batch)
    if recipe.kept_ids:
        is_scored &= ~torch.isin(ids, ids.new_tensor(recipe.kept_ids))
    chance, fate, drawn = _draw(tuple(ids.shape), recipe, step)
    is_chosen = is_scored & (chance.to(ids.device) < recipe.rate)
    fate, drawn = fate.to(ids.device), drawn.to(ids.device, ids.dtype)
    replaced = torch.where(fate < recipe.mask_share + recipe.random_share, drawn, ids)
    replaced = torch.where(fate < recipe.mask_share, recipe.mask_id, replaced)
    return hide_tags(batch, is_chosen) | {
        "input_ids": torch.where(is_chosen, replaced, ids),
        MASKED_TARGET: torch.where(is_chosen, ids, NOT_SCORED),
    }


def hide_tags(batch: Batch, is_hidden: Tensor) -> Batch:
    """Return the batch with no tag given where `is_hidden` (B, T); what is predicted stays."""
    changed = {}
    for name in (*TAG_COLUMNS, DEPREL_COLUMN):
        if name in batch:
            changed[name] = batch[name].masked_fill(is_hidden, UNTAGGED)
        if name in batch and name in TAG_COLUMNS:
            changed[f"{name}_target"] = batch.get(f"{name}_target", batch[name])
    return batch | changed


class MaskedBatches:
    """The batches of another source, masked; it resumes exactly, since what is drawn depends on the batch's number."""

    def __init__(self, batches: BatchSource, recipe: MaskRecipe) -> None:
        self._batches, self._recipe, self._step = batches, recipe, 0

    def next_batch(self) -> Batch:
        """Return the next batch, with `masked_target`."""
        batch = mask_tokens(self._batches.next_batch(), self._recipe, step=self._step)
        self._step += 1
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the source and the number of batches given so far."""
        return {"batches": self._batches.state_dict(), "step": self._step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on after that many batches."""
        self._batches.load_state_dict(state["batches"])
        self._step = int(state["step"])

    def description(self) -> dict[str, Any]:
        """Return the description of the source and the recipe."""
        return self._batches.description() | {"masking": asdict(self._recipe)}


def _draw(shape: tuple[int, ...], recipe: MaskRecipe, step: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return two numbers in [0, 1) and a token for each position."""
    generator = np.random.Generator(np.random.Philox(key=recipe.seed, counter=[0, 0, 0, step]))
    chance, fate = generator.random((2, *shape))
    drawn = generator.integers(recipe.vocabulary_size, size=shape)
    return torch.from_numpy(chance), torch.from_numpy(fate), torch.from_numpy(drawn)
