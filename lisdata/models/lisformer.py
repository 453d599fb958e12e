"""The plainest general LISformer: endpoints of any token shard, addressed by position, role and instance."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lisdata.models.addressed_attention import AddressedAttention
from lisdata.models.instances import ContentAddress, instance_layout
from lisdata.models.rotary import position_angles, rotary_frequencies, split_heads, turn
from lisdata.models.transformer import Transformer, TransformerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class LisformerConfig(TransformerConfig):
    """Size of the general LISformer.

    `num_roles` is the number of rows of the dataset's role label list, by which `role` is numbered. Without
    `instance_addresses` an endpoint has its position and role only, R_e = I. What an instance's content is turned by
    before it is pooled: `pooled` "address", position and role (LIS appendix F.1), or "role" alone (F.4). With
    `num_identifiers` instance e of a row is turned by learned angles of its number e, modulo that many, instead of
    by its content: the baseline of learned identifiers (LIS appendix B).
    """

    num_roles: int
    instance_addresses: bool = True
    pooled: str = "address"
    num_identifiers: int | None = None

    def __post_init__(self) -> None:
        TransformerConfig.__post_init__(self)
        if self.num_roles < 1:
            raise ValueError(f"{self.num_roles=} is not a positive number")
        if self.pooled not in ("address", "role"):
            raise ValueError(f"{self.pooled=} is neither address nor role")
        if self.num_identifiers is not None and (self.num_identifiers < 1 or self.instance_addresses):
            raise ValueError(f"{self.num_identifiers=} is for instance_addresses = false, and a positive number")


class Lisformer(nn.Module):
    """A causal Transformer over endpoints with the address A(p, s, e) = R_pos^p R_s R_e (LIS Definition 4.5).

    All factors turn the same pairs, so they commute: their angles are p w, a learned row of `role_angles`, and, for
    an instance that is complete when the query looks (its last token in the row precedes the query), what
    `ContentAddress` computes from the instance's tokens. Instances may interleave.

    No logit depends on the ids, roles and positions of later tokens. Which instance a later token belongs to is
    taken as known beforehand: an instance that goes on later is not complete yet.
    """

    def __init__(self, config: LisformerConfig) -> None:
        super().__init__()
        self.config = config
        self.transformer = Transformer(config)
        self.role_angles = nn.Embedding(config.num_roles, config.width // 2)
        nn.init.normal_(self.role_angles.weight, std=0.1)
        self.instance_address = ContentAddress(config.width) if config.instance_addresses else None
        self.identifier_angles = None
        if config.num_identifiers is not None:
            self.identifier_angles = nn.Embedding(config.num_identifiers, config.width // 2)
            nn.init.normal_(self.identifier_angles.weight, std=0.1)

    def forward(
        self,
        input_ids: Tensor,
        role: Tensor,
        instance: Tensor,
        position: Tensor,
        document: Tensor | None = None,
    ) -> Tensor:
        """Return logits (B, T, V) for the token after each of `input_ids`; all arguments are (B, T), int64.

        `document` numbers the structures packed in a row, which do not attend to each other; it is negative at
        padding. A negative role means none, R_s = I; a negative instance means none, R_e = I.
        """
        num_heads = self.config.num_attention_heads
        embedded = self.transformer.embedding(input_ids)
        frequency = rotary_frequencies(self.config, input_ids.device)
        role_angles = self.role_angles(role.clamp(min=0)).masked_fill((role < 0)[..., None], 0)
        angles = position_angles(position, frequency, embedded.dtype) + role_angles
        if self.identifier_angles is not None:
            number = instance.clamp(min=0) % self.identifier_angles.num_embeddings
            angles = angles + self.identifier_angles(number).masked_fill((instance < 0)[..., None], 0)
        local = turn(angles)
        if self.instance_address is None:
            offset, last = torch.ones_like(local), torch.full_like(instance, instance.shape[1])
        else:
            layout = instance_layout(instance, document)
            rotation = local if self.config.pooled == "address" else turn(role_angles)
            offset, last = turn(self.instance_address(embedded, rotation, layout)), layout.last
        attention = AddressedAttention(split_heads(local, num_heads), split_heads(offset, num_heads), last, document)
        logits: Tensor = self.transformer(embedded, attention)
        return logits
