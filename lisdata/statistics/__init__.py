"""What a dataset holds, in numbers: JSON types for reports, and a figure of them."""

from lisdata.statistics.figure import plot_statistics
from lisdata.statistics.summary import summarise

__all__ = ["plot_statistics", "summarise"]
