"""How much the hexatags of a sentence's parse tell of its next word: held-out count models with and without them.

A hexatag at word p of a parse of the whole sentence depends on the words after p. What it tells of word p + 1 beyond
the words up to p is no knowledge of syntax, and a model that is given the tag has it for nothing. Here a count model
predicts the next word from the words before it, and once more from these and the tag: the factor between their
perplexities is measured on sentences that neither has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.evaluation.bootstrap import paired_bootstrap

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

TRAINING_SHARE = 0.8
_ADDED = 0.5  # to the count of each target where nothing is known


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakFactor:
    """The perplexity of the next word with a tag, as a multiple of that without; the interval is over sentences."""

    factor: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakReport:
    """Factors by the name of the tag; `perplexity` is that without any, over `num_words` held-out words."""

    perplexity: float
    num_words: int
    factors: Mapping[str, LeakFactor]


def measure_leak(
    contexts: Sequence[Int64], targets: Int64, offsets: Int64, tags: Mapping[str, Int64], *, seed: int = 0
) -> LeakReport:
    """Return the leak of each kind of `tags`; all arrays but `offsets`, which cuts them into sentences, are (N,).

    Word p has the `targets` of word p + 1 (or of the end) and `contexts` from coarse to fine, of words up to p; numbers
    from 0. A model backs off from the finest to none; with a tag there is a context more behind the first and the last
    one, which the model without it also has, of the same words twice. A fifth of the sentences is held out.
    """
    num_sentences = len(offsets) - 1
    is_trained = np.random.default_rng(seed).permutation(num_sentences) < TRAINING_SHARE * num_sentences
    sentence = np.repeat(np.arange(num_sentences), np.diff(offsets))
    is_training = is_trained[sentence]
    held_out = sentence[~is_training]

    def by_sentence(tag: Int64) -> Float64:
        with_tag = [_join(contexts[0], tag), _join(contexts[-1], tag)]
        nll = backed_off_nll([contexts[0], with_tag[0], *contexts[1:], with_tag[1]], targets, is_training)
        sums: Float64 = np.bincount(held_out, weights=nll, minlength=num_sentences)[~is_trained].astype(np.float64)
        return sums

    base = by_sentence(np.zeros_like(targets))
    scale = len(base) / len(held_out)  # a mean over sentences becomes one over words
    factors = {}
    for name, tag in tags.items():
        found = paired_bootstrap([by_sentence(tag)[None] * scale], [base[None] * scale], seed=seed)
        factors[name] = LeakFactor(
            factor=float(np.exp(found.difference)), low=float(np.exp(found.low)), high=float(np.exp(found.high))
        )
    perplexity = float(np.exp(base.sum() / len(held_out)))
    return LeakReport(perplexity=perplexity, num_words=len(held_out), factors=factors)


def backed_off_nll(contexts: Sequence[Int64], targets: Int64, is_training: Bools) -> Float64:
    """Return the nats of the targets outside of `is_training` under counts of those in it.

    From no context to the last one, p = (count of the target + u p') / (count of all + u), with p' of the context
    before and u the number of different targets seen (Witten and Bell 1991).
    """
    num_targets = int(targets.max()) + 2  # one stands for what was never seen
    known, held_out = targets[is_training], targets[~is_training]
    counts = np.bincount(known, minlength=num_targets)
    p = np.asarray((counts[held_out] + _ADDED) / (len(known) + _ADDED * num_targets), np.float64)
    for context in contexts:
        pairs, pair_counts = np.unique(context[is_training] * num_targets + known, return_counts=True)
        seen, first, num_kinds = np.unique(pairs // num_targets, return_index=True, return_counts=True)
        totals = np.add.reduceat(pair_counts, first)
        own = context[~is_training]
        total, kinds = _look_up(seen, totals, own), _look_up(seen, num_kinds, own)
        count = _look_up(pairs, pair_counts, own * num_targets + held_out)
        p = np.asarray(np.where(total > 0, (count + kinds * p) / np.maximum(total + kinds, 1), p), np.float64)
    return -np.log(p)


def number_of(values: Sequence[Any]) -> Int64:
    """Return for each value its number, equal ones the same, from 0."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)


def _join(first: Int64, second: Int64) -> Int64:
    joined: Int64 = first * (int(second.max()) + 1) + second
    return joined


def _look_up(keys: Int64, values: npt.NDArray[np.integer[Any]], wanted: Int64) -> Int64:
    """Return the value of each wanted key, 0 where there is none; `keys` ascend."""
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], 0).astype(np.int64)
