"""The weights of attention, read off the very computation that uses them.

What an attention makes of its values is linear in them, row by row: a weighted mean. Asked with the unit vectors in the
values' place, the same code gives the weights themselves. So no second implementation is there to drift apart from the
first, and a kernel that never holds the weights gives them too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

Mix = Callable[[Tensor], Tensor]
"""From values (H, B, S, d) of S keys to their weighted means (H, B, T, d) for T queries; d may be any."""


class ValueMixing(nn.Module):
    """The step of an attention in which weights meet values; `record_attention` listens to it."""

    def forward(self, mix: Mix, value: Tensor) -> Tensor:
        """Return mix(value), (H, B, T, d), of values (H, B, S, d)."""
        return mix(value)


@contextmanager
def record_attention(model: nn.Module) -> Iterator[list[Tensor]]:
    """Gather the weights of each layer, (B, H, T, S), in the order of the layers, each time that the model computes.

    Rows are queries, columns keys; a row adds up to 1. Raises ValueError for a model whose attention cannot be asked.
    """
    mixings = [module for module in model.modules() if isinstance(module, ValueMixing)]
    if not mixings:
        raise ValueError(f"expected a model whose attention weights can be read, got {type(model).__name__}")
    found: list[Tensor] = []

    def record(_module: nn.Module, arguments: tuple[Mix, Tensor], _output: Tensor) -> None:
        mix, value = arguments
        num_keys = value.shape[2]
        units = torch.eye(num_keys, dtype=value.dtype, device=value.device).expand(*value.shape[:2], -1, -1)
        found.append(mix(units).transpose(0, 1).detach())

    handles = [mixing.register_forward_hook(record) for mixing in mixings]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()
