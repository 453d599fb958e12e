"""Incidence shards: written, opened, verified and merged."""

from lisdata.shards.dataset import IncidenceDataset, InputInfo, Part
from lisdata.shards.merging import merge_datasets
from lisdata.shards.verifying import verify_dataset
from lisdata.shards.writer import ShardWriter, write_structures

__all__ = [
    "IncidenceDataset",
    "InputInfo",
    "Part",
    "ShardWriter",
    "merge_datasets",
    "verify_dataset",
    "write_structures",
]
