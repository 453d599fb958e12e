"""The paired bootstrap: exact where it is known exactly, right in size where it is known, the same under one seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lisdata.evaluation.bootstrap import Float64, paired_bootstrap

RNG = np.random.default_rng(0)
values = arrays(np.float64, (2, 5), elements=st.sampled_from([0.0, 0.5, 1.0]))


def draw(num_seeds: int, num_items: int, share: float) -> Float64:
    return (RNG.random((num_seeds, num_items)) < share).astype(float)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(values, values), min_size=1, max_size=4))
def test_the_difference_is_that_of_the_means_over_groups(pairs: list[tuple[Float64, Float64]]) -> None:
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))

    found = paired_bootstrap(first, second, num_resamples=50)

    expected = np.mean([one.mean() for one in first]) - np.mean([other.mean() for other in second])
    assert found.difference == pytest.approx(expected)
    assert found.low <= found.high


@pytest.mark.parametrize("seeds", ["paired", "independent"])
def test_resampling_is_what_it_says(seeds: str) -> None:
    """Against the definition, item by item and seed by seed, by means and deviations of many resamples."""
    first, second = [draw(3, 30, 0.6), draw(3, 10, 0.9)], [draw(3, 30, 0.5), draw(3, 10, 0.6)]

    found = paired_bootstrap(first, second, seeds=seeds, num_resamples=4000)  # type: ignore[arg-type]

    rng = np.random.default_rng(1)
    naive = []
    for _ in range(4000):
        items = [rng.integers(0, one.shape[1], one.shape[1]) for one in first]
        ours = rng.integers(0, 3, 3)
        theirs = ours if seeds == "paired" else rng.integers(0, 3, 3)
        scores = [
            np.mean([group[rows][:, chosen].mean() for group, chosen in zip(groups, items, strict=True)])
            for groups, rows in ((first, ours), (second, theirs))
        ]
        naive.append(scores[0] - scores[1])
    assert found.standard_error == pytest.approx(np.std(naive, ddof=1), rel=0.06)
    low, high = np.quantile(naive, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.15 * found.standard_error)


def test_one_group_and_seed_have_the_textbook_s_standard_error() -> None:
    first, second = draw(1, 400, 0.7), draw(1, 400, 0.6)

    found = paired_bootstrap([first], [second], num_resamples=5000)

    assert found.standard_error == pytest.approx((first - second).std() / 20, rel=0.05)


def test_a_model_does_not_differ_from_itself() -> None:
    groups = [draw(3, 40, 0.5), draw(3, 7, 0.5)]

    found = paired_bootstrap(groups, groups)

    assert (found.difference, found.low, found.high, found.standard_error, found.p_value) == (0, 0, 0, 0, 1)


def test_a_difference_on_every_item_is_sure() -> None:
    found = paired_bootstrap([np.ones((2, 9))], [np.zeros((2, 9))], num_resamples=999)

    assert (found.difference, found.low, found.high) == (1, 1, 1)
    assert found.p_value == pytest.approx(2 / 1000)  # never 0: the data are one sample of that side


def test_seeds_that_go_together_cancel_what_they_share() -> None:
    level = np.array([[0.0], [0.4], [0.8]])  # what a seed does to both models
    first, second = [level + 0.1 + np.zeros((3, 20))], [level + np.zeros((3, 20))]

    paired = paired_bootstrap(first, second)
    independent = paired_bootstrap(first, second, seeds="independent")

    assert (paired.low, paired.high) == pytest.approx((0.1, 0.1))
    assert independent.low < 0 < independent.high


def test_models_may_have_other_numbers_of_seeds() -> None:
    found = paired_bootstrap([draw(4, 50, 0.5)], [draw(1, 50, 0.5)], seeds="independent")

    assert found.low < found.difference < found.high


def test_the_seed_decides_the_resamples() -> None:
    groups = [draw(2, 60, 0.5)], [draw(2, 60, 0.5)]

    assert paired_bootstrap(*groups, seed=1) == paired_bootstrap(*groups, seed=1) != paired_bootstrap(*groups, seed=2)


ONE = [np.ones((2, 3))]


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        ([], [], {}, "expected as many groups of each model, and some, got 0 and 0"),
        (ONE, ONE * 2, {}, "got 1 and 2"),
        (ONE, [np.ones((2, 4))], {}, "of the same items"),
        (ONE, [np.ones(3)], {}, "expected values"),
        ([np.ones((0, 3))], [np.ones((0, 3))], {}, "expected values"),
        (ONE, [np.ones((1, 3))], {}, "expected as many seeds of each model to pair them, got 2 and 1"),
        ([*ONE, np.ones((1, 3))], [*ONE, np.ones((1, 3))], {}, "expected as many seeds in each group"),
        (ONE, ONE, {"seeds": "same"}, "seeds='same' is none of paired, independent"),
        (ONE, ONE, {"num_resamples": 0}, "num_resamples=0 from 1"),
        (ONE, ONE, {"confidence": 1.0}, "confidence=1.0 within"),
    ],
)
def test_values_that_do_not_belong_together_are_refused(
    first: list[Float64], second: list[Float64], options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        paired_bootstrap(first, second, **options)  # type: ignore[arg-type]
