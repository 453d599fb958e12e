"""Datasets made of a dataset: shares, samples, what an expression finds, no repeats; token rows in another order."""

from lisdata.selection.duplicates import deduplicate
from lisdata.selection.filtering import filter_dataset
from lisdata.selection.merging import merge_once
from lisdata.selection.resharding import reshard
from lisdata.selection.shares import sample, split

__all__ = ["deduplicate", "filter_dataset", "merge_once", "reshard", "sample", "split"]
