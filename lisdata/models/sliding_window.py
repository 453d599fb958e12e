"""Sliding window: the continuous RoPE model whose queries attend to the last few tokens only."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lisdata.models.addresses import Addressed, logits_of
from lisdata.models.rotary import position_angles, rotary_frequencies, split_heads, turn
from lisdata.models.transformer import Transformer, TransformerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingWindowConfig(TransformerConfig):
    """Size of the model, and how many tokens a query attends to, its own included."""

    attention_window: int

    def __post_init__(self) -> None:
        TransformerConfig.__post_init__(self)
        if self.attention_window < 1:
            raise ValueError(f"{self.attention_window=} is not a positive number")


class SlidingWindow(nn.Module):
    """A causal character Transformer under RoPE in which query t attends to the keys t - window < s <= t.

    It knows nothing of lines, and no distance is ever greater than in training: the trivial way to a flat curve. Its
    parameters are those of the RoPE model, whose weights it can be given. A stack of L layers reaches back
    L (window - 1) tokens.
    """

    def __init__(self, config: SlidingWindowConfig) -> None:
        super().__init__()
        self.config = config
        self.transformer = Transformer(config)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Return logits (B, T, V) for the token after each of `input_ids` (B, T), int64."""
        return logits_of(self, self.address(input_ids))

    def address(self, input_ids: Tensor, *, begin: int = 0) -> Addressed:
        """Return the tokens ready for the blocks, those from `begin` on as queries."""
        embedded = self.transformer.embedding(input_ids[:, begin:])
        frequency = rotary_frequencies(self.config, input_ids.device)
        position = torch.arange(begin, input_ids.shape[1], device=input_ids.device)[None]
        angles = position_angles(position, frequency, embedded.dtype)
        rotation = split_heads(turn(angles), self.config.num_attention_heads)
        return Addressed(embedded=embedded, local=rotation, window=self.config.attention_window)
