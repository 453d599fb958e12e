"""Conversions: files of one source become an incidence dataset, through plan, units and commits."""

from lisdata.conversion.config import Compression, ConvertConfig, OnError, Paths
from lisdata.conversion.planning import plan_conversion, split_options
from lisdata.conversion.running import Sample, convert, convert_share, finish, sample

__all__ = [
    "Compression",
    "ConvertConfig",
    "OnError",
    "Paths",
    "Sample",
    "convert",
    "convert_share",
    "finish",
    "plan_conversion",
    "sample",
    "split_options",
]
