"""Batches for training: order, mixing, packing, state, padding, and making them ahead."""

from lisdata.loader.batches import Batch, BatchCollator, BatchForm
from lisdata.loader.loading import Loader
from lisdata.loader.mixing import Mixture
from lisdata.loader.order import inverse, permute
from lisdata.loader.shuffle_report import report_shuffle

__all__ = ["Batch", "BatchCollator", "BatchForm", "Loader", "Mixture", "inverse", "permute", "report_shuffle"]
