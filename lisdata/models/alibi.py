"""ALiBi: no rotation; a score falls by its head's slope for each step of distance (LIS appendix F.1)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lisdata.models.addresses import Addressed, logits_of
from lisdata.models.transformer import Transformer, TransformerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class AlibiConfig(TransformerConfig):
    """Size of the ALiBi model; the frequencies have no effect."""


class AlibiTransformer(nn.Module):
    """A causal character Transformer with the scores q k / sqrt(d) - slope_h (t - s)."""

    def __init__(self, config: AlibiConfig) -> None:
        super().__init__()
        self.config = config
        self.transformer = Transformer(config)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Return logits (B, T, V) for the token after each of `input_ids` (B, T), int64."""
        return logits_of(self, self.address(input_ids))

    def address(self, input_ids: Tensor, *, begin: int = 0) -> Addressed:
        """Return the tokens ready for the blocks, those from `begin` on as queries."""
        embedded = self.transformer.embedding(input_ids[:, begin:])
        bias = distance_bias(input_ids.shape[1], self.config.num_attention_heads, embedded, begin=begin)
        return Addressed(embedded=embedded, bias=bias)


def distance_bias(length: int, num_attention_heads: int, like: Tensor, *, begin: int = 0) -> Tensor:
    """Return -slope_h (t - s) for s <= t and -inf above, shape (1, H, T - begin, T), with dtype and device of `like`.

    The slopes are 2^(-8 h / H) for h = 1..H: 2^-2, 2^-4, 2^-6, 2^-8 for the four heads of LIS appendix F.1.
    """
    head = torch.arange(1, num_attention_heads + 1, dtype=like.dtype, device=like.device)
    slope = torch.exp2(-8 * head / num_attention_heads)
    index = torch.arange(length, device=like.device)
    distance = index[begin:, None] - index
    bias = -slope[:, None, None] * distance
    return bias.masked_fill(distance < 0, float("-inf"))[None]
