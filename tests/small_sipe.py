"""What the tests of all SiPE models use: weights of the size of 1, and rows of tagged tokens."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import Tensor, nn

VOCABULARY, WIDTH, NUM_DEPRELS = 9, 8, 6
Batch = dict[str, Tensor]
Model = TypeVar("Model", bound=nn.Module)


def randomize(model: Model) -> Model:
    """Make a model float64 with all weights of the size of 1, so that every term counts."""
    model, generator = model.double(), torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5, generator=generator)
    return model


def draw_batch(seed: int, num_rows: int, length: int, num_documents: int) -> Batch:
    """Rows of packed documents; a third of the positions has no tag, a few have one of the two."""
    generator = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int) -> Tensor:
        return torch.randint(low, high, (num_rows, length), generator=generator)

    tag_kind = draw(0, 9)
    return {
        "input_ids": draw(0, VOCABULARY),
        "terminal": draw(0, 2).masked_fill(tag_kind < 4, -100),
        "nonterminal": draw(0, 5).masked_fill((tag_kind < 3) | (tag_kind == 4), -100),
        "document": draw(0, num_documents).sort(1).values,
        "deprel": draw(0, NUM_DEPRELS).masked_fill((tag_kind < 3) | (tag_kind == 5), -100),
    }


def logits(model: nn.Module, batch: Batch) -> Tensor:
    with torch.no_grad():
        found: Tensor = model(**batch)
    return found
