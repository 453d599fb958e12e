"""What SiPE's encoders share: their masks, the layer of two of them, and what they say of masked tokens."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from lisdata.models.sipe_config import SipeConfig
from lisdata.models.sipe_tags import INIT_STD, NUM_NONTERMINALS, NUM_TERMINALS
from lisdata.models.tag_injection import LayerTags, Predictions, TagInjection
from lisdata.models.transformer import ACTIVATIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderConfig(SipeConfig):
    """Settings of an encoder (see `SipeConfig`), whose `mask_id` is the token that stands for what is to be predicted.

    `predicts_tags` is for the tags of the position itself.
    """

    mask_id: int
    norm_epsilon: float = 1e-5

    def __post_init__(self) -> None:
        super(EncoderConfig, self).__post_init__()  # slots make another class, which a bare super() cannot see
        if not 0 <= self.mask_id < self.vocabulary_size:
            raise ValueError(f"{self.mask_id=} is none of {self.vocabulary_size} tokens")
        if self.norm_epsilon <= 0:
            raise ValueError(f"{self.norm_epsilon=} is not a positive number")


class Encoder(nn.Module, ABC):
    """A masked language model with hexatags; a subclass makes its base model and then calls `add_tags`.

    Every position attends to its whole document, so a tag at one position moves the logits of all of them. Dropout acts
    on the embeddings and on both branches of a layer, not on the weights of the attention. Under one seed the base
    model begins with the same weights, whatever else the settings add to it.
    """

    config: EncoderConfig
    embedding: nn.Embedding
    output: "TokenOutput"

    def add_tags(self, *, phases: bool = False) -> None:
        """Add what the injection needs, and the outputs for tags where the settings ask for them."""
        config = self.config
        self.tags = TagInjection(config, phases=phases)
        self.terminal_output = nn.Linear(config.width, NUM_TERMINALS) if config.predicts_tags else None
        self.nonterminal_output = nn.Linear(config.width, NUM_NONTERMINALS) if config.predicts_tags else None
        for output in (self.terminal_output, self.nonterminal_output):
            initialise(output)

    def forward(
        self,
        input_ids: Tensor,
        terminal: Tensor | None = None,
        nonterminal: Tensor | None = None,
        document: Tensor | None = None,
        deprel: Tensor | None = None,
    ) -> Tensor:
        """Return logits (B, T, V) of the token at each position; all arguments are (B, T), int64.

        `terminal`, `nonterminal` and `deprel` are negative where there is no tag, as has to be where a token is masked;
        a model works without those that it has no table of. `document` numbers the structures packed in a row, each a
        run of tokens, which do not attend to each other; it is negative at padding. Raises ValueError for tags that are
        not given, IndexError for unknown ones.
        """
        return self.token_logits(self.hidden_states(input_ids, terminal, nonterminal, document, deprel))

    def predict(
        self,
        input_ids: Tensor,
        terminal: Tensor | None = None,
        nonterminal: Tensor | None = None,
        document: Tensor | None = None,
        deprel: Tensor | None = None,
    ) -> Predictions:
        """Return what `forward` does and the logits of each position's tags; ValueError without `predicts_tags`."""
        hidden = self.hidden_states(input_ids, terminal, nonterminal, document, deprel)
        return Predictions(self.token_logits(hidden), *self.tag_logits(hidden))

    @abstractmethod
    def hidden_states(
        self,
        input_ids: Tensor,
        terminal: Tensor | None = None,
        nonterminal: Tensor | None = None,
        document: Tensor | None = None,
        deprel: Tensor | None = None,
    ) -> Tensor:
        """Return the output of the last layer, (B, T, D), from what `forward` takes."""

    def token_logits(self, hidden: Tensor) -> Tensor:
        """Return the logits (..., V) of tokens from hidden states (..., D), such as those of masked positions alone."""
        logits: Tensor = self.output(hidden, self.embedding.weight)
        return logits

    def tag_logits(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits (..., 2) and (..., 5) of tags; ValueError without `predicts_tags`."""
        if self.terminal_output is None or self.nonterminal_output is None:
            raise ValueError("a model built without predicts_tags predicts no tags")
        return self.terminal_output(hidden), self.nonterminal_output(hidden)


class TokenOutput(nn.Module):
    """A layer, its LayerNorm, and the token embedding once more, with a bias of its own."""

    def __init__(self, config: EncoderConfig, *, bias: bool) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        self.dense = nn.Linear(config.width, config.width, bias=bias)
        self.norm = nn.LayerNorm(config.width, eps=config.norm_epsilon, bias=bias)
        self.bias = nn.Parameter(torch.zeros(config.vocabulary_size))

    def forward(self, hidden: Tensor, embedding: Tensor) -> Tensor:
        """Return logits (..., V) from hidden states (..., D) and the token embedding (V, D)."""
        return functional.linear(self.norm(self.activation(self.dense(hidden))), embedding, self.bias)


class PostNormBlock(nn.Module):
    """The layer of RoBERTa and DeBERTa: LN(x + attention(x)), then LN(x + MLP(x)), biases everywhere."""

    def __init__(self, config: EncoderConfig, attention: nn.Module) -> None:
        super().__init__()
        width, mlp_width = config.width, config.mlp_width or 4 * config.width
        self.activation = ACTIVATIONS[config.activation]
        self.attention = attention
        self.attention_norm = nn.LayerNorm(width, eps=config.norm_epsilon)
        self.mlp_input = nn.Linear(width, mlp_width)
        self.mlp_output = nn.Linear(mlp_width, width)
        self.mlp_norm = nn.LayerNorm(width, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, hidden: Tensor, skip: Tensor | None, tags: LayerTags | None, *context: Tensor) -> Tensor:
        """Return the next hidden states, (B, T, D); `skip`, if any, is added to the attention's skip branch.

        `context` is what the attention takes beside the hidden states and the tags.
        """
        attended = self.dropout(self.attention(hidden, tags, *context))
        hidden = self.attention_norm(attended + (hidden if skip is None else hidden + skip))
        expanded = self.activation(self.mlp_input(hidden))
        output: Tensor = self.mlp_norm(hidden + self.dropout(self.mlp_output(expanded)))
        return output


def initialise(module: nn.Module | None) -> None:
    """Draw weights of a linear layer or embedding from a narrow normal distribution; biases are 0."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=INIT_STD)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


def split_query_key_value(projected: Tensor, num_attention_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values, (H, B, T, d_head) each, of their projections (B, T, 3 D)."""
    query, key, value = projected.unflatten(-1, (3, num_attention_heads, -1)).permute(2, 3, 0, 1, 4).unbind()
    return query, key, value


def join_heads(attended: Tensor) -> Tensor:
    """Return (H, B, T, d_head) as (B, T, D)."""
    return attended.permute(1, 2, 0, 3).flatten(-2)


def document_positions(input_ids: Tensor, document: Tensor | None) -> Tensor:
    """Return each position counted from the begin of its document, (B, T) or, where a row is one, (1, T)."""
    place = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
    if document is None:
        return place
    is_begin = document != functional.pad(document, (1, 0), value=-1)[:, :-1]
    begin = torch.where(is_begin, place, 0).cummax(1).values
    return (place - begin).masked_fill(document < 0, 0)


def document_mask(input_ids: Tensor, document: Tensor | None, *, reach: int | None = None) -> Tensor:
    """Return where a query (row) attends to a key, (B or 1, T, T), bool: in its document, at most `reach` away."""
    length = input_ids.shape[1]
    is_open = torch.ones(1, length, length, dtype=torch.bool, device=input_ids.device)
    if reach is not None:
        is_open = is_open.triu(-reach).tril(reach)
    if document is not None:
        is_open = is_open & (document[:, :, None] == document[:, None])
    return is_open
