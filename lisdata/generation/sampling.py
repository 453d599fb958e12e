"""The choice of the next token from its logits."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a token is drawn: of the `top_k` likeliest (all where None), after logits are divided by `temperature`.

    A temperature of 0 takes the likeliest one.
    """

    temperature: float = 1.0
    top_k: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"{self.temperature=} is negative or not finite")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"{self.top_k=} is not a positive number")
        if self.seed < 0:
            raise ValueError(f"{self.seed=} is negative")


class Sampler:
    """Draws tokens one after another; under one seed the same ones from the same logits, on any device."""

    def __init__(self, sampling: Sampling) -> None:
        self.sampling = sampling
        self._generator = torch.Generator().manual_seed(sampling.seed)

    def draw(self, logits: Tensor) -> int:
        """Return the number of a token drawn from logits (V,); of equal ones at temperature 0 the first."""
        if self.sampling.temperature == 0:
            return int(logits.argmax())
        scores = logits.double().cpu() / self.sampling.temperature
        if self.sampling.top_k is not None and self.sampling.top_k < len(scores):
            best, numbers = scores.topk(self.sampling.top_k)
            return int(numbers[torch.multinomial(best.softmax(-1), 1, generator=self._generator)])
        return int(torch.multinomial(scores.softmax(-1), 1, generator=self._generator))
