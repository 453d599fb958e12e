"""Rotary addresses: producers make angles, one function applies them.

An address is a rotation of consecutive pairs of a vector, so it is kept as angles of shape (B, T, D/2) and addresses
that commute compose by adding their angles: R_pos^p R_role R_instance is ``p w + a_role + a_instance``. Applied, an
angle a becomes the unit complex number exp(ia) and a pair (x0, x1) the complex number x0 + i x1 (LIS Proposition 4.7).
"""

import math

import torch
from torch import Tensor

from lisdata.models.transformer import TransformerConfig


def rotary_frequencies(config: TransformerConfig, device: torch.device) -> Tensor:
    """Return the angles one position adds, shape (width / 2,), float64, in the order of the heads.

    By default pair i of the whole model turns by base^(-2 i / width), so the heads differ; with
    `per_head_frequencies` every head has the frequencies base^(-2 i / d) of its own width d.
    """
    period = config.width // config.num_attention_heads if config.per_head_frequencies else config.width
    exponent = -torch.arange(0, period, 2, dtype=torch.float64, device=device) / period
    return (config.frequency_base**exponent).repeat(config.width // period)


def position_angles(position: Tensor, frequency: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the angles position * frequency, shape (B, T, D/2), for integer positions (B, T).

    They are made in float64 and taken modulo a turn before they are narrowed to `dtype`: in float32 alone position
    4,096 would already be off by 2e-4.
    """
    return (position.double()[..., None] * frequency).remainder(2 * math.pi).to(dtype)


def turn(angles: Tensor) -> Tensor:
    """Return the rotation exp(i angles), complex, of the same shape."""
    return torch.complex(angles.cos(), angles.sin())


def split_heads(rotation: Tensor, num_attention_heads: int) -> Tensor:
    """Return the rotation (B, T, D/2) as (B, H, T, D/2H), to go with queries and keys of shape (B, H, T, D/H)."""
    batch, length, _ = rotation.shape
    return rotation.view(batch, length, num_attention_heads, -1).transpose(1, 2)  # in memory as projected vectors are


def rotate(vectors: Tensor, rotation: Tensor) -> Tensor:
    """Return `vectors` (..., D) with each interleaved pair turned by `rotation` (..., D/2), in the vectors' dtype."""
    pairs = torch.view_as_complex(vectors.to(rotation.real.dtype).unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * rotation).flatten(-2).to(vectors.dtype)  # laid out in memory as the vectors are
