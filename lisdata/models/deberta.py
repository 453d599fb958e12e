"""DeBERTa-v3 (He et al. 2021, 2023), an encoder whose attention holds content and position apart, with hexatags.

For the contents of a query i and a key j, and the vectors K^r and Q^r of their bucketed offset d(i, j), the scores are

    S_con = Q_i . K_j        S_pos = Q_i . K^r_d(i,j) + K_j . Q^r_d(i,j)        (SiPE Eq. 10)

and softmax_j((S_con + S_pos) / sqrt(3 d_head)) weighs the values. With the tag vector e of `sipe_tags` and the
agreement c_ij = Q_i . W_E e_j / sqrt(d_head), tags enter by

    input        h_p = LN(x_p + e_p), or another fusion, below the first layer        (Eq. 11)
    position     S_con + (1 + c) S_pos                                                (Eq. 12)
    attention    S_con + S_pos + Q_i . W_K e_j, and v_j + W_V e_j                     (Eqs. 8 and 9)

and pairs of them. Where there is no tag e is 0, and the model is the one without injection (but for the fusions concat
and alpha). It is trained here as a masked language model; replaced token detection and its generator are left out.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from lisdata.models.attention_weights import ValueMixing
from lisdata.models.encoder import (
    Encoder,
    EncoderConfig,
    PostNormBlock,
    TokenOutput,
    document_mask,
    initialise,
    join_heads,
    split_query_key_value,
)
from lisdata.models.relative_attention import add_coupled
from lisdata.models.tag_injection import LayerTags


@dataclass(frozen=True, slots=True, kw_only=True)
class DebertaConfig(EncoderConfig):
    """Settings of DeBERTa-v3 (see `EncoderConfig`).

    The base size has 12 layers, width 768 and 12 attention heads; the large one 24, 1,024 and 16. `mlp_width` is
    4 x `width` unless given.

    Offsets have `num_buckets` buckets on either side: one for each offset up to half of them, then wider ones, up to
    `max_offset`. `p2c_offset` is that at which Q^r is read: "i-j", as in the published code and weights, or "j-i", as
    the papers write it.
    """

    injections: ClassVar[tuple[str, ...]] = (
        "none", "input", "position", "attention", "input+attention", "position+attention",
    )  # fmt: skip

    norm_epsilon: float = 1e-7
    num_buckets: int = 256
    max_offset: int = 512
    p2c_offset: str = "i-j"

    def __post_init__(self) -> None:
        super(DebertaConfig, self).__post_init__()
        if self.num_buckets < 4 or self.num_buckets % 2:
            raise ValueError(f"{self.num_buckets=} is not an even number from 4")
        if self.max_offset <= self.num_buckets // 2 + 1:
            raise ValueError(f"{self.max_offset=} leaves nothing beyond the first {self.num_buckets // 2} buckets")
        self._check_choice("p2c_offset", ("i-j", "j-i"))


class Deberta(Encoder):
    """The encoder: positions are told to its attention alone, by one table of offsets for all layers."""

    def __init__(self, config: DebertaConfig) -> None:
        super().__init__()
        self.config: DebertaConfig = config
        self.embedding = nn.Embedding(config.vocabulary_size, config.width)
        self.embedding_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)
        self.offset_embedding = nn.Embedding(2 * config.num_buckets, config.width)
        self.offset_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.blocks = nn.ModuleList(
            PostNormBlock(config, DisentangledAttention(config)) for _ in range(config.num_layers)
        )
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
        """Return the output of the last layer, (B, T, D)."""
        embedded, skip, tags = self.tags(self.embedding(input_ids), terminal, nonterminal, deprel)
        hidden: Tensor = self.dropout(self.embedding_norm(embedded))
        offsets = self.dropout(self.offset_norm(self.offset_embedding.weight))
        bucket = bucket_offsets(input_ids.shape[1], self.config.num_buckets, self.config.max_offset, input_ids.device)
        mask = document_mask(input_ids, document)
        for layer, block in enumerate(self.blocks):
            hidden = block(hidden, skip if layer == 0 else None, tags[layer], mask, offsets, bucket)
        return hidden


class DisentangledAttention(nn.Module):
    """The attention of a layer; contents and offsets share its projections, as since DeBERTa-v2."""

    def __init__(self, config: DebertaConfig) -> None:
        super().__init__()
        self.num_attention_heads = config.num_attention_heads
        self.is_mirrored = config.p2c_offset == "j-i"
        self.query_key_value = nn.Linear(config.width, 3 * config.width)
        self.output = nn.Linear(config.width, config.width)
        self.mixing = ValueMixing()

    def forward(self, hidden: Tensor, tags: LayerTags | None, mask: Tensor, offsets: Tensor, bucket: Tensor) -> Tensor:
        """Return the attended values, (B, T, D).

        `offsets` (2 R, D) are the embedded offsets, `bucket` (T, T) the row there of each query's and key's.
        """
        query, key, value = split_query_key_value(self.query_key_value(hidden), self.num_attention_heads)
        others = query.new_zeros(mask.shape).masked_fill_(~mask, float("-inf"))
        scale = (3 * query.shape[-1]) ** -0.5
        position_scores = self._position_scores(query, key, offsets, bucket) * scale
        if tags is not None and tags.key is not None and tags.value is not None:
            marks = tags.marks.to(query)
            value = value + marks @ tags.value
            others = others + (query * scale) @ tags.key.mT @ marks.mT  # Eq. 8
        if tags is not None and tags.multiplied is not None:  # Eq. 12
            by_row = query * query.shape[-1] ** -0.5 @ tags.multiplied.mT
            others = add_coupled(others, position_scores, by_row, tags.marks.to(query))
        else:
            others = others + position_scores
        scores = torch.baddbmm(others.flatten(0, 1), (query * scale).flatten(0, 1), key.flatten(0, 1).mT)
        weights = scores.view_as(others).softmax(-1)
        output: Tensor = self.output(join_heads(self.mixing(weights.matmul, value)))
        return output

    def _position_scores(self, query: Tensor, key: Tensor, offsets: Tensor, bucket: Tensor) -> Tensor:
        """Return S_pos, (H, B, T, T): products with the vectors of all offsets, looked up by each pair's offset."""
        of_offsets = self.query_key_value(offsets)[None]
        offset_query, offset_key, _ = split_query_key_value(of_offsets, self.num_attention_heads)
        by_pair = bucket.expand(*query.shape[:2], -1, -1)
        content_to_position = (query @ offset_key.mT).gather(-1, by_pair)
        by_pair = by_pair if self.is_mirrored else by_pair.mT  # rows are keys here
        position_to_content = (key @ offset_query.mT).gather(-1, by_pair)
        return content_to_position + position_to_content.mT


def bucket_offsets(length: int, num_buckets: int, max_offset: int, device: torch.device) -> Tensor:
    """Return the bucket of the offset i - j of query i and key j, (T, T), int64, in 0 .. 2 `num_buckets` - 1.

    Offsets up to half of `num_buckets` have one each, the logarithms of those up to `max_offset` share the others.
    """
    place = torch.arange(length, device=device)
    offset, middle = place[:, None] - place, num_buckets // 2
    beyond = (offset.abs().clamp(min=middle).double() / middle).log() / math.log((max_offset - 1) / middle)
    bucket = middle + (beyond * (middle - 1)).ceil().long()
    bucket = torch.where(offset.abs() <= middle, offset, bucket * offset.sign())
    return (bucket + num_buckets).clamp(0, 2 * num_buckets - 1)
