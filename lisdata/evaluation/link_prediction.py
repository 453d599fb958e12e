"""Filtered ranks of a fact's participants: the standard protocol of link prediction, for facts of any arity.

A question is a fact without one participant, whose role stays. Its answers are all contents that make it a fact of
train, dev or test; a true answer competes with everything but the other answers. Ties are split evenly: the rank is
one more than the number of better ones plus half the number of equal ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Participants = Sequence[tuple[int, int]]
"""Role and content of each participant of a fact."""
Question = tuple[int, tuple[tuple[int, int], ...]]
"""The asked role, and the other participants, sorted: their order means nothing."""

HITS = (1, 3, 10)


def question_of(fact: Participants, asked: int) -> Question:
    """Return the question whose answer is participant number `asked`."""
    return fact[asked][0], tuple(sorted(p for number, p in enumerate(fact) if number != asked))


class KnownAnswers:
    """The answers of every question that can be asked of some facts."""

    def __init__(self, facts: Iterable[Participants]) -> None:
        self._answers: dict[Question, set[int]] = defaultdict(set)
        for fact in facts:
            for asked, (_, content) in enumerate(fact):
                self._answers[question_of(fact, asked)].add(content)

    def __getitem__(self, question: Question) -> frozenset[int]:
        """Return the contents that answer it; none where no fact does."""
        return frozenset(self._answers.get(question, ()))


def filtered_ranks(scores: Tensor, answers: Sequence[int], known: Sequence[Iterable[int]]) -> Tensor:
    """Return the rank of each answer (Q,), float64, from scores (Q, contents); `known` are the answers of each row.

    Raises ValueError where a score is not a number: such a one would be better than none.
    """
    if scores.isnan().any():
        raise ValueError("expected scores that are numbers, got NaN")
    target = torch.tensor(list(answers), device=scores.device)[:, None]
    is_competitor = torch.ones_like(scores, dtype=torch.bool).scatter_(1, target, False)
    rows = [row for row, others in enumerate(known) for _ in others]
    is_competitor[rows, [content for others in known for content in others]] = False
    own = scores.gather(1, target)
    num_better, num_equal = (((compare(scores, own)) & is_competitor).sum(1) for compare in (torch.gt, torch.eq))
    return 1 + num_better.double() + num_equal.double() / 2


@dataclass(slots=True)
class RankSums:
    """Sums over the ranks of some answers."""

    num_ranked: int = 0
    reciprocal: float = 0.0
    hits: tuple[int, ...] = (0,) * len(HITS)

    def add(self, ranks: Tensor) -> None:
        """Count ranks, (Q,)."""
        self.num_ranked += len(ranks)
        self.reciprocal += float((1 / ranks).sum())
        self.hits = tuple(n + int((ranks <= k).sum()) for n, k in zip(self.hits, HITS, strict=True))

    def figures(self) -> dict[str, float]:
        """Return the mean reciprocal rank and the shares of ranks up to 1, 3 and 10; 0 where nothing is ranked."""
        count = max(self.num_ranked, 1)
        hits = {f"hits_at_{k}": n / count for n, k in zip(self.hits, HITS, strict=True)}
        return {"num_ranked": self.num_ranked, "mrr": self.reciprocal / count, **hits}
