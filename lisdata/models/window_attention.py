"""Causal attention to the last few keys only."""

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def window_attention(query: Tensor, key: Tensor, value: Tensor, window: int) -> Tensor:
    """Return the attended values, (B, H, T, D), each query reading the last `window` keys up to its own.

    As many queries go at once as the window is long, so that time grows with T, not with T squared.
    """
    length = query.shape[2]
    index = torch.arange(length, device=query.device)
    attended = []
    for begin in range(0, length, window):
        queries, keys = slice(begin, begin + window), slice(max(0, begin + 1 - window), begin + window)
        distance = index[queries, None] - index[keys]
        is_open = (distance >= 0) & (distance < window)
        attended.append(
            scaled_dot_product_attention(query[:, :, queries], key[:, :, keys], value[:, :, keys], attn_mask=is_open)
        )
    return torch.cat(attended, dim=2)
