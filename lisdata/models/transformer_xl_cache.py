"""What Transformer-XL keeps of the positions that it has read, so that the next ones cost no more than themselves.

In a causal stack the keys and values at a position depend on the tokens and tags up to there. So when the tag of
position p changes, all that was kept before p stays right: `truncate(p)`, and give the model the positions from p on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from lisdata.models.relative_attention import LayerCache, relative_sinusoid
from lisdata.models.sipe_tags import NUM_TAG_ROWS
from lisdata.models.tag_injection import LayerTags

if TYPE_CHECKING:
    from lisdata.models.transformer_xl import TransformerXl


class TransformerXlCache:
    """The keys and values of the first `length` positions of B rows, of which there may be up to `capacity`.

    It holds what follows from the model's weights alone too, so it is for these weights, and for evaluation: nothing
    in it has a gradient.
    """

    def __init__(self, model: TransformerXl, *, capacity: int, num_rows: int = 1) -> None:
        if capacity < 1 or num_rows < 1:
            raise ValueError(f"expected positive numbers, got {capacity=}, {num_rows=}")
        self.capacity, self.length = capacity, 0
        like = model.embedding.weight.detach()
        sinusoid = relative_sinusoid(capacity, model.config.width, like)
        with torch.no_grad():
            self.layers = [LayerCache(offset, num_rows) for offset in model.project_offsets(sinusoid)]
            self._marks = like.new_zeros(num_rows, capacity, NUM_TAG_ROWS)
            self._tags = model.project_tags(self._marks)

    def truncate(self, length: int) -> None:
        """Forget the positions from `length` on; raise ValueError where there are not so many."""
        if not 0 <= length <= self.length:
            raise ValueError(f"{length=} is outside 0..{self.length}")
        self.length = length

    def extend(self, num_positions: int) -> None:
        """Make room for positions that are about to be read; raise ValueError beyond the capacity."""
        if self.length + num_positions > self.capacity:
            raise ValueError(f"expected at most {self.capacity} positions, got {self.length} and {num_positions} more")
        self.length += num_positions
        for layer in self.layers:
            layer.length = self.length

    def mark(self, marks: Tensor) -> list[LayerTags | None]:
        """Keep the marks (B, n, 7) of the newest positions, and return the tags of all of them for each layer."""
        self._marks[:, self.length - marks.shape[1] : self.length] = marks
        known = self._marks[:, : self.length]
        return [None if tags is None else tags._replace(marks=known) for tags in self._tags]
