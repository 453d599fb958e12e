"""Evaluation of trained models: perplexity against context length, and likelihood by kind."""

from lisdata.evaluation.by_kind import evaluate_by_kind
from lisdata.evaluation.context_report import LIS_TABLE_3, format_context_table, write_context_report
from lisdata.evaluation.perplexity import sliding_window_perplexity, window_perplexity

__all__ = [
    "LIS_TABLE_3",
    "evaluate_by_kind",
    "format_context_table",
    "sliding_window_perplexity",
    "window_perplexity",
    "write_context_report",
]
