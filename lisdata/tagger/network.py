"""The tagger's network: hashed features of words, a window of three, and layers that read a sentence from both ends.

Each feature has its table of vectors (as in spaCy's MultiHashEmbed). Layers add to what they are given: one gated
convolution over neighbours, then minimal gated recurrences h_t = f_t h_(t-1) + (1 - f_t) z_t whose gates depend on the
input alone (the SRU of Lei et al. 2018, without its cell-to-gate term), so that all matrix products of a batch are done
at once. One linear layer gives the scores of both hexatags and of relations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from lisdata.tagger.features import NUM_FEATURES

NUM_TERMINALS, NUM_NONTERMINALS = 2, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggerConfig:
    """Sizes of the network: rows and width of each feature's table, width and number of recurrent layers.

    `deprels` are the relations that are told apart, in the order of their scores. `dropout` is the share of a word's
    vector, before and after all layers, that is left out in training.
    """

    deprels: tuple[str, ...]
    num_rows: int = 5_000
    feature_width: int = 64
    width: int = 192
    num_layers: int = 3
    dropout: float = 0.1

    def __post_init__(self) -> None:
        for name in ("num_rows", "feature_width", "width", "num_layers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} is not a positive number")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"{self.dropout=} is outside 0..1")
        if self.width % 2:
            raise ValueError(f"{self.width=} is odd: half of it reads from each end")
        if not self.deprels or len(set(self.deprels)) < len(self.deprels):
            raise ValueError(f"expected different relations, one at least, got {self.deprels}")


class HexatagNetwork(nn.Module):
    """Scores of the hexatags and the relation of each word; batches are time-major, (T, B)."""

    def __init__(self, config: TaggerConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.tables = nn.ModuleList(nn.Embedding(config.num_rows, config.feature_width) for _ in range(NUM_FEATURES))
        for table in self.tables:
            nn.init.normal_(table.weight, std=0.3)  # type: ignore[arg-type]
        self.mix = nn.Linear((NUM_FEATURES - 1) * config.feature_width, width)
        self.window = Window(width)
        self.layers = nn.ModuleList(Recurrence(width) for _ in range(config.num_layers))
        self.norm = nn.LayerNorm(width)
        self.drop = nn.Dropout(config.dropout)
        self.scores = nn.Linear(width, NUM_TERMINALS + NUM_NONTERMINALS + len(config.deprels))

    def embed(self, features: Tensor) -> Tensor:
        """Return the vectors (..., width) of forms with these features (..., 5), the same wherever they stand."""
        first, second, *others = (table(features[..., column]) for column, table in enumerate(self.tables))
        mixed: Tensor = self.mix(torch.cat([first + second, *others], -1))
        return mixed

    def forward(self, vectors: Tensor, is_word: Tensor) -> Tensor:
        """Return the scores (T, B, 7 + relations) of words with these vectors (T, B, width).

        `is_word` (T, B) is false behind the last word of each sentence, where scores mean nothing.
        """
        mask = is_word[..., None].to(vectors.dtype)
        hidden = self.window(self.drop(vectors), mask)
        for layer in self.layers:
            hidden = layer(hidden, mask)
        scores: Tensor = self.scores(self.drop(self.norm(hidden)))
        return scores


class Window(nn.Module):
    """A gated convolution over each word and its two neighbours."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(3 * width, 2 * width)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Add what a word and its neighbours say."""
        words = self.norm(hidden) * mask
        none = torch.zeros_like(words[:1])
        around = torch.cat([torch.cat([none, words[:-1]]), words, torch.cat([words[1:], none])], -1)
        return hidden + functional.glu(self.project(around), -1)


class Recurrence(nn.Module):
    """A gated recurrence, half of whose units read from the first word and half from the last."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, 3 * width)
        self.back = nn.Linear(width, width)
        with torch.no_grad():  # units begin with memories of about 0 to 20 words
            self.project.bias[:width] = torch.linspace(-1, 3, width // 2).repeat(2)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Add what stands before and behind each word."""
        keep, new, out = self.project(self.norm(hidden)).chunk(3, -1)
        kept = torch.sigmoid(keep.float()) * mask
        entered = (1 - kept) * new.float() * mask
        scan: Callable[[Tensor, Tensor], Tensor] = _Scan.apply if torch.is_grad_enabled() else scan_
        states = scan(kept, entered)
        added: Tensor = self.back(states * torch.sigmoid(out))
        return hidden + added


def scan_(kept: Tensor, states: Tensor) -> Tensor:
    """Turn what enters each word's state into the states h_t = kept_t h_(t-1) + entered_t, in place, (T, B, width).

    The second half of the units goes from the last word to the first.
    """
    half = kept.shape[2] // 2
    for units, order in ((slice(half), range(len(kept))), (slice(half, None), range(len(kept) - 1, -1, -1))):
        steps = list(zip(kept[..., units].unbind(), states[..., units].unbind(), strict=True))
        before = steps[order[0]][1]
        for word in order[1:]:
            keep, state = steps[word]
            before = state.addcmul_(keep, before)
    return states


class _Scan(torch.autograd.Function):
    """`scan_` with its gradient, which is a scan the other way round."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, kept: Tensor, entered: Tensor) -> Tensor:
        states = scan_(kept, entered.clone())
        ctx.save_for_backward(kept, states)
        return states

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *grads: Tensor) -> tuple[Tensor, Tensor]:
        kept, states = ctx.saved_tensors  # type: ignore[attr-defined]
        half = kept.shape[2] // 2
        none = torch.zeros_like(kept[:1])
        # What a word's state passes on is kept at the next word; units of the second half go the other way.
        passed = torch.cat(
            [torch.cat([kept[1:, :, :half], none[..., :half]]), torch.cat([none[..., half:], kept[:-1, :, half:]])], 2
        )
        entered = scan_(passed.flip(0), grads[0].flip(0)).flip(0)
        before = torch.cat(
            [torch.cat([none[..., :half], states[:-1, :, :half]]), torch.cat([states[1:, :, half:], none[..., half:]])],
            2,
        )
        return entered * before, entered
