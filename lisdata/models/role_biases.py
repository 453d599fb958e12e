"""Scalar role biases: structure as a number added to each score (LIS appendix C)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lisdata.models.rotary import position_angles, rotary_frequencies, rotate, split_heads, turn
from lisdata.models.transformer import Transformer, TransformerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleBiasesConfig(TransformerConfig):
    """Size of the model, and the number of rows of the dataset's role label list."""

    num_roles: int

    def __post_init__(self) -> None:
        TransformerConfig.__post_init__(self)
        if self.num_roles < 1:
            raise ValueError(f"{self.num_roles=} is not a positive number")


class RoleBiases(nn.Module):
    """A causal Transformer over endpoints with A(p) = R_pos^p and the scores q^T P k + b[role of query, role of key].

    Each head has its own b. Roles enter no operator: which instance a key belongs to can't be told.
    """

    def __init__(self, config: RoleBiasesConfig) -> None:
        super().__init__()
        self.config = config
        self.transformer = Transformer(config)
        self.biases = nn.Parameter(torch.zeros(config.num_attention_heads, config.num_roles, config.num_roles))

    def forward(self, input_ids: Tensor, role: Tensor, position: Tensor, document: Tensor | None = None) -> Tensor:
        """Return logits (B, T, V) for the token after each of `input_ids`; see `Lisformer.forward`."""
        embedded = self.transformer.embedding(input_ids)
        frequency = rotary_frequencies(self.config, input_ids.device)
        rotation = split_heads(
            turn(position_angles(position, frequency, embedded.dtype)), self.config.num_attention_heads
        )
        bias = self._scores(role, document)

        def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            query, key = rotate(query, rotation), rotate(key, rotation)
            return scaled_dot_product_attention(query, key, value, attn_mask=bias.to(query.dtype))

        logits: Tensor = self.transformer(embedded, attend)
        return logits

    def _scores(self, role: Tensor, document: Tensor | None) -> Tensor:
        """Return the biases (B, H, T, T), -inf where a query sees nothing."""
        length = role.shape[1]
        known = role.clamp(min=0)
        bias = self.biases[:, known[:, :, None], known[:, None, :]].transpose(0, 1)
        is_none = (role < 0)[:, :, None] | (role < 0)[:, None, :]
        bias = bias.masked_fill(is_none[:, None], 0)
        index = torch.arange(length, device=role.device)
        is_hidden = (index[:, None] < index)[None]
        if document is not None:
            apart = torch.where(document < 0, -1 - index, document)
            is_hidden = is_hidden | (apart[:, :, None] != apart[:, None, :])
        return bias.masked_fill(is_hidden[:, None], float("-inf"))
