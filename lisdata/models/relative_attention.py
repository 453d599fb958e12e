"""Attention with relative positions whose scores and values may also depend on the tags of the keys.

In an attention head the score of query i and key j is, with the sinusoid r of their offset and learned u and v,

    A_ij = AC_ij + BD_ij,    AC_ij = (q_i + u) . k_j,    BD_ij = (q_i + v) . W_R r_{i-j}        (SiPE Eq. 3)

and softmax_j(A_ij / sqrt(d_head)) weighs the values v_j. With the tag vector e_j of `sipe_tags`, the agreement of a
query with the tag of a key is c_ij = (q_i + v) . W_E e_j / sqrt(d_head) (Eq. 5).
"""

from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from lisdata.models.attention_weights import ValueMixing
from lisdata.models.tag_injection import LayerTags

# The scores of so many queries stay in a processor's cache, and keys after the last of them are not computed.
QUERY_BLOCK = 64


class LayerCache:
    """The keys and values of the positions that a layer has read, and W_R r of all offsets there may be.

    `offset` is (H, capacity, d_head). `length` counts the positions, those about to be read included.
    """

    def __init__(self, offset: Tensor, num_rows: int) -> None:
        num_heads, capacity, d_head = offset.shape
        self.offset, self.length = offset, 0
        self._key = offset.new_empty(num_heads, num_rows, capacity, d_head)
        self._value = torch.empty_like(self._key)

    def add(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keep the keys and values (H, B, n, d_head) of the newest positions, and return those of all."""
        newest = slice(self.length - key.shape[2], self.length)
        self._key[:, :, newest], self._value[:, :, newest] = key, value
        return self._key[:, :, : self.length], self._value[:, :, : self.length]


class RelativeAttention(nn.Module):
    """The attention of a layer; dropout does not act on its weights."""

    def __init__(self, width: int, num_attention_heads: int) -> None:
        super().__init__()
        self.num_attention_heads = num_attention_heads
        self.query_key_value = nn.Linear(width, 3 * width, bias=False)
        self.offset = nn.Linear(width, width, bias=False)  # W_R
        self.output = nn.Linear(width, width, bias=False)
        self.mixing = ValueMixing()

    def forward(
        self,
        hidden: Tensor,
        sinusoid: Tensor,
        mask: Tensor,
        bias: tuple[Tensor, Tensor],
        tags: LayerTags | None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Return the attended values, (B, T, D); `bias` is u and v, each (H, 1, 1, d_head).

        With a `cache`, which gets their keys and values, the T positions are the last of S = `cache.length`: `mask` is
        (B or 1, T, S), `tags` has the marks of all S, and the sinusoid is not read.
        """
        projected = self.query_key_value(hidden).unflatten(-1, (3, self.num_attention_heads, -1))
        query, key, value = projected.permute(2, 3, 0, 1, 4).unbind()  # each (H, B, T, d_head)
        u, v, mask = bias[0].to(query), bias[1].to(query), mask.to(query)
        if tags is not None:
            tags = tags._replace(marks=tags.marks.to(query))
            if tags.value is not None:
                value = value + tags.marks[:, -value.shape[2] :] @ tags.value  # Eq. 9
        if cache is None:
            offset = self.project_offsets(sinusoid)
        else:
            offset = cache.offset
            key, value = cache.add(key, value)
        scale = query.shape[-1] ** -0.5  # on the queries it divides every term of the scores, once
        query = query * scale
        queries = Queries(query + u * scale, query + v * scale, query)
        mix = partial(mix_values, queries, key, offset, mask, tags)
        output: Tensor = self.output(self.mixing(mix, value).permute(1, 2, 0, 3).flatten(-2))
        return output

    def project_offsets(self, sinusoid: Tensor) -> Tensor:
        """Return W_R r, (H, S, d_head), of what `relative_sinusoid` gives for S offsets."""
        projected: Tensor = self.offset(sinusoid).unflatten(-1, (self.num_attention_heads, -1)).transpose(0, 1)
        return projected


class Queries(NamedTuple):
    """Some queries, (H, B, n, d_head): q + u, q + v and q, each divided by sqrt(d_head)."""

    content: Tensor
    position: Tensor
    plain: Tensor


def mix_values(
    queries: Queries, key: Tensor, offset: Tensor, mask: Tensor, tags: LayerTags | None, value: Tensor
) -> Tensor:
    """Return the values (H, B, S, d) weighed for T queries, the last of S positions, some of them at a time.

    `mask` is (B or 1, T, S); see `score` for the others.
    """
    end = num_before = key.shape[2] - queries.plain.shape[2]
    attended = []
    for some in map(Queries._make, zip(*(part.split(QUERY_BLOCK, dim=2) for part in queries), strict=True)):
        begin, end = end, end + some.plain.shape[2]
        own_mask = mask[:, begin - num_before : end - num_before, :end]
        scores = score(some, key[:, :, :end], offset[:, -end:], own_mask, tags)
        attended.append(scores.softmax(-1) @ value[:, :, :end])
    return torch.cat(attended, dim=2)


def score(queries: Queries, key: Tensor, offset: Tensor, mask: Tensor, tags: LayerTags | None) -> Tensor:
    """Return A / sqrt(d_head) of n queries for S keys (H, B, S, d_head), of which theirs are the last; (H, B, n, S).

    `offset` (H, S, d_head) is W_R r of the offsets S - 1 down to 0; `mask` (B or 1, n, S) is added.
    """
    position_scores, others = skew(queries.position, offset), mask
    if tags is not None:
        marks = tags.marks[:, : key.shape[2]]
        if tags.added is not None:
            others = others + queries.position @ tags.added.mT @ marks.mT  # Eq. 7
        if tags.key is not None:
            others = others + queries.plain @ tags.key.mT @ marks.mT  # Eq. 8
        if tags.multiplied is not None:  # Eq. 6
            others = add_coupled(others, position_scores, queries.position @ tags.multiplied.mT, marks)
    if tags is None or tags.multiplied is None:
        others = others + position_scores
    scores = torch.baddbmm(others.flatten(0, 1), queries.content.flatten(0, 1), key.flatten(0, 1).mT)
    return scores.view_as(others)


class _AddCoupled(torch.autograd.Function):
    """Adds (1 + c) BD, and makes c once more for the backward pass: it would be a third of what a layer keeps."""

    @staticmethod
    def forward(ctx: Any, others: Tensor, position_scores: Tensor, row_scores: Tensor, marks: Tensor) -> Tensor:
        ctx.save_for_backward(position_scores, row_scores, marks)
        return torch.addcmul(others, position_scores, (row_scores @ marks.mT).add_(1))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        position_scores, row_scores, marks = ctx.saved_tensors
        of_row_scores = (gradient * position_scores) @ marks
        of_position_scores = (row_scores @ marks.mT).add_(1).mul_(gradient)
        return gradient if ctx.needs_input_grad[0] else None, of_position_scores, of_row_scores, None


def add_coupled(others: Tensor, position_scores: Tensor, row_scores: Tensor, marks: Tensor) -> Tensor:
    """Return `others` + (1 + c) BD, (H, B, n, S), where c looks up `row_scores` (H, B, n, 7) by the keys' marks."""
    added: Tensor = _AddCoupled.apply(others, position_scores, row_scores, marks)  # type: ignore[no-untyped-call]
    return added


def skew(query: Tensor, offset: Tensor) -> Tensor:
    """Return BD, (H, B, n, S): the product of query i with the offset i - j, for the keys j up to i.

    All queries meet all offsets, and row i, counted from the end, is then moved i places to the left: read as rows one
    shorter, the products stand in their places. Places of later keys hold products of other rows.
    """
    num_queries, num_keys = query.shape[2], offset.shape[1]
    products = query.flatten(1, 2) @ functional.pad(offset, (0, 0, 1, 0)).mT  # (H, B n, S + 1)
    rows = products.unflatten(1, query.shape[1:3]).flatten(2)
    skewed: Tensor = rows[..., num_queries:].unflatten(-1, (num_queries, num_keys))
    return skewed


def relative_sinusoid(length: int, width: int, like: Tensor) -> Tensor:
    """Return r of the offsets `length` - 1 down to 0, (T, D): sines, then cosines."""
    frequency = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64, device=like.device) / width)
    angle = torch.arange(length - 1, -1, -1, dtype=torch.float64, device=like.device)[:, None] * frequency
    return torch.cat([angle.sin(), angle.cos()], dim=-1).to(like.dtype)


def causal_mask(length: int, document: Tensor | None, like: Tensor, *, num_queries: int | None = None) -> Tensor:
    """Return 0 where a query (row) attends to a key, itself or earlier in its document, else -inf; (1 or B, T, T).

    With `num_queries` only the rows of that many last queries, where there are no documents.
    """
    num_rows = length if num_queries is None else num_queries
    is_open = torch.ones(1, num_rows, length, dtype=torch.bool, device=like.device).tril(length - num_rows)
    if document is not None:
        is_open = is_open & (document[:, :, None] == document[:, None])
    return like.new_zeros(is_open.shape).masked_fill_(~is_open, float("-inf"))
