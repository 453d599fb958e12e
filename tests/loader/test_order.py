"""The order of an epoch: every row once, uniformly, from seed and epoch alone."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.loader import inverse, permute
from lisdata.loader.order import Order, order_of

COUNTS = st.one_of(st.integers(1, 700), st.sampled_from([1 << 12, (1 << 12) + 1, 10_007]))
SEEDS = st.integers(-(2**70), 2**70)


@settings(deadline=None, max_examples=60)
@given(count=COUNTS, seed=SEEDS, epoch=st.integers(0, 10**6))
def test_every_index_is_hit_once_and_found_back(count: int, seed: int, epoch: int) -> None:
    everything = np.arange(count)

    rows = permute(everything, count, seed=seed, epoch=epoch)

    assert np.array_equal(np.sort(rows), everything)
    assert np.array_equal(inverse(rows, count, seed=seed, epoch=epoch), everything)


@settings(deadline=None, max_examples=60)
@given(count=st.integers(1, 700), seed=SEEDS, epoch=st.integers(0, 10**6), window=st.integers(1, 300))
def test_a_window_order_hits_every_row_once(count: int, seed: int, epoch: int, window: int) -> None:
    order = order_of(count, shuffle="window", window=window, seed=seed)

    assert sorted(order.rows(np.arange(count), epoch)) == list(range(count))


@settings(deadline=None, max_examples=40)
@given(
    shuffle=st.sampled_from([True, False, "window"]),
    cuts=st.lists(st.integers(0, 300), max_size=5),
    epoch=st.integers(0, 50),
)
def test_elements_do_not_depend_on_what_is_asked_with_them(shuffle: bool, cuts: list[int], epoch: int) -> None:
    order = order_of(300, shuffle=shuffle, window=None, seed=4)
    bounds = sorted({0, 300, *cuts})

    pieces = [order.rows(np.arange(*pair), epoch) for pair in pairwise(bounds)]

    assert np.concatenate(pieces).tolist() == order.rows(np.arange(300), epoch).tolist()


def excess(found: npt.NDArray[np.float64], expected: float, freedom: int) -> float:
    """Return how many standard deviations the chi-square of `found` lies above what chance gives."""
    chi_square = float(((found - expected) ** 2).sum()) / expected
    return (chi_square - freedom) / math.sqrt(2 * freedom)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_in_a_small_range_every_permutation_is_equally_likely(count: int) -> None:
    trials = 3000
    seen = Counter(tuple(permute(range(count), count, seed=seed, epoch=1).tolist()) for seed in range(trials))

    found = np.array([seen[p] for p in permutations(range(count))], float)

    assert excess(found, trials / len(found), len(found) - 1) < 4


@pytest.mark.parametrize("count", [16, 61])
def test_places_pairs_and_distances_are_uniform_over_epochs(count: int) -> None:
    trials = 4000
    places, pairs, distances = np.zeros((count, count)), np.zeros((count, count)), np.zeros(count)
    everything = np.arange(count)
    for epoch in range(trials):
        rows = permute(everything, count, seed=11, epoch=epoch)
        places[everything, rows] += 1
        pairs[rows[0], rows[1]] += 1
        np.add.at(distances, np.diff(rows) % count, 1)

    is_pair = ~np.eye(count, dtype=bool)

    assert excess(places, trials / count, (count - 1) ** 2) < 4
    assert excess(pairs[is_pair], trials / is_pair.sum(), int(is_pair.sum()) - 1) < 4
    assert excess(distances[1:], trials, count - 2) < 4


def test_rows_of_a_large_range_are_spread_evenly_and_lose_their_neighbours() -> None:
    count = 200_000
    rows = permute(np.arange(count), count, seed=3, epoch=0)

    moved = np.abs(rows - np.arange(count)).mean() / count

    assert abs(moved - 1 / 3) < 0.005
    assert (np.abs(np.diff(rows)) == 1).sum() < 10


def test_a_window_stays_in_few_runs_of_rows() -> None:
    order = order_of(100_000, shuffle="window", window=1600, seed=3)

    rows = np.sort(order.rows(np.arange(1600, 3200), 0))

    assert (np.diff(rows) > 1).sum() <= 17
    assert rows.max() - rows.min() > 30_000
    assert rows.tolist() != order.rows(np.arange(1600, 3200), 0).tolist()


def test_the_order_is_the_one_that_was_published() -> None:
    # A changed value here changes what every saved state resumes: give the algorithm a new name instead.
    assert permute(range(10), 10, seed=7, epoch=3).tolist() == [4, 3, 1, 9, 7, 6, 2, 0, 5, 8]
    assert permute([0, 1, 2], 10**12, seed=-1, epoch=0).tolist() == [85232143152, 386966464751, 501011248610]
    window = order_of(40, shuffle="window", window=16, seed=7)
    assert window.rows(np.arange(0, 40, 4), 3).tolist() == [4, 14, 25, 7, 15, 26, 32, 28, 13, 20]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (order_of(1000, shuffle=True, window=None, seed=0), order_of(1000, shuffle=True, window=None, seed=1)),
        (order_of(1000, shuffle="window", window=64, seed=0), order_of(1000, shuffle="window", window=65, seed=0)),
        (order_of(1000, shuffle=True, window=None, seed=0), order_of(1000, shuffle=False, window=None, seed=0)),
    ],
)
def test_other_settings_give_another_order_and_say_so(first: Order, second: Order) -> None:
    everything = np.arange(1000)

    assert first.rows(everything, 0).tolist() != second.rows(everything, 0).tolist()
    assert first.settings != second.settings


def test_epochs_differ_only_where_rows_are_shuffled() -> None:
    everything = np.arange(1000)
    shuffled, plain = (order_of(1000, shuffle=s, window=None, seed=0) for s in (True, False))

    assert shuffled.rows(everything, 0).tolist() != shuffled.rows(everything, 1).tolist()
    assert plain.rows(everything, 7).tolist() == everything.tolist()


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 9, got 3 to 10"):
        permute([3, 10], 10, seed=0, epoch=0)
    with pytest.raises(ValueError, match="from 0 to 9, got -1"):
        inverse([-1], 10, seed=0, epoch=0)
    with pytest.raises(ValueError, match="window"):
        order_of(10, shuffle=True, window=4, seed=0)
    with pytest.raises(ValueError, match="window"):
        order_of(10, shuffle="window", window=0, seed=0)
    with pytest.raises(ValueError, match="True, False or 'window'"):
        order_of(10, shuffle="windows", window=None, seed=0)
