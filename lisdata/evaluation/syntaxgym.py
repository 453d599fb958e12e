"""SyntaxGym (Gauthier et al. 2020) with the protocol of Hu et al. (2020): surprisals of regions, compared by formulas.

An item is right when the suite's first prediction holds, a suite's score is the share of its right items, and the
benchmark's is the plain mean over suites, but for three that Hu et al. leave out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from lisdata.evaluation.item_results import ItemResults, Verdict, mean_score
from lisdata.evaluation.sentence_scores import (
    Float64,
    SentenceScorer,
    TagTexts,
    TokenSurprisals,
    score_sentences,
    tags_of,
)
from lisdata.evaluation.syntaxgym_suites import METRICS, Condition, Suite

LEFT_OUT = ("fgd-embed3", "fgd-embed4", "nn-nv-rpl")
"""Suites that do not count in Hu et al.'s figures."""

CIRCUITS: dict[str, tuple[str, ...]] = {
    "Agreement": ("number_",),
    "Center Embedding": ("center_embed",),
    "Garden-Path Effects": ("mvrr", "npz_"),
    "Gross Syntactic State": ("subordination",),
    "Licensing": ("npi_", "reflexive_"),
    "Long-Distance Dependencies": ("cleft", "fgd_"),
}
"""Hu et al.'s groups of suites, by how the names of their suites begin."""

Unit = Literal["bits", "nats"]
OnProgress = Callable[[float, float, str], None]
"""Called with the suites done, the suites in all, and the name of the last."""

_STATISTIC: dict[str, Callable[[Float64], float]] = {
    "sum": np.sum,
    "mean": np.mean,
    "median": np.median,
    "range": np.ptp,
    "max": np.max,
    "min": np.min,
}


def region_surprisals(condition: Condition, tokens: TokenSurprisals, metric: str = "sum") -> dict[int, float]:
    """Return the surprisal of each region, by number: the sum (or another of METRICS) over the tokens that start there.

    A space between regions belongs to the second. A token for the end belongs to the last region that is not empty. A
    region where no token starts, such as an empty one, has 0.
    """
    if metric not in METRICS:
        raise ValueError(f"{metric=} is none of {', '.join(METRICS)}")
    ends = condition.region_ends()
    last = np.searchsorted(ends, ends[-1])
    region = np.minimum(np.searchsorted(ends, tokens.begin, side="right"), last)
    values = (tokens.surprisal[region == place] for place in range(len(ends)))
    return {
        number: float(_STATISTIC[metric](own)) if len(own) else 0.0
        for number, own in zip(condition.numbers, values, strict=True)
    }


def evaluate_suite(
    suite: Suite,
    scorer: SentenceScorer,
    *,
    tag: TagTexts | None = None,
    unit: Unit = "bits",
) -> list[tuple[bool, ...]]:
    """Return for each item, in order, which of the suite's predictions hold.

    Each sentence is tagged as a whole by `tag`, if there is one. `unit` matters to formulas with "=" alone.
    """
    conditions = [condition for item in suite.items for condition in item.conditions.values()]
    texts = [condition.text for condition in conditions]
    tokens = iter(score_sentences(scorer, texts, tags_of(texts, tag)))
    scale = 1 / math.log(2) if unit == "bits" else 1.0
    held = []
    for item in suite.items:
        surprisals: dict[str, dict[int, float]] = {}
        for name, condition in item.conditions.items():
            regions = region_surprisals(condition, next(tokens), suite.metric)
            surprisals[name] = {number: scale * value for number, value in regions.items()}
        held.append(tuple(formula.holds(surprisals) for formula in suite.predictions))
    return held


def evaluate_suites(
    suites: Sequence[Suite],
    scorer: SentenceScorer,
    *,
    model: str,
    tag: TagTexts | None = None,
    unit: Unit = "bits",
    on_progress: OnProgress | None = None,
) -> ItemResults:
    """Return which items of each suite are right, that is where the first prediction holds.

    Items are numbered from 0 in their suite's order, as in the results that Hu et al. published.
    """
    verdicts: dict[str, dict[int, Verdict]] = {}
    for done, suite in enumerate(suites, 1):
        held = evaluate_suite(suite, scorer, tag=tag, unit=unit)
        verdicts[suite.name] = {number: predictions[0] for number, predictions in enumerate(held)}
        if on_progress is not None:
            on_progress(done, len(suites), suite.name)
    return ItemResults(model=model, verdicts=verdicts)


def counted_suites(suites: Mapping[str, object]) -> list[str]:
    """Return the names of the suites that count in the benchmark's score."""
    return [name for name in suites if name not in LEFT_OUT]


def macro_score(scores: Mapping[str, float]) -> float:
    """Return the benchmark's score, 0 to 1, from those of the suites: their plain mean."""
    return mean_score(scores, counted_suites(scores))


def circuit_scores(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the plain mean over the suites of each circuit that has any; suites of no circuit are left out."""
    suites = {
        circuit: [name for name in counted_suites(scores) if name.startswith(prefixes)]
        for circuit, prefixes in CIRCUITS.items()
    }
    return {circuit: mean_score(scores, names) for circuit, names in suites.items() if names}
