"""The pre-norm Transformer that every model here shares; each model hands in its own attention."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional

from lisdata.models.dropout import Dropout

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Maps queries, keys and values, each (B, H, T, D/H), to the attended values of the same shape."""

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": functional.gelu, "relu": functional.relu}


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerConfig:
    """Size of a model; the defaults are those of LIS appendix F.1."""

    vocabulary_size: int
    width: int = 128
    num_layers: int = 4
    num_attention_heads: int = 4
    activation: str = "gelu"
    dropout: float = 0.0
    frequency_base: float = 10_000.0
    per_head_frequencies: bool = False

    def __post_init__(self) -> None:
        for name in ("vocabulary_size", "width", "num_layers", "num_attention_heads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} is not a positive number")
        if self.width % (2 * self.num_attention_heads):
            raise ValueError(f"{self.width=} does not split into {self.num_attention_heads} heads of even width")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"{self.activation=} is none of {', '.join(ACTIVATIONS)}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"{self.dropout=} is outside [0, 1)")
        if not self.frequency_base > 1:
            raise ValueError(f"{self.frequency_base=} is not above 1")


class Block(nn.Module):
    """One layer: x += O(attention(LN x)), then x += MLP(LN x) with an MLP four times as wide; biases everywhere."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        width = config.width
        self.num_attention_heads = config.num_attention_heads
        self.activation = ACTIVATIONS[config.activation]
        self.attention_norm = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attention_output = nn.Linear(width, width)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp_input = nn.Linear(width, 4 * width)
        self.mlp_output = nn.Linear(4 * width, width)
        self.dropout = Dropout(config.dropout)

    def forward(self, hidden: Tensor, attention: Attention) -> Tensor:
        """Return the next hidden states, (B, T, D)."""
        projected = self.query_key_value(self.attention_norm(hidden))
        heads = projected.unflatten(-1, (3, self.num_attention_heads, -1)).permute(2, 0, 3, 1, 4)
        attended = attention(*heads.unbind()).transpose(1, 2).flatten(-2)
        hidden = hidden + self.dropout(self.attention_output(attended))
        expanded = self.activation(self.mlp_input(self.mlp_norm(hidden)))
        output: Tensor = hidden + self.dropout(self.mlp_output(expanded))
        return output


class Transformer(nn.Module):
    """Token embedding, blocks, final LayerNorm and an untied output layer with bias.

    Dropout acts on the embeddings and on both residual branches, not on the attention weights: the fused attention of
    a CPU has none.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary_size, config.width)
        self.dropout = Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.final_norm = nn.LayerNorm(config.width)
        self.output = nn.Linear(config.width, config.vocabulary_size)

    def forward(self, embedded: Tensor, attention: Attention | Sequence[Attention]) -> Tensor:
        """Return logits (B, T, V) from embedded tokens (B, T, D), with one attention for all layers or one for each."""
        logits: Tensor = self.output(self.hidden_states(embedded, attention))
        return logits

    def hidden_states(self, embedded: Tensor, attention: Attention | Sequence[Attention]) -> Tensor:
        """Return what the output layer reads, (B, T, D)."""
        attentions = attention if isinstance(attention, Sequence) else [attention] * len(self.blocks)
        hidden = self.dropout(embedded)
        for block, attend in zip(self.blocks, attentions, strict=True):
            hidden = block(hidden, attend)
        normed: Tensor = self.final_norm(hidden)
        return normed
