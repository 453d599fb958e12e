"""Zero offset: as the character LISformer, but phi = 0: a line is addressed by nothing but its own beginning."""

from dataclasses import dataclass

from torch import Tensor, nn

from lisdata.models.addresses import Addressed, logits_of
from lisdata.models.instances import line_layout
from lisdata.models.rotary import position_angles, rotary_frequencies, split_heads, turn
from lisdata.models.transformer import Transformer, TransformerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroOffsetConfig(TransformerConfig):
    """Size of the model, and the token that ends a line."""

    newline_id: int


class ZeroOffset(nn.Module):
    """A causal character Transformer with the address A(p, e) = R^p: RoPE whose positions restart after each newline.

    What the LISformer does better than this, its line addresses do. Keys of equal position in different lines look
    alike, so one ordinary attention is enough.
    """

    def __init__(self, config: ZeroOffsetConfig) -> None:
        super().__init__()
        self.config = config
        self.transformer = Transformer(config)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Return logits (B, T, V) for the token after each of `input_ids` (B, T), int64."""
        return logits_of(self, self.address(input_ids))

    def address(self, input_ids: Tensor, *, begin: int = 0) -> Addressed:
        """Return the tokens ready for the blocks, those from `begin` on as queries."""
        embedded = self.transformer.embedding(input_ids[:, begin:])
        _, position = line_layout(input_ids, self.config.newline_id)
        frequency = rotary_frequencies(self.config, input_ids.device)
        rotation = turn(position_angles(position[:, begin:], frequency, embedded.dtype))
        return Addressed(embedded=embedded, local=split_heads(rotation, self.config.num_attention_heads))
