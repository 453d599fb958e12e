"""A text that a model goes on with: it reads a prompt, a token is drawn, it reads that, and so on."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from lisdata.generation.sampling import Sampler


class Session(Protocol):
    """A model that reads a text from its beginning and keeps what it needs of it."""

    def read(self, token_ids: Sequence[int]) -> Tensor:
        """Read further tokens, at least one, and return the logits (V,) of the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The tokens that were drawn after a prompt; seconds are wall time.

    `is_ended`: after the last of them one was drawn that ends a text.
    """

    token_ids: tuple[int, ...]
    is_ended: bool
    prompt_seconds: float
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        """How fast tokens were drawn, the reading of the prompt apart."""
        return len(self.token_ids) / self.seconds if self.seconds else 0.0


def draw_tokens(
    session: Session, prompt_ids: Sequence[int], sampler: Sampler, *, max_tokens: int, end_ids: Collection[int] = ()
) -> Drawn:
    """Go on after a prompt of at least one token, with `max_tokens` tokens or until one of `end_ids` is drawn.

    The last token is drawn and not read. Raises ValueError for a number below 1.
    """
    if max_tokens < 1:
        raise ValueError(f"{max_tokens=} is not a positive number")
    began = time.perf_counter()
    logits = session.read(prompt_ids)
    started = time.perf_counter()
    drawn: list[int] = []
    is_ended = False
    while not is_ended and len(drawn) < max_tokens:
        if drawn:
            logits = session.read(drawn[-1:])
        drawn.append(sampler.draw(logits))
        is_ended = drawn[-1] in end_ids
    return Drawn(
        token_ids=tuple(drawn[: len(drawn) - is_ended]),
        is_ended=is_ended,
        prompt_seconds=started - began,
        seconds=time.perf_counter() - started,
    )
