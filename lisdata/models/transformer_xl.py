"""Transformer-XL as a causal decoder without memory, with every way in for hexatags that SiPE studies on it.

With the scores A = AC + BD and the agreement c of `relative_attention` and the tag vector e of `sipe_tags`, they are

    input          h_p = x_p + e_p, or another fusion, below the first layer        (SiPE Eq. 4)
    position       AC + (1 + c) BD in place of A                                    (Eq. 6)
    disentangled   A / sqrt(d_head) + c in place of A / sqrt(d_head)                (Eq. 7)
    attention      A_ij + q_i . W_K e_j, and v_j + W_V e_j                          (Eqs. 8 and 9)

and pairs of them. Where there is no tag e is 0, and scores, values and input (but for the fusions concat and alpha) are
those of the model without injection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from lisdata.models.relative_attention import LayerCache, RelativeAttention, causal_mask, relative_sinusoid
from lisdata.models.sipe_config import INJECTIONS, SipeConfig
from lisdata.models.sipe_tags import (
    INIT_STD,
    NUM_NONTERMINALS,
    NUM_TERMINALS,
    InputFusion,
    TagTables,
    mark_tags,
)
from lisdata.models.tag_injection import LayerProjections, LayerTags, Predictions
from lisdata.models.transformer import ACTIVATIONS

if TYPE_CHECKING:
    from lisdata.models.transformer_xl_cache import TransformerXlCache


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerXlConfig(SipeConfig):
    """Settings of the decoder (see `SipeConfig`); the paper's has 16 layers, width 1,024 and 8 attention heads.

    `mlp_width` is 4 x `width` unless given: with half a `width` more, a model without injection has the size of one
    with W_E in every layer. `norm` is "post" as in the paper, or "pre". `untie_biases`: u and v of each layer's own.
    `predicts_tags` is for the tags of the next position.
    """

    activation: str = "relu"
    norm: str = "post"
    untie_biases: bool = False

    def __post_init__(self) -> None:
        super(TransformerXlConfig, self).__post_init__()  # slots make another class, which a bare super() cannot see
        self._check_choice("norm", ("post", "pre"))
        self._check_choice("tag_tables", ("terminal+nonterminal",))


class TransformerXl(nn.Module):
    """The decoder; its logits at t depend on the tokens and the tags at 0..t and on nothing later.

    (A tag taken from a parse of the whole sentence tells of later words by itself: that is a matter of the data.)
    Under one seed the base model begins with the same weights, whatever else the settings add to it.
    """

    def __init__(self, config: TransformerXlConfig) -> None:
        super().__init__()
        self.config = config
        width, injection = config.width, INJECTIONS[config.injection]
        num_biases = config.num_layers if config.untie_biases else 1
        bias_shape = (num_biases, config.num_attention_heads, 1, 1, width // config.num_attention_heads)
        self.embedding = nn.Embedding(config.vocabulary_size, width)
        self.dropout = nn.Dropout(config.dropout)
        self.content_bias = nn.Parameter(torch.randn(bias_shape) * INIT_STD)  # u
        self.position_bias = nn.Parameter(torch.randn(bias_shape) * INIT_STD)  # v
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.final_norm = nn.LayerNorm(width) if config.norm == "pre" else nn.Identity()
        self.apply(_initialise)
        self.tag_tables = TagTables(width) if injection else None
        self.input_fusion = InputFusion(width, config.fusion, alpha=config.alpha) if "input" in injection else None
        num_injected = config.num_layers - config.first_layer + 1 if config.injection_in_layers else 0
        num_projections = min(num_injected, 1) if config.sharing == "shared" else num_injected
        self.tag_projections = nn.ModuleList(LayerProjections(config) for _ in range(num_projections))
        self.terminal_output = nn.Linear(width, NUM_TERMINALS) if config.predicts_tags else None
        self.nonterminal_output = nn.Linear(width, NUM_NONTERMINALS) if config.predicts_tags else None
        for output in (self.terminal_output, self.nonterminal_output):
            _initialise(output)

    def forward(
        self,
        input_ids: Tensor,
        terminal: Tensor | None = None,
        nonterminal: Tensor | None = None,
        document: Tensor | None = None,
    ) -> Tensor:
        """Return logits (B, T, V) of the token after each of `input_ids`; all arguments are (B, T), int64.

        `terminal` and `nonterminal` are negative where there is no tag; only a model without injection works without
        them. `document` numbers the structures packed in a row, each a run of tokens, which do not attend to each
        other; it is negative at padding. Raises ValueError for tags that are not given, IndexError for unknown ones.
        """
        return self.token_logits(self.hidden_states(input_ids, terminal, nonterminal, document))

    def predict(
        self,
        input_ids: Tensor,
        terminal: Tensor | None = None,
        nonterminal: Tensor | None = None,
        document: Tensor | None = None,
    ) -> Predictions:
        """Return what `forward` does and the logits of the next position's tags; ValueError without `predicts_tags`."""
        if self.terminal_output is None or self.nonterminal_output is None:
            raise ValueError("a model built without predicts_tags predicts no tags")
        hidden = self.hidden_states(input_ids, terminal, nonterminal, document)
        return Predictions(self.token_logits(hidden), self.terminal_output(hidden), self.nonterminal_output(hidden))

    def hidden_states(
        self,
        input_ids: Tensor,
        terminal: Tensor | None,
        nonterminal: Tensor | None,
        document: Tensor | None,
        cache: TransformerXlCache | None = None,
    ) -> Tensor:
        """Return the output of the last layer, (B, T, D).

        With a `cache` the T positions follow those in it, all of one document, and are kept there.
        """
        hidden, skip = self.embedding(input_ids), None
        length, num_biases = input_ids.shape[1], len(self.content_bias)
        if cache is not None:
            cache.extend(length)
        tags: list[LayerTags | None] = [None] * self.config.num_layers
        if self.tag_tables is not None:
            if terminal is None or nonterminal is None:
                raise ValueError(f"a model with injection {self.config.injection!r} needs terminal and nonterminal")
            marks = mark_tags(terminal, nonterminal, hidden.dtype)
            tags = self.project_tags(marks) if cache is None else cache.mark(marks)
            if self.input_fusion is not None:
                hidden, skip = self.input_fusion(hidden, marks, self.tag_tables())
        hidden = self.dropout(hidden)
        sinusoid = relative_sinusoid(length if cache is None else 0, self.config.width, hidden)
        mask = causal_mask(length if cache is None else cache.length, document, hidden, num_queries=length)
        for layer, block in enumerate(self.blocks):
            bias = self.content_bias[layer % num_biases], self.position_bias[layer % num_biases]
            kept = None if cache is None else cache.layers[layer]
            hidden = block(hidden, skip if layer == 0 else None, sinusoid, mask, bias, tags[layer], kept)
        normed: Tensor = self.final_norm(hidden)
        return normed

    def project_tags(self, marks: Tensor) -> list[LayerTags | None]:
        """Return the tags of each layer from marks (B, T, 7); None where it takes none."""
        if self.tag_tables is None:
            return [None] * self.config.num_layers
        rows = self.tag_tables()
        injected = [projections(marks, rows) for projections in self.tag_projections]
        if self.config.sharing == "shared":
            injected *= self.config.num_layers - self.config.first_layer + 1
        return [None] * (self.config.num_layers - len(injected)) + injected

    def project_offsets(self, sinusoid: Tensor) -> list[Tensor]:
        """Return W_R r of each layer, (H, S, d_head), of what `relative_sinusoid` gives for S offsets."""
        attentions = (cast(Block, block).attention for block in self.blocks)
        return [attention.project_offsets(sinusoid) for attention in attentions]

    def token_logits(self, hidden: Tensor) -> Tensor:
        """Return the logits (..., V) of the next token from hidden states (..., D)."""
        return functional.linear(hidden, self.embedding.weight)


class Block(nn.Module):
    """One layer: relative attention, then an MLP, each on a branch beside a skip branch, with a LayerNorm."""

    def __init__(self, config: TransformerXlConfig) -> None:
        super().__init__()
        width, mlp_width = config.width, config.mlp_width or 4 * config.width
        self.is_pre_norm = config.norm == "pre"
        self.activation = ACTIVATIONS[config.activation]
        self.attention = RelativeAttention(width, config.num_attention_heads)
        self.attention_norm = nn.LayerNorm(width)
        self.mlp_input = nn.Linear(width, mlp_width)
        self.mlp_output = nn.Linear(mlp_width, width)
        self.mlp_norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        hidden: Tensor,
        skip: Tensor | None,
        sinusoid: Tensor,
        mask: Tensor,
        bias: tuple[Tensor, Tensor],
        tags: LayerTags | None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Return the next hidden states, (B, T, D); `skip`, if any, is added to the attention's skip branch."""
        read = self.attention_norm(hidden) if self.is_pre_norm else hidden
        attended = self.dropout(self.attention(read, sinusoid, mask, bias, tags, cache))
        hidden = attended + (hidden if skip is None else hidden + skip)
        hidden = hidden if self.is_pre_norm else self.attention_norm(hidden)
        read = self.mlp_norm(hidden) if self.is_pre_norm else hidden
        output: Tensor = hidden + self.dropout(self.mlp_output(self.activation(self.mlp_input(read))))
        return output if self.is_pre_norm else self.mlp_norm(output)


def _initialise(module: nn.Module | None) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=INIT_STD)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
