"""The model and the loss of the examples: a small decoder in which no document attends to another."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

COLUMNS = ("input_ids", "document", "position_ids")
"""What a batch of packs needs to have for it."""


class TinyModel(nn.Module):
    """A transformer without dropout, so that a resumed training needs no state of a random generator."""

    def __init__(self, vocabulary_size: int, longest: int, *, width: int = 32, num_layers: int = 2) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary_size, width)
        self.positions = nn.Embedding(longest, width)
        nn.init.normal_(self.tokens.weight, std=0.02)  # small: they are the output's weights too
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 2, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(num_layers)
        )

    def forward(self, input_ids: Tensor, document: Tensor, position_ids: Tensor) -> Tensor:
        """Return the logits of each next token, shape (B, T, vocabulary_size)."""
        x = self.tokens(input_ids) + self.positions(position_ids)
        is_hidden = ~document_mask(document)
        for layer in self.layers:
            x = layer(x, src_mask=is_hidden.repeat_interleave(2, 0))  # a mask for each of the 2 heads
        return functional.linear(x, self.tokens.weight)


def document_mask(document: Tensor) -> Tensor:
    """Return who attends to whom, (B, T, T): each token to those before it in its document, and to itself.

    Kernels for sequences of varying length take `cu_seqlens` of the batch instead, which bounds the same documents.
    """
    is_same = document[:, :, None] == document[:, None, :]
    return is_same & torch.ones(is_same.shape[1:], dtype=torch.bool, device=document.device).tril()


def next_token_loss(logits: Tensor, batch: dict[str, Tensor]) -> Tensor:
    """Return the mean over the tokens to predict: no document's first, no padding, no pack that fills the last batch.

    A rank whose packs are all fillers gets 0, and still takes part in the step.
    """
    document = batch["document"]
    is_scored = (document[:, 1:] == document[:, :-1]) & (document[:, 1:] >= 0) & batch["real"][:, None]
    losses = functional.cross_entropy(logits[:, :-1].transpose(1, 2), batch["input_ids"][:, 1:], reduction="none")
    return (losses * is_scored).sum() / is_scored.sum().clamp(min=1)
