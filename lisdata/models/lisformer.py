"""The plainest general LISformer: endpoints of any token shard, addressed by position, role and instance."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lisdata.models.addresses import Addressed, logits_of
from lisdata.models.instances import ContentAddress, instance_layout
from lisdata.models.rotary import position_angles, rotary_frequencies, split_heads, turn
from lisdata.models.transformer import Transformer, TransformerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class LisformerConfig(TransformerConfig):
    """Size of the general LISformer.

    `num_roles` is the number of rows of the dataset's role label list, by which `role` is numbered; the first
    `num_plain_roles` of them turn nothing, R_s = I (LIS appendix F.3: text has no slot). Without
    `instance_addresses` an endpoint has its position and role only, R_e = I. What an instance's content is turned by
    before it is pooled: `pooled` "address", position and role (LIS appendix F.1), or "role" alone (F.4). With
    `num_identifiers` instance e of a row is turned by learned angles of its number e, modulo that many, instead of
    by its content: the baseline of learned identifiers (LIS appendix B). With `turns_values` what a query takes from a
    key is turned by their journey too, as in RotatE (LIS Remark 4.8; the paper's models do without). The angles of
    roles are drawn with a standard deviation of `role_std`, in radians.
    """

    num_roles: int
    instance_addresses: bool = True
    pooled: str = "address"
    num_identifiers: int | None = None
    num_plain_roles: int = 0
    turns_values: bool = False
    role_std: float = 0.1

    def __post_init__(self) -> None:
        TransformerConfig.__post_init__(self)
        if self.num_roles < 1:
            raise ValueError(f"{self.num_roles=} is not a positive number")
        if not 0 <= self.num_plain_roles < self.num_roles:
            raise ValueError(f"{self.num_plain_roles=} is none of 0..{self.num_roles - 1}")
        if not 0 <= self.role_std < float("inf"):
            raise ValueError(f"{self.role_std=} is negative or not finite")
        if self.pooled not in ("address", "role"):
            raise ValueError(f"{self.pooled=} is neither address nor role")
        if self.num_identifiers is not None and (self.num_identifiers < 1 or self.instance_addresses):
            raise ValueError(f"{self.num_identifiers=} is for instance_addresses = false, and a positive number")


class RoleTable(nn.Embedding):
    """Half a width of learned numbers for each role that is no plain one."""

    def __init__(self, config: LisformerConfig) -> None:
        super().__init__(config.num_roles - config.num_plain_roles, config.width // 2)
        nn.init.normal_(self.weight, std=config.role_std)
        self.num_plain = config.num_plain_roles

    def forward(self, role: Tensor) -> Tensor:
        """Return (B, T, D/2) for roles (B, T), zeros for plain and negative ones."""
        row = role - self.num_plain
        looked_up: Tensor = super().forward(row.clamp(min=0))
        return looked_up.masked_fill((row < 0)[..., None], 0)


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
        self.role_angles = RoleTable(config)
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
        return logits_of(self, self.address(input_ids, role, instance, position, document))

    def address(
        self,
        input_ids: Tensor,
        role: Tensor,
        instance: Tensor,
        position: Tensor,
        document: Tensor | None = None,
        *,
        begin: int = 0,
    ) -> Addressed:
        """Return the tokens ready for the blocks, those from `begin` on as queries.

        The other columns may be longer than `input_ids`: an instance that goes on there is not complete.
        """
        length = input_ids.shape[1]
        columns = (input_ids, role[:, :length], instance[:, :length], position[:, :length])
        embedded, local, role_angles = self._turn(*(column[:, begin:] for column in columns))
        layout = instance_layout(instance, document).cut(length)

        def offset() -> Tensor:
            address = self.instance_address
            if address is None:
                return torch.ones_like(split_heads(local, self.config.num_attention_heads))
            pooled, turned, angles = self._turn(*columns) if begin else (embedded, local, role_angles)
            rotation = turned if self.config.pooled == "address" else turn(angles)
            return split_heads(turn(address(pooled, rotation, layout)), self.config.num_attention_heads)

        return Addressed(
            embedded=embedded,
            local=split_heads(local, self.config.num_attention_heads),
            last=layout.last if self.instance_address is not None else torch.full_like(layout.last, instance.shape[1]),
            offset=offset,
            document=None if document is None else document[:, :length],
            turns_values=self.config.turns_values,
        )

    def _turn(
        self, input_ids: Tensor, role: Tensor, instance: Tensor, position: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return embeddings (B, T, D), rotations by all that is known of a token itself, and the roles' angles."""
        embedded = self.transformer.embedding(input_ids)
        frequency = rotary_frequencies(self.config, input_ids.device)
        role_angles = self.role_angles(role)
        angles = position_angles(position, frequency, embedded.dtype) + role_angles
        if self.identifier_angles is not None:
            number = instance.clamp(min=0) % self.identifier_angles.num_embeddings
            angles = angles + self.identifier_angles(number).masked_fill((instance < 0)[..., None], 0)
        return embedded, turn(angles), role_angles
