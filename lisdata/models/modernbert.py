"""ModernBERT (Warner et al. 2024), an encoder under rotary positions, with hexatags.

Most layers attend to near tokens only. With the tag vector e of `sipe_tags`, the frequencies w and the scores A of the
attention, tags enter by

    input        h_p = LN(x_p + e_p), or another fusion, below the first layer                   (SiPE section 3.5.1)
    position     queries and keys at p are turned by p w + W_delta e_p in place of p w           (Eqs. 13 to 15)
    attention    A_ij + q_i . W_K e_j, with q not turned, and v_j + W_V e_j                      (Eqs. 8 and 9)

and pairs of them. Where there is no tag e is 0, and the model is the one without injection (but for the fusions concat
and alpha). The position pathway is an address of LIS, A(p, tag) = R^p R_tag, whose factors commute.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lisdata.models.attention_weights import ValueMixing
from lisdata.models.encoder import (
    Encoder,
    EncoderConfig,
    TokenOutput,
    document_mask,
    document_positions,
    initialise,
    join_heads,
    split_query_key_value,
)
from lisdata.models.rotary import position_angles, rotate, turn
from lisdata.models.tag_injection import LayerTags
from lisdata.models.transformer import ACTIVATIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class ModernBertConfig(EncoderConfig):
    """Settings of ModernBERT (see `EncoderConfig`).

    The base size has 22 layers, width 768 and 12 attention heads, and an MLP of 1,152, which is 1.5 x `width` as it is
    unless given; the large one 28, 1,024, 16 and 2,624.

    Layer 1 and every `global_every`th one after it attend to the whole document under the base `global_base`, the
    others to the `local_window` tokens around each, half on either side, under `local_base`.

    With the `target` "d_head" W_delta gives one set of phases to all attention heads, as in the paper, with "d_model"
    one to each. Projections of tags begin at 0, that is, with the base model exactly.
    """

    injections: ClassVar[tuple[str, ...]] = (
        "none", "input", "position", "attention", "input+attention", "position+attention",
    )  # fmt: skip

    target: str = "d_head"
    projection_std: float = 0.0
    global_every: int = 3
    local_window: int = 128
    global_base: float = 160_000.0
    local_base: float = 10_000.0

    def __post_init__(self) -> None:
        super(ModernBertConfig, self).__post_init__()
        if self.d_head % 2:
            raise ValueError(f"{self.width=} does not split into {self.num_attention_heads} heads of even width")
        for name in ("global_every", "local_window"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} is not a positive number")
        for name in ("global_base", "local_base"):
            if not getattr(self, name) > 1:
                raise ValueError(f"{name}={getattr(self, name)} is not above 1")
        if self.agreement_scale != "d_head":
            raise ValueError(f"{self.agreement_scale=} means nothing where tags are phases")

    def is_global(self, layer: int) -> bool:
        """Return whether a layer, counted from 0, attends to the whole document."""
        return layer % self.global_every == 0


_INTO_RESIDUAL = ("attention.output.weight", "mlp_output.weight", "output.dense.weight")
"""Weights that begin smaller in a deeper model, most of them of what is added to the residual stream."""


class ModernBert(Encoder):
    """The encoder: pre-norm layers without biases, the first without a norm before its attention."""

    def __init__(self, config: ModernBertConfig) -> None:
        super().__init__()
        self.config: ModernBertConfig = config
        self.embedding = nn.Embedding(config.vocabulary_size, config.width)
        self.embedding_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.num_layers))
        self.final_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon, bias=False)
        self.output = TokenOutput(config, bias=False)
        self.apply(initialise)
        with torch.no_grad():
            for name, weight in self.named_parameters():
                if name.endswith(_INTO_RESIDUAL):
                    weight.mul_((2 * config.num_layers) ** -0.5)
        self.add_tags(phases=True)

    def hidden_states(
        self,
        input_ids: Tensor,
        terminal: Tensor | None = None,
        nonterminal: Tensor | None = None,
        document: Tensor | None = None,
        deprel: Tensor | None = None,
    ) -> Tensor:
        """Return the output of the last layer, (B, T, D)."""
        config = self.config
        embedded, skip, tags = self.tags(self.embedding(input_ids), terminal, nonterminal, deprel)
        hidden = self.dropout(self.embedding_norm(embedded))
        position, exponent = document_positions(input_ids, document), self._exponent(input_ids.device)
        spaces = {
            is_global: (
                document_mask(input_ids, document, reach=None if is_global else config.local_window // 2),
                position_angles(position, base**exponent, hidden.dtype),
            )
            for is_global, base in ((True, config.global_base), (False, config.local_base))
        }
        for layer, block in enumerate(self.blocks):
            hidden = block(hidden, skip if layer == 0 else None, tags[layer], *spaces[config.is_global(layer)])
        normed: Tensor = self.final_norm(hidden)
        return normed

    def _exponent(self, device: torch.device) -> Tensor:
        d_head = self.config.d_head
        return -torch.arange(0, d_head, 2, dtype=torch.float64, device=device) / d_head


class Block(nn.Module):
    """One layer: x += attention(LN x), then x += MLP(LN x), where half of the MLP's input gates the other half."""

    def __init__(self, config: ModernBertConfig, layer: int) -> None:
        super().__init__()
        width, mlp_width = config.width, config.mlp_width or config.width * 3 // 2
        self.activation = ACTIVATIONS[config.activation]
        self.attention_norm = (
            nn.LayerNorm(width, eps=config.norm_epsilon, bias=False) if layer else nn.Identity()
        )  # the embeddings are normed already
        self.attention = RotaryAttention(config)
        self.mlp_norm = nn.LayerNorm(width, eps=config.norm_epsilon, bias=False)
        self.mlp_input = nn.Linear(width, 2 * mlp_width, bias=False)
        self.mlp_output = nn.Linear(mlp_width, width, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, hidden: Tensor, skip: Tensor | None, tags: LayerTags | None, mask: Tensor, angles: Tensor
    ) -> Tensor:
        """Return the next hidden states, (B, T, D); `skip`, if any, is added to the attention's skip branch."""
        attended = self.dropout(self.attention(self.attention_norm(hidden), tags, mask, angles))
        hidden = attended + (hidden if skip is None else hidden + skip)
        activated, gate = self.mlp_input(self.mlp_norm(hidden)).chunk(2, dim=-1)
        output: Tensor = hidden + self.dropout(self.mlp_output(self.activation(activated) * gate))
        return output


class RotaryAttention(nn.Module):
    """The attention of a layer, whose queries and keys are turned by the angles of their positions and tags."""

    def __init__(self, config: ModernBertConfig) -> None:
        super().__init__()
        self.num_attention_heads = config.num_attention_heads
        self.query_key_value = nn.Linear(config.width, 3 * config.width, bias=False)
        self.output = nn.Linear(config.width, config.width, bias=False)
        self.mixing = ValueMixing()

    def forward(self, hidden: Tensor, tags: LayerTags | None, mask: Tensor, angles: Tensor) -> Tensor:
        """Return the attended values, (B, T, D); `angles` are those of the positions, (B or 1, T, d_head / 2)."""
        query, key, value = split_query_key_value(self.query_key_value(hidden), self.num_attention_heads)
        bias = query.new_zeros(mask.shape).masked_fill_(~mask, float("-inf"))[None]  # of four axes it is fast
        if tags is not None and tags.phase is not None:
            angles = angles + tags.marks @ tags.phase
        if tags is not None and tags.key is not None and tags.value is not None:
            value = value + tags.marks @ tags.value
            by_row = query @ tags.key.mT * query.shape[-1] ** -0.5  # its queries with the 7 rows of the tables
            bias = bias + by_row @ tags.marks.mT.to(by_row)
        rotation = turn(angles)
        query, key = rotate(query, rotation), rotate(key, rotation)
        mix = partial(scaled_dot_product_attention, query, key, attn_mask=bias)
        output: Tensor = self.output(join_heads(self.mixing(mix, value)))
        return output
