"""Batches for training: order, state, padding, and making them ahead."""

from lisdata.loader.batches import Batch, BatchCollator, BatchForm
from lisdata.loader.loading import Loader
from lisdata.loader.order import inverse, permute

__all__ = ["Batch", "BatchCollator", "BatchForm", "Loader", "inverse", "permute"]
