"""On which device models lie that are built or loaded in a block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

AUTO, CPU = "auto", "cpu"
_chosen: ContextVar[str] = ContextVar("device", default=CPU)


@contextmanager
def on_device(name: str = AUTO) -> Iterator[None]:
    """Have models that are built or loaded inside lie on a device, and be trained and measured there.

    It is "cpu", "cuda" or "cuda:N"; "auto" is the first GPU that torch can use, else the CPU. Outside of any such block
    models lie on the CPU. Raises ValueError for another name, or a GPU that torch cannot use.
    """
    if name not in (AUTO, CPU):
        _check_gpu(name)
    token = _chosen.set(name)
    try:
        yield
    finally:
        _chosen.reset(token)


def current_device() -> torch.device:
    """Return the device on which a model that is built now would lie."""
    import torch

    name = _chosen.get()
    if name == AUTO:
        name = "cuda" if torch.cuda.is_available() else CPU
    return torch.device(name)


def _check_gpu(name: str) -> None:
    found = re.fullmatch(r"cuda(?::(\d{1,4}))?", name)
    if found is None:
        raise ValueError(f"device {name!r}: expected auto, cpu, cuda or cuda:N")
    import torch

    number, count = int(found[1] or 0), torch.cuda.device_count()
    if number >= count:
        raise ValueError(f"device {name}: torch {torch.__version__} can use {count or 'no'} GPUs here")
