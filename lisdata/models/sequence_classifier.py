"""A model of tokens read as one of whole rows: an output of a few numbers on the hidden state of one position."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lisdata.models.sipe_tags import INIT_STD

POOLINGS = ("first", "last")
_UNREAD = ("output", "terminal_output", "nonterminal_output")


class SequenceClassifier(nn.Module):
    """`model` with the output of RoBERTa's fine-tuning: dropout, a tanh layer, dropout, `num_outputs` numbers.

    They are computed from the "first" position of a row, for an encoder, or from its "last" one that is no padding,
    for a decoder, which has read all there. `model` needs `hidden_states` and a config with `width`; its outputs for
    tokens and tags, which say nothing here, are no longer trained.
    """

    def __init__(self, model: nn.Module, num_outputs: int, *, pooling: str, dropout: float = 0.0) -> None:
        super().__init__()
        if pooling not in POOLINGS:
            raise ValueError(f"{pooling=} is none of {', '.join(POOLINGS)}")
        width: int = model.config.width  # type: ignore[union-attr, assignment]
        self.model, self.pooling = model, pooling
        self.dropout = nn.Dropout(dropout)
        self.dense = nn.Linear(width, width)
        self.output = nn.Linear(width, num_outputs)
        for layer in (self.dense, self.output):
            nn.init.normal_(layer.weight, std=INIT_STD)
            nn.init.zeros_(layer.bias)
        for name in _UNREAD:
            unread = getattr(model, name, None)
            if unread is not None:
                unread.requires_grad_(False)

    def forward(self, input_ids: Tensor, terminal: Tensor, nonterminal: Tensor, document: Tensor) -> Tensor:
        """Return (B, C) from rows (B, T), int64; `document` is negative at padding, which follows a row."""
        states: Any = self.model.hidden_states
        hidden: Tensor = states(input_ids, terminal, nonterminal, document)
        place = (document >= 0).sum(1) - 1 if self.pooling == "last" else torch.zeros_like(document[:, 0])
        pooled = hidden[torch.arange(len(hidden), device=hidden.device), place]
        dense = torch.tanh(self.dense(self.dropout(pooled)))
        return functional.linear(self.dropout(dense), self.output.weight, self.output.bias)
