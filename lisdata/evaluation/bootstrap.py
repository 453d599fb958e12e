"""The paired bootstrap: how sure the difference of two models is, over the items of a benchmark and over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

Float64 = npt.NDArray[np.float64]
Values = npt.NDArray[np.floating[Any]]

_DIGITS = 12  # what differs by less is equal: else the order of a sum would say on which side of 0 it is

SeedPairing: TypeAlias = Literal["paired", "independent"]
"""Whether seed n of one model goes with seed n of the other (same data order, same initial weights) or is its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapDifference:
    """The score of one model less that of another, and what resampling says of it.

    `low` and `high` bound the interval of `confidence` (percentiles), `p_value` is two-sided: twice the share of
    resamples on the rarer side of 0, the data themselves counted as one of that side, so that it is never 0.
    """

    difference: float
    low: float
    high: float
    standard_error: float
    p_value: float
    confidence: float
    num_resamples: int


def paired_bootstrap(
    first: Sequence[Values],
    second: Sequence[Values],
    *,
    seeds: SeedPairing = "paired",
    num_resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> BootstrapDifference:
    """Return the difference of two models in the mean over groups of the mean over a group's items and seeds.

    `first` and `second` hold for each group the values (seeds, items) of a model. A resample draws each group's items
    anew, the same for both models, and the seeds anew, one draw for all groups. With one seed a model, what another
    seed would change is not in the interval. Raises ValueError for values that do not belong together.
    """
    sizes = _check(first, second, seeds)
    if num_resamples < 1 or not 0 < confidence < 1:
        raise ValueError(f"expected {num_resamples=} from 1 and {confidence=} within (0, 1)")
    rng = np.random.default_rng(seed)
    drawn = np.zeros((num_resamples, sum(sizes)))  # the mean over groups, by seed of first and then of second
    actual = np.zeros(sum(sizes))
    for values in map(np.concatenate, zip(first, second, strict=True)):
        # Items of the same values are alike: how often each kind is drawn is all that counts.
        kinds, counts = np.unique(values, axis=1, return_counts=True)
        num_items = counts.sum()
        shares = rng.multinomial(num_items, counts / num_items, num_resamples) / num_items
        drawn += shares @ kinds.T / len(first)
        actual += kinds @ (counts / num_items) / len(first)
    weights = _draw_seeds(rng, sizes, seeds, num_resamples)
    differences = np.round((weights * drawn).sum(1), _DIGITS)
    low, high = np.quantile(differences, [(1 - confidence) / 2, (1 + confidence) / 2])
    rarer = min(np.count_nonzero(differences <= 0), np.count_nonzero(differences >= 0))
    return BootstrapDifference(
        difference=float(np.round(actual[: sizes[0]].mean() - actual[sizes[0] :].mean(), _DIGITS)),
        low=float(low),
        high=float(high),
        standard_error=float(differences.std(ddof=1)) if num_resamples > 1 else 0.0,
        p_value=min(1.0, 2 * (int(rarer) + 1) / (num_resamples + 1)),
        confidence=confidence,
        num_resamples=num_resamples,
    )


def _draw_seeds(rng: np.random.Generator, sizes: tuple[int, int], seeds: str, num_resamples: int) -> Float64:
    """Return the weight of each seed in the difference, (resamples, seeds of first and of second)."""
    own = [rng.multinomial(size, np.full(size, 1 / size), num_resamples) / size for size in sizes]
    return np.concatenate([own[0], -(own[0] if seeds == "paired" else own[1])], axis=1)


def _check(first: Sequence[Values], second: Sequence[Values], seeds: str) -> tuple[int, int]:
    """Return the number of seeds of each model."""
    if seeds not in get_args(SeedPairing):
        raise ValueError(f"{seeds=} is none of {', '.join(get_args(SeedPairing))}")
    if not first or len(first) != len(second):
        raise ValueError(f"expected as many groups of each model, and some, got {len(first)} and {len(second)}")
    for one, other in zip(first, second, strict=True):
        if one.ndim != 2 or other.ndim != 2 or one.shape[1] != other.shape[1] or not one.size or not other.size:
            raise ValueError(f"expected values (seeds, items) of the same items, got {one.shape} and {other.shape}")
    sizes = {(len(one), len(other)) for one, other in zip(first, second, strict=True)}
    if len(sizes) > 1:
        raise ValueError("expected as many seeds in each group")
    (found,) = sizes
    if seeds == "paired" and found[0] != found[1]:
        raise ValueError(f"expected as many seeds of each model to pair them, got {found[0]} and {found[1]}")
    return found
