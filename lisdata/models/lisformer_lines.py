"""Character LISformer: lines are instances, addressed by their position and by their content (LIS appendix F.1)."""

from dataclasses import dataclass

from torch import Tensor, nn

from lisdata.models.addresses import Addressed, logits_of
from lisdata.models.instances import ContentAddress, line_layout
from lisdata.models.rotary import position_angles, rotary_frequencies, split_heads, turn
from lisdata.models.transformer import Transformer, TransformerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class LisformerLinesConfig(TransformerConfig):
    """Size of the character LISformer, and the token that ends a line."""

    newline_id: int


class LisformerLines(nn.Module):
    """A causal character Transformer with the address A(p, e) = R^p R_e.

    The position p restarts after each newline. R_e turns by the angles that `ContentAddress` computes from line e, for
    completed lines; R_e = I for the query's own line.
    """

    def __init__(self, config: LisformerLinesConfig) -> None:
        super().__init__()
        self.config = config
        self.transformer = Transformer(config)
        self.line_address = ContentAddress(config.width)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Return logits (B, T, V) for the token after each of `input_ids` (B, T), int64."""
        return logits_of(self, self.address(input_ids))

    def address(self, input_ids: Tensor, *, begin: int = 0) -> Addressed:
        """Return the tokens ready for the blocks, those from `begin` on as queries."""
        num_heads = self.config.num_attention_heads
        layout, position = line_layout(input_ids, self.config.newline_id)
        embedded = self.transformer.embedding(input_ids[:, begin:])
        local = self._turn(position[:, begin:], embedded)

        def offset() -> Tensor:
            whole = (embedded, local)
            if begin:
                whole = (self.transformer.embedding(input_ids), self._turn(position, embedded))
            return split_heads(turn(self.line_address(*whole, layout)), num_heads)

        return Addressed(embedded=embedded, local=split_heads(local, num_heads), last=layout.last, offset=offset)

    def _turn(self, position: Tensor, embedded: Tensor) -> Tensor:
        frequency = rotary_frequencies(self.config, position.device)
        return turn(position_angles(position, frequency, embedded.dtype))
