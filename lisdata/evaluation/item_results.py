"""Which items of a benchmark a model gets right, group by group, as results are published: a CSV of a line an item."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np

from lisdata.atomic import write_atomically
from lisdata.errors import LisDataError, Place, SchemaError
from lisdata.evaluation.bootstrap import BootstrapDifference, SeedPairing, paired_bootstrap
from lisdata.evaluation.sentence_scores import Float64

Verdict: TypeAlias = bool | None
"""Whether an item is right; None is a tie."""

Ties: TypeAlias = Literal["wrong", "half"]
"""What a tie counts: 0 or 1/2."""

VOTE = "vote"
"""What the majority of the seeds is called among models."""

_HEADER = ["model", "suite", "item", "correct"]
_SPELLING: dict[Verdict, str] = {True: "True", False: "False", None: "tie"}
_VERDICT = {spelling: verdict for verdict, spelling in _SPELLING.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResults:
    """What one model (under one seed) gets right: by group (a suite, a paradigm), then by number of the item."""

    model: str
    verdicts: Mapping[str, Mapping[int, Verdict]]

    @property
    def num_ties(self) -> int:
        """The number of items where the model prefers nothing."""
        return sum(verdict is None for items in self.verdicts.values() for verdict in items.values())

    def group_scores(self, ties: Ties = "wrong") -> dict[str, float]:
        """Return the share of right items of each group, 0 to 1."""
        values = _values_of(ties)
        return {
            group: sum(values[verdict] for verdict in items.values()) / len(items)
            for group, items in self.verdicts.items()
        }


def _values_of(ties: Ties) -> dict[Verdict, float]:
    if ties not in get_args(Ties):
        raise ValueError(f"{ties=} is none of {', '.join(get_args(Ties))}")
    return {True: 1.0, False: 0.0, None: 0.5 if ties == "half" else 0.0}


def mean_score(scores: Mapping[str, float], groups: Iterable[str]) -> float:
    """Return the plain mean of the scores of some groups; ValueError where there are none."""
    chosen = [scores[group] for group in groups]
    if not chosen:
        raise ValueError("expected groups to take the mean of, got none")
    return sum(chosen) / len(chosen)


def vote_over_seeds(results: Sequence[ItemResults]) -> ItemResults:
    """Return the verdict of the majority: an item is right when more than half of the seeds get it right."""
    check_same_items(results)
    verdicts: dict[str, dict[int, Verdict]] = {}
    for group, items in results[0].verdicts.items():
        votes = {item: sum(result.verdicts[group][item] is True for result in results) for item in items}
        verdicts[group] = {item: 2 * count > len(results) for item, count in votes.items()}
    return ItemResults(model=VOTE, verdicts=verdicts)


def check_same_items(results: Sequence[ItemResults]) -> None:
    """Raise LisDataError, naming a group, unless all models were asked the same items; ValueError without any."""
    if not results:
        raise ValueError("expected the results of at least one model, got none")
    first = results[0]
    for other in results[1:]:
        if groups := sorted(first.verdicts.keys() ^ other.verdicts.keys()):
            raise LisDataError(_tell_missing(first, other, "groups", groups[0], groups[0] in first.verdicts))
        for group, items in first.verdicts.items():
            if different := sorted(items.keys() ^ other.verdicts[group].keys()):
                where = f"{group}, item {different[0]}"
                raise LisDataError(_tell_missing(first, other, "items", where, different[0] in items))


def _tell_missing(first: ItemResults, other: ItemResults, what: str, where: str, is_in_first: bool) -> str:
    lacking = other if is_in_first else first
    return f"expected {first.model} and {other.model} on the same {what}, found no {where} in {lacking.model}"


def compare_results(
    first: Sequence[ItemResults],
    second: Sequence[ItemResults],
    *,
    groups: Sequence[str] | None = None,
    ties: Ties = "wrong",
    seeds: SeedPairing = "paired",
    num_resamples: int = 2000,
    seed: int = 0,
) -> BootstrapDifference:
    """Return the mean score over groups (all, or those named) of `first` less that of `second`, with its interval.

    Each is the seeds of one model. See `paired_bootstrap`.
    """
    check_same_items([*first, *second])
    names = list(first[0].verdicts) if groups is None else list(groups)
    matrices = [[_matrix(results, name, ties) for name in names] for results in (first, second)]
    return paired_bootstrap(*matrices, seeds=seeds, num_resamples=num_resamples, seed=seed)


def _matrix(results: Sequence[ItemResults], group: str, ties: Ties) -> Float64:
    """Return the values of a group's items, (seeds, items), items in the order of their numbers."""
    values = _values_of(ties)
    items = sorted(results[0].verdicts[group])
    return np.array([[values[result.verdicts[group][item]] for item in items] for result in results])


def read_item_results(path: Path) -> list[ItemResults]:
    """Return the results of each model of a CSV with the columns model, suite, item and correct, in its order.

    `correct` is True, False or tie. Published results of Hu et al. (2020) are such files. Raises SchemaError with the
    line where it is not so, or an item comes twice.
    """
    found: dict[str, dict[str, dict[int, Verdict]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            place = Place(str(path), line=number)
            if number == 1:
                if row != _HEADER:
                    raise SchemaError(f"{place}: expected the columns {', '.join(_HEADER)}, found {', '.join(row)}")
                continue
            if len(row) != 4 or not row[2].isdecimal() or row[3] not in _VERDICT:
                expected = f"a model, a suite, the number of an item and one of {', '.join(_VERDICT)}"
                raise SchemaError(f"{place}: expected {expected}, found {','.join(row)!r}")
            model, group, item = row[0], row[1], int(row[2])
            items = found.setdefault(model, {}).setdefault(group, {})
            if item in items:
                raise SchemaError(f"{place}: expected each item once, found {group} item {item} of {model} again")
            items[item] = _VERDICT[row[3]]
    if not found:
        raise SchemaError(f"{path}: expected results, found none")
    return [ItemResults(model=model, verdicts=verdicts) for model, verdicts in found.items()]


def write_item_results(results: Iterable[ItemResults], path: Path) -> None:
    """Write the results of some models as the CSV that `read_item_results` reads."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_HEADER)
    for result in results:
        for group, items in result.verdicts.items():
            writer.writerows([result.model, group, item, _SPELLING[verdict]] for item, verdict in items.items())
    write_atomically(path, stream.getvalue().encode())
