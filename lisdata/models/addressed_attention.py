"""Causal attention whose keys take on their instance's address once the instance is complete.

The score of query t and key s is

    q_t^T R(a_s - a_t + [last_s < t] phi_s) k_s

with the local angle a, the instance's angle phi and the index last_s of the last token of s's instance. A query's own
instance is never complete, so the query carries its local angle alone. Giving every token its offset in one pass would
leak: the query would know, by phi, how its own instance goes on.

Two banks of keys, one with and one without the offset, under complementary masks, put the rule into one softmax. Here
queries go in chunks, and a chunk reads only the stretch of either bank that one of its masks lets through: for text in
short lines that is all earlier keys with the offset and a few without. On a CPU the two stretches are joined anew for
the backward pass (`two_banks`), elsewhere they are kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from lisdata.models.instances import group_ends, number_groups
from lisdata.models.rotary import rotate
from lisdata.models.two_banks import attend_banks


@dataclass(frozen=True, slots=True)
class Chunk:
    """The keys of either bank that a chunk of queries reads, and the additive `mask` (B, 1, queries, keys) of both.

    The keys with the offset come first.
    """

    queries: slice
    offset_keys: slice
    local_keys: slice
    mask: Tensor

    @property
    def stretches(self) -> tuple[int, int]:
        """The number of keys of either bank."""
        return self.offset_keys.stop - self.offset_keys.start, self.local_keys.stop - self.local_keys.start


class AddressedAttention:
    """An attention for `Block`, made once per batch and used by all layers.

    `local` and `offset` are rotations (B or 1, H, T, D/2H); `last` (B, T) is that of `InstanceLayout`. A query attends
    to keys of its own `document` (B, T) only; padding, where that is negative, attends to itself alone. `chunk_size`
    and `joins_banks` (by default: not on a CPU) change the speed and nothing else. With `turns_values` a query at t
    takes from a key at s not its value v but P v, with the operator P of their score (LIS Remark 4.8).
    """

    def __init__(
        self,
        local: Tensor,
        offset: Tensor,
        last: Tensor,
        document: Tensor | None = None,
        *,
        chunk_size: int = 64,
        joins_banks: bool | None = None,
        turns_values: bool = False,
    ) -> None:
        self.local = local
        self.offset = offset
        self.turns_values = turns_values
        self.dtype = local.real.dtype
        self.joins_banks = not local.is_cpu if joins_banks is None else joins_banks
        self.chunks: list[Chunk] | None = None
        if _is_plain(last, document):
            is_padding = None if document is None else (document < 0)[:, None, :, None]
            self.padding = is_padding if is_padding is not None and bool(is_padding.any()) else None
            return
        if document is not None:
            padding = -1 - torch.arange(document.shape[1], device=document.device)
            document = torch.where(document < 0, padding, document)
        self.chunks = list(_plan_chunks(last, document, self.dtype, chunk_size))

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        complete_key: Tensor | None = None,
        complete_value: Tensor | None = None,
    ) -> Tensor:
        """Return the attended values; all of shape (B, H, T, D/H).

        Where the key's instance is complete, `complete_key` and `complete_value`, if given, stand for key and value.
        """
        further = (complete_key, complete_value)
        if not query.is_cpu or query.dtype == self.dtype:
            return self._attend(query, key, value, *further)
        # On a CPU a whole step is 1.4 times as fast with this masked attention in float32 as in bfloat16.
        with torch.autocast("cpu", enabled=False):
            q, k, v = (x.to(self.dtype) for x in (query, key, value))
            return self._attend(q, k, v, *(x if x is None else x.to(self.dtype) for x in further)).to(query.dtype)

    def _attend(
        self, query: Tensor, key: Tensor, value: Tensor, complete_key: Tensor | None, complete_value: Tensor | None
    ) -> Tensor:
        query, local_key = rotate(query, self.local), rotate(key, self.local)
        if self.turns_values:
            value = rotate(value, self.local)
        if self.chunks is None:
            attended = scaled_dot_product_attention(query, local_key, value, is_causal=True)
            if self.padding is not None:
                attended = torch.where(self.padding, value, attended)
        else:
            offset_key = rotate(local_key if complete_key is None else rotate(complete_key, self.local), self.offset)
            if self.turns_values:
                complete_value = value if complete_value is None else rotate(complete_value, self.local)
                complete_value = rotate(complete_value, self.offset)
            attended = self._read(self.chunks, query, offset_key, local_key, complete_value, value)
        return rotate(attended, self.local.conj()) if self.turns_values else attended

    def _read(
        self,
        chunks: list[Chunk],
        query: Tensor,
        offset_key: Tensor,
        local_key: Tensor,
        complete_value: Tensor | None,
        value: Tensor,
    ) -> Tensor:
        """Return the attended values of turned queries and keys."""
        if not self.joins_banks:
            offset_value = value if complete_value is None else complete_value
            return attend_banks(chunks, query, offset_key, local_key, offset_value, value)
        keys = _gather(chunks, offset_key, local_key)
        values = _gather(chunks, *(x for x in (complete_value, value) if x is not None))
        attended = [
            scaled_dot_product_attention(query[:, :, chunk.queries], k, v, attn_mask=chunk.mask.to(query.dtype))
            for k, v, chunk in zip(keys, values, chunks, strict=True)
        ]
        return torch.cat(attended, dim=2)


class _Gather(torch.autograd.Function):
    """Gives each chunk its stretch of the first bank, then that of the last; banks are (B, H, T, D/H).

    Plain slices would do, but the gradient of each is a full-size tensor of zeros: a third of the attention's time.
    """

    @staticmethod
    def forward(ctx: Any, chunks: list[Chunk], *banks: Tensor) -> tuple[Tensor, ...]:
        ctx.chunks, ctx.num_banks, ctx.length = chunks, len(banks), banks[0].shape[2]
        return tuple(
            torch.cat([banks[0][:, :, chunk.offset_keys], banks[-1][:, :, chunk.local_keys]], dim=2) for chunk in chunks
        )

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        batch, heads, _, width = gradients[0].shape
        banks = [gradients[0].new_zeros(batch, heads, ctx.length, width) for _ in range(ctx.num_banks)]
        for chunk, gradient in zip(ctx.chunks, gradients, strict=True):
            for_offset, for_local = gradient.split(chunk.stretches, dim=2)
            banks[0][:, :, chunk.offset_keys] += for_offset
            banks[-1][:, :, chunk.local_keys] += for_local
        return None, *banks


def _gather(chunks: list[Chunk], *banks: Tensor) -> tuple[Tensor, ...]:
    gathered: tuple[Tensor, ...] = _Gather.apply(chunks, *banks)  # type: ignore[no-untyped-call]
    return gathered


def _is_plain(last: Tensor, document: Tensor | None) -> bool:
    """Return whether causal order alone says who reads what.

    No instance completes before the last query, and a row is one document, with padding behind it at most.
    """
    if bool((last < last.shape[1] - 1).any()):
        return False
    if document is None:
        return True
    is_padding = document < 0
    is_apart = (document != document[:, :1]) & ~is_padding
    is_before = is_padding[:, :-1] & ~is_padding[:, 1:]
    return not bool(is_apart.any() or is_before.any())


def _plan_chunks(last: Tensor, document: Tensor | None, dtype: torch.dtype, chunk_size: int) -> Iterator[Chunk]:
    length = last.shape[1]
    edges = [*range(0, length, chunk_size), length]
    index = torch.arange(length, device=last.device)
    for (begin, end), stretch in zip(pairwise(edges), _find_stretches(last, document, edges), strict=True):
        offset_keys, local_keys = slice(*stretch[:2]), slice(*stretch[2:])
        time = index[begin:end, None]
        is_open = [
            last[:, None, offset_keys] < time,
            (last[:, None, local_keys] >= time) & (index[local_keys] <= time),
        ]
        if document is not None:
            own = document[:, begin:end, None]
            is_open[0] &= own == document[:, None, offset_keys]
            is_open[1] &= own == document[:, None, local_keys]
        is_closed = ~torch.cat(is_open, dim=-1)
        mask = torch.zeros(is_closed.shape, dtype=dtype, device=last.device).masked_fill_(is_closed, float("-inf"))
        yield Chunk(slice(begin, end), offset_keys, local_keys, mask[:, None])


def _find_stretches(last: Tensor, document: Tensor | None, edges: list[int]) -> list[list[int]]:
    """Return for each chunk the bounds of the keys that any row reads: offset begin, end, local begin, end."""
    length = last.shape[1]
    index = torch.arange(length, device=last.device)
    edge = torch.tensor(edges, device=last.device)[:, None, None]
    begin, end = edge[:-1], edge[1:]
    is_offset = last < end - 1
    is_local = (last >= begin) & (index < end)
    if document is not None:
        is_reachable = group_ends(*number_groups(document)) >= begin
        is_offset, is_local = is_offset & is_reachable, is_local & is_reachable
    bounds = []
    for is_read in (is_offset.any(1), is_local.any(1)):
        first = torch.where(is_read, index, length).amin(1)
        bounds += [first, torch.where(is_read, index + 1, 0).amax(1).maximum(first)]
    stretches: list[list[int]] = torch.stack(bounds, dim=1).tolist()
    return stretches
