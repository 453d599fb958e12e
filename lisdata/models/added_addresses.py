"""J_add: the vectors of LISformer's addresses, added to what they address instead of turning it.

The control for LIS's claim that structure belongs into the operator of attention: as many parameters, made from the
same roles and contents, in the place where role markers and tags go (LIS appendix C).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from lisdata.models.addressed_attention import AddressedAttention
from lisdata.models.instances import ContentAddress, instance_layout
from lisdata.models.lisformer import LisformerConfig, RoleTable
from lisdata.models.rotary import position_angles, rotary_frequencies, split_heads, turn
from lisdata.models.transformer import Attention, Block, Transformer


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedAddressesConfig(LisformerConfig):
    """Size of the control; the same settings as the LISformer's, of which learned identifiers are none."""

    def __post_init__(self) -> None:
        LisformerConfig.__post_init__(self)
        if self.num_identifiers is not None:
            raise ValueError(f"the control has no identifiers, got {self.num_identifiers=}")


class AddedAddresses(nn.Module):
    """A causal Transformer over endpoints, A(p) = R_pos^p, with role and instance vectors added.

    A token's input is x + widen(a_role), its keys and values are those of x + widen(a_role + phi_e) once instance e is
    complete: W_K h + W_K widen(phi_e), as if phi_e were added to the input of each attention. widen puts the D/2
    numbers into the first components of the pairs that the LISformer turns by them, so parameters are equal one by one.
    """

    def __init__(self, config: AddedAddressesConfig) -> None:
        super().__init__()
        self.config = config
        self.transformer = Transformer(config)
        self.role_vectors = RoleTable(config)
        self.instance_vector = ContentAddress(config.width) if config.instance_addresses else None

    def forward(
        self, input_ids: Tensor, role: Tensor, instance: Tensor, position: Tensor, document: Tensor | None = None
    ) -> Tensor:
        """Return logits (B, T, V) for the token after each of `input_ids`; see `Lisformer.forward`."""
        num_heads = self.config.num_attention_heads
        embedded = self.transformer.embedding(input_ids) + _widen(self.role_vectors(role))
        frequency = rotary_frequencies(self.config, input_ids.device)
        turned = turn(position_angles(position, frequency, embedded.dtype))
        local = split_heads(turned, num_heads)
        attention: Attention | list[Attention]
        if self.instance_vector is None:
            never = torch.full_like(instance, instance.shape[1])
            attention = AddressedAttention(local, torch.ones_like(local), never, document)
        else:
            layout = instance_layout(instance, document)
            rotation = turned if self.config.pooled == "address" else torch.ones_like(turned)
            vector = _widen(self.instance_vector(embedded, rotation, layout))
            plan = AddressedAttention(local, torch.ones_like(local), layout.last, document)
            attention = [_AddedAttention(plan, block, vector) for block in self.transformer.blocks]
        logits: Tensor = self.transformer(embedded, attention)
        return logits


class _AddedAttention:
    """One layer's attention: keys and values of complete instances have the projected vector added."""

    def __init__(self, plan: AddressedAttention, block: nn.Module, vector: Tensor) -> None:
        assert isinstance(block, Block)
        width = vector.shape[-1]
        shifts = linear(vector, block.query_key_value.weight[width:]).unflatten(-1, (2, block.num_attention_heads, -1))
        self._plan = plan
        self._key, self._value = shifts.permute(2, 0, 3, 1, 4).unbind()

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Return the attended values; all of shape (B, H, T, D/H)."""
        return self._plan(query, key, value, key + self._key, value + self._value)


def _widen(vectors: Tensor) -> Tensor:
    """Return (..., D/2) as (..., D): each number and a zero."""
    return torch.stack([vectors, torch.zeros_like(vectors)], dim=-1).flatten(-2)
