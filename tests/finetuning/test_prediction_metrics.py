"""The metrics of GLUE: values worked out by hand or published, and what must hold of any predictions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lisdata.finetuning.prediction_metrics import (
    Numbers,
    accuracy,
    f1_score,
    matthews_correlation,
    mean_ranks,
    pearson_correlation,
    spearman_correlation,
)

ALL = (accuracy, f1_score, matthews_correlation, pearson_correlation, spearman_correlation)
values = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=30)
labels = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


def columns(pairs: list[tuple[int, int]]) -> tuple[Numbers, Numbers]:
    first, second = np.array(pairs, np.int64).T
    return first, second


def repeated(right: int, false_alarms: int, missed: int, rejected: int) -> tuple[Numbers, Numbers]:
    return columns([(1, 1)] * right + [(1, 0)] * false_alarms + [(0, 1)] * missed + [(0, 0)] * rejected)


def test_a_confusion_matrix_gives_the_textbook_figures() -> None:
    predicted, true = repeated(6, 1, 2, 3)  # the cats and dogs of Wikipedia's page on the coefficient

    assert matthews_correlation(predicted, true) == pytest.approx(0.478, abs=5e-4)
    assert accuracy(predicted, true) == 0.75
    assert f1_score(predicted, true) == pytest.approx(12 / 15)


def test_correlations_of_published_examples() -> None:
    iq = np.array([106, 100, 86, 101, 99, 103, 97, 113, 112, 110])  # of Wikipedia's page on Spearman's coefficient
    hours = np.array([7, 27, 2, 50, 28, 29, 20, 12, 6, 17])
    x = np.array([10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5])  # the first of Anscombe's quartet
    y = np.array([8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68])

    assert spearman_correlation(iq, hours) == pytest.approx(-29 / 165)
    assert pearson_correlation(x, y) == pytest.approx(0.81642, abs=5e-6)


@given(values)
def test_pearson_is_what_numpy_says(pairs: list[tuple[int, int]]) -> None:
    first, second = columns(pairs)
    assume(len(set(first.tolist())) > 1 and len(set(second.tolist())) > 1)

    assert pearson_correlation(first, second) == pytest.approx(np.corrcoef(first, second)[0, 1], abs=1e-9)


@given(values)
def test_equal_values_share_the_mean_of_their_ranks(pairs: list[tuple[int, int]]) -> None:
    first, _ = columns(pairs)

    expected = [
        np.mean([place for place, other in enumerate(sorted(first.tolist()), 1) if other == value]) for value in first
    ]
    assert mean_ranks(first).tolist() == pytest.approx(expected)


@given(values)
def test_spearman_sees_the_order_alone(pairs: list[tuple[int, int]]) -> None:
    first, second = columns(pairs)

    assert spearman_correlation(first, second) == pytest.approx(spearman_correlation(np.exp(first), second**3))


@given(labels)
def test_binary_figures_follow_from_the_counts(pairs: list[tuple[bool, bool]]) -> None:
    predicted, true = columns([(int(p), int(t)) for p, t in pairs])
    tp, fp, fn = (sum(pair == kind for pair in pairs) for kind in ((True, True), (True, False), (False, True)))
    tn = len(pairs) - tp - fp - fn

    assert accuracy(predicted, true) == pytest.approx((tp + tn) / len(pairs))
    assert f1_score(predicted, true) == pytest.approx(2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0)
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    expected = (tp * tn - fp * fn) / math.sqrt(below) if below else 0.0
    assert matthews_correlation(predicted, true) == pytest.approx(expected, abs=1e-9)


def test_what_knows_one_class_alone_correlates_with_nothing() -> None:
    assert matthews_correlation(np.ones(4), np.array([0, 1, 0, 1])) == 0.0
    assert spearman_correlation(np.array([1.0, 2.0]), np.array([3.0, 3.0])) == 0.0


@pytest.mark.parametrize("metric", ALL)
def test_predictions_of_another_number_or_none_are_refused(metric: object) -> None:
    assert callable(metric)
    for predicted, true in ((np.zeros(2), np.zeros(3)), (np.zeros(0), np.zeros(0)), (np.zeros((2, 1)), np.zeros(2))):
        with pytest.raises(ValueError, match="expected as many predictions as truths"):
            metric(predicted, true)
