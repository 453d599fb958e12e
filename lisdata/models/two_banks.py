"""One softmax over two banks of keys on a CPU: a chunk's stretches of both are joined for as long as they are read.

Backwards they are joined again, so that nothing is kept but the banks.
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
            key, value = _join(chunk, *banks)
            values, log_sum = _forward(query[:, :, chunk.queries], key, value, 0.0, False, attn_mask=chunk.mask)
            attended[:, :, chunk.queries], log_sums[:, :, chunk.queries] = values, log_sum
        ctx.chunks = chunks
        ctx.save_for_backward(query, *banks, attended, log_sums)
        return attended

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        query, *banks, attended, log_sums = ctx.saved_tensors
        of_query, of_banks = torch.empty_like(query), [torch.zeros_like(bank) for bank in banks]
        for chunk in ctx.chunks:
            key, value = _join(chunk, *banks)
            g, q, a, l = (x[:, :, chunk.queries] for x in (gradient, query, attended, log_sums))  # noqa: E741
            of_query[:, :, chunk.queries], *shares = _backward(g, q, key, value, a, l, 0.0, False, attn_mask=chunk.mask)
            for number, share in enumerate(shares):
                for_offset, for_local = share.split(chunk.stretches, dim=2)
                of_banks[2 * number][:, :, chunk.offset_keys] += for_offset
                of_banks[2 * number + 1][:, :, chunk.local_keys] += for_local
        return None, of_query, *of_banks


def _join(
    chunk: Chunk, offset_key: Tensor, local_key: Tensor, offset_value: Tensor, local_value: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the keys and values that a chunk reads."""
    far, near = chunk.offset_keys, chunk.local_keys
    key = torch.cat([offset_key[:, :, far], local_key[:, :, near]], dim=2)
    return key, torch.cat([offset_value[:, :, far], local_value[:, :, near]], dim=2)
