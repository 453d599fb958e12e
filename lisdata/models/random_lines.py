"""Random line addresses: as the character LISformer, but a line's angles are drawn, not computed (LIS appendix F.1)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lisdata.models.addressed_attention import AddressedAttention
from lisdata.models.instances import line_layout
from lisdata.models.rotary import position_angles, rotary_frequencies, split_heads, turn
from lisdata.models.transformer import Transformer, TransformerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomLinesConfig(TransformerConfig):
    """Size of the model, the token that ends a line, and the seed of the drawn angles."""

    newline_id: int
    angle_seed: int = 0


class RandomLines(nn.Module):
    """A causal character Transformer with the address A(p, e) = R^p R_e, R_e turning by angles drawn from N(0, I).

    They are drawn anew in each forward pass. In training they follow a generator whose state is part of the state
    dict, so that a resumed run draws the same ones; `eval()` sets a second generator back to its seed, so that an
    evaluation is repeatable and leaves the training draws alone.
    """

    def __init__(self, config: RandomLinesConfig) -> None:
        super().__init__()
        self.config = config
        self.transformer = Transformer(config)
        self.training_generator = torch.Generator().manual_seed(config.angle_seed)
        self.evaluation_generator = torch.Generator().manual_seed(config.angle_seed)

    def train(self, mode: bool = True) -> "RandomLines":
        """Switch to training or evaluation; the latter sets the evaluation draws back to their seed."""
        if not mode:
            self.evaluation_generator.manual_seed(self.config.angle_seed)
        super().train(mode)
        return self

    def get_extra_state(self) -> Tensor:
        """Return the state of the training draws, for the state dict."""
        return self.training_generator.get_state()

    def set_extra_state(self, state: Tensor) -> None:
        """Take up the training draws where `state` left off."""
        self.training_generator.set_state(state.cpu())

    def forward(self, input_ids: Tensor) -> Tensor:
        """Return logits (B, T, V) for the token after each of `input_ids` (B, T), int64."""
        num_heads = self.config.num_attention_heads
        embedded = self.transformer.embedding(input_ids)
        layout, position = line_layout(input_ids, self.config.newline_id)
        frequency = rotary_frequencies(self.config, input_ids.device)
        local = turn(position_angles(position, frequency, embedded.dtype))
        attention = AddressedAttention(
            split_heads(local, num_heads), split_heads(self.draw(layout.last, embedded), num_heads), layout.last
        )
        logits: Tensor = self.transformer(embedded, attention)
        return logits

    def draw(self, last: Tensor, like: Tensor) -> Tensor:
        """Return a rotation (B, T, D/2) that is the same for the tokens of one completed line and no others.

        As many angles are drawn as the rows have tokens, whatever their lines, and a line takes those at its newline:
        so what comes after a line cannot change its draw.
        """
        num_rows, length = last.shape
        generator = self.training_generator if self.training else self.evaluation_generator
        angles = torch.randn(num_rows, length, self.config.width // 2, generator=generator)
        at_newline = last.clamp(max=length - 1)[..., None].expand(-1, -1, angles.shape[-1])
        return turn(angles.to(like).gather(1, at_newline))
