"""The one-pass form of the LISformer that the paper times (LIS appendix F.2). It leaks: for its time alone."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from lisdata.models.instances import line_layout
from lisdata.models.lisformer_lines import LisformerLines
from lisdata.models.rotary import position_angles, rotary_frequencies, rotate, split_heads, turn


class LeakingLines(LisformerLines):
    """All tokens of a completed line carry its address from its first token on, in one pass.

    A query knows by that address how its own line goes on, so what such a model predicts says nothing.
    """

    def forward(self, input_ids: Tensor) -> Tensor:
        """Return logits (B, T, V)."""
        embedded = self.transformer.embedding(input_ids)
        layout, position = line_layout(input_ids, self.config.newline_id)
        frequency = rotary_frequencies(self.config, input_ids.device)
        local = turn(position_angles(position, frequency, embedded.dtype))
        is_complete = (layout.last < input_ids.shape[1])[..., None]
        angles = self.line_address(embedded, local, layout).masked_fill(~is_complete, 0)
        rotation = split_heads(local * turn(angles), self.config.num_attention_heads)

        def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            query, key = rotate(query, rotation), rotate(key, rotation)
            return scaled_dot_product_attention(query, key, value, is_causal=True)

        logits: Tensor = self.transformer(embedded, attend)
        return logits
