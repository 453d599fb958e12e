"""Own line only: a character model that sees nothing of earlier lines, the floor below every use of distant text."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lisdata.models.addresses import Addressed, logits_of
from lisdata.models.instances import line_layout
from lisdata.models.rotary import position_angles, rotary_frequencies, split_heads, turn
from lisdata.models.transformer import Transformer, TransformerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLineConfig(TransformerConfig):
    """Size of the model, and the token that ends a line."""

    newline_id: int


class OwnLine(nn.Module):
    """A causal character Transformer whose queries attend to their own line only, newline included.

    Its perplexity is flat in the context by construction. Where the LISformer is no better, it does not use other
    lines.
    """

    def __init__(self, config: OwnLineConfig) -> None:
        super().__init__()
        self.config = config
        self.transformer = Transformer(config)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Return logits (B, T, V) for the token after each of `input_ids` (B, T), int64."""
        return logits_of(self, self.address(input_ids))

    def address(self, input_ids: Tensor, *, begin: int = 0) -> Addressed:
        """Return the tokens ready for the blocks, those from `begin` on as queries."""
        embedded = self.transformer.embedding(input_ids[:, begin:])
        layout, position = line_layout(input_ids, self.config.newline_id)
        frequency = rotary_frequencies(self.config, input_ids.device)
        angles = position_angles(position[:, begin:], frequency, embedded.dtype)
        local = split_heads(turn(angles), self.config.num_attention_heads)
        return Addressed(
            embedded=embedded,
            local=local,
            last=torch.full_like(layout.last, input_ids.shape[1]),  # no line completes, so no key takes on an offset
            offset=lambda: torch.ones_like(local),
            document=layout.group,
        )
