"""Continuous RoPE: one instance, A(t) = R^t over the whole context (LIS Proposition 4.7 and appendix F.1)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lisdata.models.rotary import position_angles, rotary_frequencies, rotate, split_heads, turn
from lisdata.models.transformer import Transformer, TransformerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class RopeConfig(TransformerConfig):
    """Size of the continuous RoPE model."""


class RopeTransformer(nn.Module):
    """A causal character Transformer whose positions run from 0 to T - 1: the baseline of LIS Table 3."""

    def __init__(self, config: RopeConfig) -> None:
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
            return scaled_dot_product_attention(query, key, value, is_causal=True)

        logits: Tensor = self.transformer(embedded, attend)
        return logits
