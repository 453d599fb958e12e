"""One softmax over two banks of keys, each attended to by itself: nothing is copied, and nothing kept but the banks.

Attention to one bank gives values o and, for each query, the logarithm l of its sum of exponentials. Over both banks
the values are o_1 exp(l_1 - l) + o_2 exp(l_2 - l) with l = log(exp l_1 + exp l_2). Backwards a weight is exp(s - l)
with the l of both, so that each bank's own backward pass, given the joint values and l, yields its share exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from lisdata.models.addressed_attention import Chunk

_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def attend_banks(
    chunks: list[Chunk],
    query: Tensor,
    offset_key: Tensor,
    local_key: Tensor,
    offset_value: Tensor,
    local_value: Tensor,
) -> Tensor:
    """Return the attended values (B, H, T, D/H) of queries, chunk by chunk; all on a CPU, of one floating type.

    Every query reads at least one key of the local bank: itself.
    """
    attended: Tensor = _TwoBanks.apply(  # type: ignore[no-untyped-call]
        chunks, query, offset_key, local_key, offset_value, local_value
    )
    return attended


class _TwoBanks(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, chunks: list[Chunk], query: Tensor, *banks: Tensor) -> Tensor:
        attended = torch.empty_like(query)
        log_sums = query.new_empty(query.shape[:3])
        for chunk in chunks:
            values, log_sum = _attend(chunk, query[:, :, chunk.queries], *banks)
            attended[:, :, chunk.queries], log_sums[:, :, chunk.queries] = values, log_sum
        ctx.chunks = chunks
        ctx.save_for_backward(query, *banks, attended, log_sums)
        return attended

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        query, *banks, attended, log_sums = ctx.saved_tensors
        offset_key, local_key, offset_value, local_value = banks
        of_query, of_banks = torch.empty_like(query), [torch.zeros_like(bank) for bank in banks]
        for chunk in ctx.chunks:
            own = (slice(None), slice(None), chunk.queries)
            joint = (gradient[own], query[own], attended[own], log_sums[own])
            near, far = ((slice(None), slice(None), keys) for keys in (chunk.local_keys, chunk.offset_keys))
            of_query[own], for_key, for_value = _share(joint, local_key[near], local_value[near], chunk.local_mask)
            of_banks[1][near] += for_key
            of_banks[3][near] += for_value
            if chunk.offset_keys.start < chunk.offset_keys.stop:
                found = _share(joint, offset_key[far], offset_value[far], chunk.offset_mask)
                of_query[own] += found[0]
                of_banks[0][far] += found[1]
                of_banks[2][far] += found[2]
        return None, of_query, *of_banks


def _attend(
    chunk: Chunk, query: Tensor, offset_key: Tensor, local_key: Tensor, offset_value: Tensor, local_value: Tensor
) -> tuple[Tensor, Tensor]:
    near = (slice(None), slice(None), chunk.local_keys)
    values, log_sum = _forward(query, local_key[near], local_value[near], 0.0, False, attn_mask=chunk.local_mask)
    if chunk.offset_keys.start == chunk.offset_keys.stop:
        return values, log_sum
    far = (slice(None), slice(None), chunk.offset_keys)
    others, others_sum = _forward(query, offset_key[far], offset_value[far], 0.0, False, attn_mask=chunk.offset_mask)
    if chunk.reads_no_offset is not None:
        others_sum = others_sum.masked_fill(chunk.reads_no_offset, float("-inf"))
    joint = torch.logaddexp(log_sum, others_sum)
    weight = (others_sum - joint).exp()[..., None].to(others.dtype)
    return torch.lerp(values, others, weight), joint


def _share(joint: tuple[Tensor, ...], key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    gradient, query, attended, log_sums = joint
    shares: tuple[Tensor, Tensor, Tensor] = _backward(
        gradient, query, key, value, attended, log_sums, 0.0, False, attn_mask=mask
    )
    return shares
