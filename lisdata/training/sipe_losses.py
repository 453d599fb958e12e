"""The objective of SiPE's decoders: L = L_LM + L_T + L_NT, of the next token and of the next position's two tags."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from lisdata.errors import LisDataError
from lisdata.models.tag_injection import Predictions
from lisdata.training.batches import Batch
from lisdata.training.loss import NOT_SCORED, mean_nll, model_inputs, next_token_targets, target_nll

TAG_COLUMNS = ("terminal", "nonterminal")
REACHES = ("next-position", "next-tagged")


@runtime_checkable
class TagPredictor(Protocol):
    """A model that also predicts tags."""

    def predict(self, **columns: Any) -> Predictions:
        """Return logits from the columns that `forward` takes."""


class ScoredNll(NamedTuple):
    """Negative log-likelihoods in nats, 0 where nothing is scored, and the targets, -100 there; of one shape."""

    nll: Tensor
    targets: Tensor

    @property
    def mean(self) -> Tensor:
        """The mean over the scored targets, 0 when there are none."""
        return mean_nll(self.nll, self.targets)


class SipeNll(NamedTuple):
    """What a model says of tokens and of their tags: for a decoder of what comes next, (B, T - 1)."""

    token: ScoredNll
    terminal: ScoredNll
    nonterminal: ScoredNll


@dataclass(frozen=True, slots=True, kw_only=True)
class LossWeights:
    """What each of the three parts counts."""

    token_weight: float = 1.0
    terminal_weight: float = 1.0
    nonterminal_weight: float = 1.0

    def __post_init__(self) -> None:
        for name in ("token_weight", "terminal_weight", "nonterminal_weight"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name}={getattr(self, name)} is negative or not finite")

    def weigh(self, nll: SipeNll) -> Tensor:
        """Return the weighted sum of the three means."""
        weights = self.token_weight, self.terminal_weight, self.nonterminal_weight
        return torch.stack([weight * part.mean for weight, part in zip(weights, nll, strict=True)]).sum()


@dataclass(frozen=True, slots=True, kw_only=True)
class SipeObjective(LossWeights):
    """The weighted sum of three mean negative log-likelihoods; `reach` is that of `next_tag_targets`."""

    reach: str = "next-position"

    def __post_init__(self) -> None:
        super(SipeObjective, self).__post_init__()  # slots make another class, which a bare super() cannot see
        _check_reach(self.reach)

    def __call__(self, model: nn.Module, batch: Batch) -> Tensor:
        """Return the loss of a model with `predict`."""
        return self.weigh(sipe_nll(model, batch, reach=self.reach))


def sipe_nll(model: nn.Module, batch: Batch, *, reach: str = "next-position") -> SipeNll:
    """Return the three parts of -log p(tokens, tags) of a batch with the columns `terminal` and `nonterminal`.

    At the reach "next-position", where the tags given are those to predict, the sum over all parts and positions is
    -log p of the tokens and tags that have something before them in their document: a bound on -log p of these tokens.
    Raises ValueError for a model without `predict`, LisDataError for a batch without tags.
    """
    if not isinstance(model, TagPredictor):
        raise ValueError(f"expected a model that predicts tags, got {type(model).__name__}")
    logits = model.predict(**model_inputs(model, batch))
    targets = next_token_targets(batch), *(next_tag_targets(batch, column, reach=reach) for column in TAG_COLUMNS)
    return SipeNll(*(ScoredNll(target_nll(*pair), pair[1]) for pair in zip(logits, targets, strict=True)))


def next_tag_targets(batch: Batch, column: str, *, reach: str = "next-position") -> Tensor:
    """Return the tag to predict at each position but the last, (B, T - 1), or -100 where none is scored.

    It is that of the next position, where the token there is scored and tagged; at "next-tagged" also over positions
    without a tag that are scored themselves. The tags are those of `column` + "_target", if the batch has that, so that
    a model may be given others than it is to predict.
    """
    _check_reach(reach)
    tags = batch.get(f"{column}_target", batch.get(column))
    if tags is None:
        raise LisDataError(f"expected a batch with the column {column}, found {', '.join(batch)}")
    is_scored = next_token_targets(batch) != NOT_SCORED
    targets = torch.where(is_scored & (tags[:, 1:] >= 0), tags[:, 1:], NOT_SCORED)
    if reach == "next-position":
        return targets
    # Each position takes over what is predicted at the next one where a tag stands or nothing is scored.
    is_passed = is_scored & (targets == NOT_SCORED)
    last = targets.shape[1] - 1
    stop = torch.where(is_passed, last, torch.arange(last + 1, device=targets.device))
    return targets.gather(1, stop.flip(1).cummin(1).values.flip(1))


def _check_reach(reach: str) -> None:
    if reach not in REACHES:
        raise ValueError(f"{reach=} is none of {', '.join(REACHES)}")
