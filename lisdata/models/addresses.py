"""What a model makes of tokens before its blocks: their embeddings, and the addresses by which queries read keys.

Given tokens from `begin` on, for all those before are kept (`lisdata.models.key_value_cache`), it is the same but for
fewer queries. A model's `forward` begins at 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from lisdata.models.addressed_attention import AddressedAttention
from lisdata.models.rotary import rotate
from lisdata.models.transformer import Attention, Transformer
from lisdata.models.window_attention import window_attention


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressed:
    """T tokens, of which the last n are queries.

    `embedded` (B, n, D) and `local` (B or 1, H, n, D/2H), the rotation of queries and of keys by their own place (None:
    none), are those of the queries. `last` (B, T) and `document` (B, T) are those of `AddressedAttention`, and
    `offset` gives the rotation (B, H, T, D/2H) that keys take on besides, once their instance is complete; without
    `last` none is ever complete. `bias` (1, H, n, T) is added to the scores; a query reads the last `window` keys, its
    own included, or all. With `turns_values` values are turned as keys are, and what a query takes is turned back.
    """

    embedded: Tensor
    local: Tensor | None = None
    last: Tensor | None = None
    offset: Callable[[], Tensor] | None = None
    document: Tensor | None = None
    bias: Tensor | None = None
    window: int | None = None
    turns_values: bool = False

    def attention(self) -> Attention:
        """Return the attention of all tokens at once, for which `begin` is 0."""
        if self.last is not None and self.local is not None and self.offset is not None:
            return AddressedAttention(
                self.local, self.offset(), self.last, self.document, turns_values=self.turns_values
            )

        def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            query, key = self.turn_local(query), self.turn_local(key)
            if self.window is not None:
                return window_attention(query, key, value, self.window)
            bias = None if self.bias is None else self.bias.to(query.dtype)
            return scaled_dot_product_attention(query, key, value, attn_mask=bias, is_causal=bias is None)

        return attend

    def turn_local(self, vectors: Tensor) -> Tensor:
        """Return queries or keys (B, H, n, D/H) of the last n tokens turned by their own place."""
        return vectors if self.local is None else rotate(vectors, self.local)

    def turn_back(self, vectors: Tensor) -> Tensor:
        """Undo `turn_local`."""
        return vectors if self.local is None else rotate(vectors, self.local.conj())


class AddressedModel(Protocol):
    """A causal model whose tokens are read by their addresses."""

    transformer: Transformer

    @property
    def address(self) -> Callable[..., Addressed]:
        """A method that takes `input_ids` (B, T), the model's other columns and `begin`, by name.

        It returns the tokens ready for the blocks, those from `begin` on as queries. Other columns may be longer than
        `input_ids`, for tokens to come.
        """


def logits_of(model: AddressedModel, addressed: Addressed) -> Tensor:
    """Return logits (B, T, V) for the token after each, where all tokens are queries."""
    logits: Tensor = model.transformer(addressed.embedded, addressed.attention())
    return logits
