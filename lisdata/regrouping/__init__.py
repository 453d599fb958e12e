"""Triples sorted by subject or graph over whole datasets, in bounded memory."""

from lisdata.regrouping.regrouping import SortBy, check_sorting, convert_sorted, finish, regroup, regroup_share

__all__ = ["SortBy", "check_sorting", "convert_sorted", "finish", "regroup", "regroup_share"]
