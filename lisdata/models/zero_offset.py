"""Zero offset: as the character LISformer, but phi = 0: a line is addressed by nothing but its own beginning."""

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lisdata.models.instances import line_layout
from lisdata.models.rotary import position_angles, rotary_frequencies, rotate, split_heads, turn
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
        embedded = self.transformer.embedding(input_ids)
        _, position = line_layout(input_ids, self.config.newline_id)
        frequency = rotary_frequencies(self.config, input_ids.device)
        angles = position_angles(position, frequency, embedded.dtype)
        rotation = split_heads(turn(angles), self.config.num_attention_heads)

        def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            query, key = rotate(query, rotation), rotate(key, rotation)
            return scaled_dot_product_attention(query, key, value, is_causal=True)

        logits: Tensor = self.transformer(embedded, attend)
        return logits
