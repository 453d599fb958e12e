"""Causal models whose surprisals are known in closed form, and a tokenizer for them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lisdata.encoding.characters import CharacterTokenizer

CHARACTERS = CharacterTokenizer(
    tuple(map(ord, "\n ',-.?abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")), has_unknown=True
)
SIZE = CHARACTERS.vocab_size


class Uniform(nn.Module):
    """Gives each of `SIZE` tokens the same probability."""

    def __init__(self) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(SIZE, dtype=torch.float64))

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.logits.expand(*input_ids.shape, -1)


class Bigram(nn.Module):
    """Gives the next token the probabilities in the row of the last one, of `table` (V, V); keeps what it is given."""

    def __init__(self, seed: int = 0, size: int = SIZE) -> None:
        super().__init__()
        drawn = torch.randn(size, size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        self.table = nn.Parameter(drawn.log_softmax(-1))
        self.shapes: list[tuple[int, ...]] = []

    def forward(self, input_ids: Tensor, document: Tensor) -> Tensor:
        assert document.shape == input_ids.shape
        self.shapes.append(tuple(input_ids.shape))
        return self.table[input_ids]


class TagReader(nn.Module):
    """Gives the newline the logit 2 x terminal + nonterminal of the last token (0 where untagged), the others 0."""

    def __init__(self) -> None:
        super().__init__()
        self.newline = nn.Parameter(torch.eye(SIZE, dtype=torch.float64)[0])

    def forward(self, input_ids: Tensor, terminal: Tensor, nonterminal: Tensor) -> Tensor:
        return (2 * terminal.clamp(min=0) + nonterminal.clamp(min=0))[..., None] * self.newline
