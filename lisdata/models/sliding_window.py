"""Sliding window: the continuous RoPE model whose queries attend to the last few tokens only."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lisdata.models.rotary import position_angles, rotary_frequencies, rotate, split_heads, turn
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
        embedded = self.transformer.embedding(input_ids)
        frequency = rotary_frequencies(self.config, input_ids.device)
        position = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        angles = position_angles(position, frequency, embedded.dtype)
        rotation = split_heads(turn(angles), self.config.num_attention_heads)

        def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            query, key = rotate(query, rotation), rotate(key, rotation)
            return window_attention(query, key, value, self.config.attention_window)

        logits: Tensor = self.transformer(embedded, attend)
        return logits


def window_attention(query: Tensor, key: Tensor, value: Tensor, window: int) -> Tensor:
    """Return the attended values, (B, H, T, D), each query reading the last `window` keys up to its own.

    As many queries go at once as the window is long, so that time grows with T, not with T squared.
    """
    length = query.shape[2]
    index = torch.arange(length, device=query.device)
    attended = []
    for begin in range(0, length, window):
        queries, keys = slice(begin, begin + window), slice(max(0, begin + 1 - window), begin + window)
        distance = index[queries, None] - index[keys]
        is_open = (distance >= 0) & (distance < window)
        attended.append(
            scaled_dot_product_attention(query[:, :, queries], key[:, :, keys], value[:, :, keys], attn_mask=is_open)
        )
    return torch.cat(attended, dim=2)
