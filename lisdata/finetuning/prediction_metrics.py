"""The metrics of GLUE: accuracy, F1, Matthews' correlation, Pearson's and Spearman's. All take arrays (N)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]


def accuracy(predicted: Numbers, true: Numbers) -> float:
    """Return the share of right predictions."""
    _check(predicted, true)
    return float(np.mean(predicted == true))


def f1_score(predicted: Numbers, true: Numbers) -> float:
    """Return the harmonic mean of precision and recall of class 1; 0 where it is neither predicted nor true."""
    _check(predicted, true)
    num_right = int(np.sum((predicted == 1) & (true == 1)))
    num_named = int(np.sum(predicted == 1) + np.sum(true == 1))
    return 2 * num_right / num_named if num_named else 0.0


def matthews_correlation(predicted: Numbers, true: Numbers) -> float:
    """Return the correlation of two binary labelings, 0 and 1; 0 where either knows one class alone."""
    return pearson_correlation(predicted == 1, true == 1)


def pearson_correlation(predicted: Numbers, true: Numbers) -> float:
    """Return the linear correlation; 0 where either array is constant, which has none."""
    _check(predicted, true)
    first, second = (values.astype(np.float64) for values in (predicted, true))
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    first, second = first - first.mean(), second - second.mean()
    found = float(first @ second) / (math.sqrt(float(first @ first)) * math.sqrt(float(second @ second)))
    return min(max(found, -1.0), 1.0)


def spearman_correlation(predicted: Numbers, true: Numbers) -> float:
    """Return the linear correlation of the ranks; equal values share the mean of theirs."""
    _check(predicted, true)
    return pearson_correlation(mean_ranks(predicted), mean_ranks(true))


def mean_ranks(values: Numbers) -> npt.NDArray[np.float64]:
    """Return the rank of each value, from 1; equal ones have the mean of the ranks that they take up together."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    ranks: npt.NDArray[np.float64] = (last - (count - 1) / 2)[place]
    return ranks


def _check(predicted: Numbers, true: Numbers) -> None:
    if predicted.shape != true.shape or predicted.ndim != 1 or not len(true):
        raise ValueError(f"expected as many predictions as truths, got shapes {predicted.shape} and {true.shape}")
