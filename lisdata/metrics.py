"""Numbers that evaluations report."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NllSum:
    """A sum of negative log-likelihoods in nats, over so many predicted tokens; sums add up."""

    nll: float = 0.0
    num_tokens: int = 0

    def __add__(self, other: NllSum) -> NllSum:
        return NllSum(self.nll + other.nll, self.num_tokens + other.num_tokens)

    @property
    def mean(self) -> float:
        """The mean negative log-likelihood in nats; nan over no tokens."""
        return self.nll / self.num_tokens if self.num_tokens else math.nan

    @property
    def perplexity(self) -> float:
        """exp(mean); inf where that is beyond a float, nan over no tokens."""
        try:
            return math.exp(self.mean)
        except OverflowError:
            return math.inf
