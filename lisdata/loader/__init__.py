"""Batches for training: order, mixing, packing, state, padding, and making them ahead."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lisdata.loader.batches import Batch, BatchCollator, BatchForm
    from lisdata.loader.loading import Loader
    from lisdata.loader.mixing import Mixture
    from lisdata.loader.order import inverse, permute
    from lisdata.loader.shuffle_report import report_shuffle

# name -> module; looked up when first used, so that who wants an order alone does not wait for torch
_PUBLIC = {
    "Batch": "lisdata.loader.batches",
    "BatchCollator": "lisdata.loader.batches",
    "BatchForm": "lisdata.loader.batches",
    "Loader": "lisdata.loader.loading",
    "Mixture": "lisdata.loader.mixing",
    "inverse": "lisdata.loader.order",
    "permute": "lisdata.loader.order",
    "report_shuffle": "lisdata.loader.shuffle_report",
}

__all__ = ["Batch", "BatchCollator", "BatchForm", "Loader", "Mixture", "inverse", "permute", "report_shuffle"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'lisdata.loader' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
