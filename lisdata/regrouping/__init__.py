"""Triples sorted by subject or graph over whole datasets, in bounded memory."""

from lisdata.regrouping.regrouping import (
    UNSORTED,
    SortBy,
    check_sorting,
    convert_sorted,
    finish,
    in_first_stage,
    regroup,
    regroup_share,
)

__all__ = [
    "UNSORTED",
    "SortBy",
    "check_sorting",
    "convert_sorted",
    "finish",
    "in_first_stage",
    "regroup",
    "regroup_share",
]
