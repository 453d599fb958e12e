"""Keys and values of the tokens read so far: one more token costs one query a layer, and gives the same logits.

A key is kept under the address that it has for the next query. That changes once: when its instance completes (a
line's newline was read, a fact's last endpoint), the key takes on the instance's rotation, in every layer.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from lisdata.models.addresses import Addressed, AddressedModel
from lisdata.models.rotary import rotate
from lisdata.models.transformer import Attention


class KeyValueCache:
    """What an addressed model, in evaluation, keeps of the first `length` tokens of B rows.

    Raises ValueError for a model whose tokens have no addresses of their own: one that masks, draws its addresses anew
    in each pass, or adds them to what the layers project.
    """

    def __init__(self, model: AddressedModel) -> None:
        if not hasattr(model, "address"):
            raise ValueError(f"{type(model).__name__} keeps no keys and values: it has no addresses to read them by")
        self._model = model
        self._layers: list[_Layer] = []
        self._is_complete: Tensor | None = None
        self.length = 0

    @torch.no_grad()
    def read(self, input_ids: Tensor, **columns: Tensor) -> Tensor:
        """Read the tokens of `input_ids` (B, T) from `length` on; return logits (B, T - length, V), one after each.

        All tokens are given, those read before as they were. Other columns may be longer than `input_ids`: then they
        say of tokens to come which instances go on. Raises ValueError where one does that was complete already.
        """
        if input_ids.shape[1] <= self.length:
            raise ValueError(f"expected more than the {self.length} tokens read so far, got {input_ids.shape[1]}")
        found = []
        if not self.length:
            found.append(self._read_first(self._model.address(input_ids, **columns)))
        while self.length < input_ids.shape[1]:
            known = input_ids[:, : self.length + 1]
            found.append(self._read_next(self._model.address(known, **columns, begin=self.length)))
        return torch.cat(found, dim=1)

    def _read_first(self, addressed: Addressed) -> Tensor:
        """Read all tokens in one pass."""
        attention = addressed.attention()
        self._layers = [_Layer(addressed, attention) for _ in self._model.transformer.blocks]
        logits = self._apply(addressed, [layer.read_first for layer in self._layers])
        self.length = addressed.embedded.shape[1]
        if addressed.last is not None:
            self._is_complete = torch.zeros_like(addressed.last, dtype=torch.bool)
        return logits

    def _read_next(self, addressed: Addressed) -> Tensor:
        """Read one more token, to which instances that ended before it are complete."""
        self._complete(addressed)
        mask = _visible(addressed)
        steps = [_Step(layer, addressed, mask) for layer in self._layers]
        logits = self._apply(addressed, steps)
        self.length += 1
        return logits

    def _apply(self, addressed: Addressed, attentions: Sequence[Attention]) -> Tensor:
        logits: Tensor = self._model.transformer(addressed.embedded, attentions)
        return logits

    def _complete(self, addressed: Addressed) -> None:
        """Turn the keys of instances that are complete for the query of `addressed`, and were not for the last one."""
        if self._is_complete is None or addressed.last is None or addressed.offset is None:
            return
        is_complete = addressed.last[:, : self.length] < self.length
        is_known = pad(self._is_complete, (0, self.length - self._is_complete.shape[1]))
        if (is_known & ~is_complete).any():
            raise ValueError(
                f"token {self.length} goes on with an instance that was complete: give the columns of tokens to come"
            )
        self._is_complete, is_new = is_complete, is_complete & ~is_known
        if is_new.any():
            offset = addressed.offset()[:, :, : self.length]
            rotation = torch.where(is_new[:, None, :, None], offset, torch.ones_like(offset))
            for layer in self._layers:
                layer.turn(rotation, turns_values=addressed.turns_values)


class _Layer:
    """The keys and values (B, H, T, D/H) of one layer, in buffers that double when they are full."""

    def __init__(self, first: Addressed, attention: Attention) -> None:
        self._first, self._attention = first, attention
        self._keys = self._values = first.embedded.new_empty(0)
        self.length = 0

    def read_first(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attend as in a pass over all tokens, and keep what was read."""
        self._keys = self._first.turn_local(key).contiguous()
        self._values = (self._first.turn_local(value) if self._first.turns_values else value).contiguous()
        self.length = key.shape[2]
        return self._attention(query, key, value)

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keep those of one more token, and return all."""
        if self.length == self._keys.shape[2]:
            self._keys, self._values = (torch.cat([x, torch.empty_like(x)], dim=2) for x in (self._keys, self._values))
        place = slice(self.length, self.length + 1)
        self._keys[:, :, place], self._values[:, :, place] = key, value
        self.length += 1
        return self._keys[:, :, : self.length], self._values[:, :, : self.length]

    def turn(self, rotation: Tensor, *, turns_values: bool) -> None:
        """Turn the keys, and the values if asked, by `rotation` (B, H, T, D/2H)."""
        known = slice(0, self.length)
        self._keys[:, :, known] = rotate(self._keys[:, :, known], rotation)
        if turns_values:
            self._values[:, :, known] = rotate(self._values[:, :, known], rotation)


class _Step:
    """The attention of one layer for one query."""

    def __init__(self, layer: _Layer, addressed: Addressed, mask: Tensor | None) -> None:
        self._layer, self._addressed, self._mask = layer, addressed, mask

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        addressed = self._addressed
        turn = addressed.turn_local
        keys, values = self._layer.append(turn(key), turn(value) if addressed.turns_values else value)
        if addressed.window is not None:
            keys, values = (x[:, :, -addressed.window :] for x in (keys, values))
        attended = scaled_dot_product_attention(turn(query), keys, values, attn_mask=self._mask)
        return addressed.turn_back(attended) if addressed.turns_values else attended


def _visible(addressed: Addressed) -> Tensor | None:
    """Return what is added to the scores of the last token, (B or 1, H or 1, 1, T); None: nothing."""
    if addressed.bias is not None:
        return addressed.bias
    document = addressed.document
    if document is None:
        return None
    is_open = (document == document[:, -1:]) & (document >= 0)  # padding attends to itself alone
    is_open[:, -1] = True
    return is_open[:, None, None]
