"""RoBERTa (Liu et al. 2019), an encoder under learned absolute positions, with hexatags.

With the tag vector e of `sipe_tags` and the scores A of the attention they enter by

    input        h_p = LN(x_p + position_p + segment + e_p), or another fusion, below the first layer    (SiPE Eq. 2)
    attention    A_ij + q_i . W_K e_j, and v_j + W_V e_j                                                  (Eqs. 8 and 9)

or both. Where there is no tag e is 0, and the model is the one without injection (but for the fusions concat and
alpha).
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
    PostNormBlock,
    TokenOutput,
    document_mask,
    document_positions,
    initialise,
    join_heads,
    split_query_key_value,
)
from lisdata.models.sipe_tags import INIT_STD
from lisdata.models.tag_injection import LayerTags


@dataclass(frozen=True, slots=True, kw_only=True)
class RobertaConfig(EncoderConfig):
    """Settings of RoBERTa (see `EncoderConfig`), whose documents have at most `max_positions` tokens.

    The base size has 12 layers, width 768 and 12 attention heads; the large one 24, 1,024 and 16. `mlp_width` is
    4 x `width` unless given.
    """

    injections: ClassVar[tuple[str, ...]] = ("none", "input", "attention", "input+attention")

    max_positions: int = 512

    def __post_init__(self) -> None:
        super(RobertaConfig, self).__post_init__()
        if self.max_positions < 1:
            raise ValueError(f"{self.max_positions=} is not a positive number")


class Roberta(Encoder):
    """The encoder; all tokens are of one segment."""

    def __init__(self, config: RobertaConfig) -> None:
        super().__init__()
        self.config: RobertaConfig = config
        self.embedding = nn.Embedding(config.vocabulary_size, config.width)
        self.position_embedding = nn.Embedding(config.max_positions, config.width)
        self.segment = nn.Parameter(torch.randn(config.width) * INIT_STD)
        self.embedding_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(PostNormBlock(config, SelfAttention(config)) for _ in range(config.num_layers))
        self.output = TokenOutput(config, bias=True)
        self.apply(initialise)
        self.add_tags()

    def hidden_states(
        self,
        input_ids: Tensor,
        terminal: Tensor | None = None,
        nonterminal: Tensor | None = None,
        document: Tensor | None = None,
        deprel: Tensor | None = None,
    ) -> Tensor:
        """Return the output of the last layer, (B, T, D); IndexError for a document beyond `max_positions`."""
        position = self.position_embedding(document_positions(input_ids, document))
        embedded = self.embedding(input_ids) + position + self.segment
        embedded, skip, tags = self.tags(embedded, terminal, nonterminal, deprel)
        hidden: Tensor = self.dropout(self.embedding_norm(embedded))
        mask = document_mask(input_ids, document)
        for layer, block in enumerate(self.blocks):
            hidden = block(hidden, skip if layer == 0 else None, tags[layer], mask)
        return hidden


class SelfAttention(nn.Module):
    """The attention of a layer; the terms of Eqs. 8 and 9 are added to its keys and values."""

    def __init__(self, config: RobertaConfig) -> None:
        super().__init__()
        self.num_attention_heads = config.num_attention_heads
        self.query_key_value = nn.Linear(config.width, 3 * config.width)
        self.output = nn.Linear(config.width, config.width)
        self.mixing = ValueMixing()

    def forward(self, hidden: Tensor, tags: LayerTags | None, mask: Tensor) -> Tensor:
        """Return the attended values, (B, T, D)."""
        query, key, value = split_query_key_value(self.query_key_value(hidden), self.num_attention_heads)
        if tags is not None and tags.key is not None and tags.value is not None:
            key, value = key + tags.marks @ tags.key, value + tags.marks @ tags.value
        mix = partial(scaled_dot_product_attention, query, key, attn_mask=mask[None])  # of four axes it is fast
        output: Tensor = self.output(join_heads(self.mixing(mix, value)))
        return output
