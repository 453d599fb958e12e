"""Continuous RoPE: one instance, A(t) = R^t over the whole context (LIS Proposition 4.7 and appendix F.1)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lisdata.models.addresses import Addressed, logits_of
from lisdata.models.rotary import position_angles, rotary_frequencies, split_heads, turn
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
        return logits_of(self, self.address(input_ids))

    def address(self, input_ids: Tensor, *, begin: int = 0) -> Addressed:
        """Return the tokens ready for the blocks, those from `begin` on as queries."""
        embedded = self.transformer.embedding(input_ids[:, begin:])
        frequency = rotary_frequencies(self.config, input_ids.device)
        position = torch.arange(begin, input_ids.shape[1], device=input_ids.device)[None]
        rotation = turn(position_angles(position, frequency, embedded.dtype))
        return Addressed(embedded=embedded, local=split_heads(rotation, self.config.num_attention_heads))
