"""Filtered ranks against their definition, content by content."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from lisdata.evaluation.link_prediction import KnownAnswers, RankSums, filtered_ranks, question_of

FACTS = [[(0, 5), (1, 6)], [(0, 5), (1, 7)], [(0, 5), (1, 7), (2, 8)], [(2, 8), (1, 9), (0, 5)]]


def test_a_fact_answers_its_own_questions_only() -> None:
    known = KnownAnswers(FACTS)

    assert known[question_of([(0, 5), (1, 6)], 1)] == {6, 7}
    assert known[question_of([(0, 5), (1, 6)], 0)] == {5}
    assert known[question_of([(0, 5), (1, 7), (2, 8)], 1)] == {7, 9}  # in whatever order the others stand
    assert known[question_of([(0, 4), (1, 7)], 1)] == frozenset()


def test_a_role_twice_is_asked_for_twice() -> None:
    known = KnownAnswers([[(0, 1), (1, 2), (1, 3)]])

    assert known[question_of([(0, 1), (1, 2), (1, 4)], 2)] == {3}


def rank_by_definition(scores: list[float], answer: int, known: set[int]) -> float:
    others = [score for content, score in enumerate(scores) if content != answer and content not in known]
    better = sum(score > scores[answer] for score in others)
    return 1 + better + sum(score == scores[answer] for score in others) / 2


@settings(deadline=None)
@given(st.data())
def test_ranks_are_those_of_the_definition(data: st.DataObject) -> None:
    grades = st.sampled_from([-2.0, 0.0, 1.0, float("-inf")])  # few, so that many are equal
    scores = data.draw(st.lists(st.lists(grades, min_size=6, max_size=6), min_size=1, max_size=4))
    answers = [data.draw(st.integers(0, 5)) for _ in scores]
    known = [{answer, *data.draw(st.sets(st.integers(0, 5)))} for answer in answers]

    found = filtered_ranks(torch.tensor(scores), answers, known)

    assert found.tolist() == [rank_by_definition(*row) for row in zip(scores, answers, known, strict=True)]


def test_equal_scores_have_the_mean_rank_not_the_best() -> None:
    assert filtered_ranks(torch.zeros(1, 9), [3], [{3}]).tolist() == [5]


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        filtered_ranks(torch.tensor([[0.0, float("nan")]]), [0], [{0}])


def ranks(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def test_figures_are_means_over_all_ranks() -> None:
    sums = RankSums()
    sums.add(ranks(1, 2))
    sums.add(ranks(3.5, 20))

    assert sums.figures() == {
        "num_ranked": 4,
        "mrr": pytest.approx((1 + 1 / 2 + 1 / 3.5 + 1 / 20) / 4),
        "hits_at_1": 0.25,
        "hits_at_3": 0.5,
        "hits_at_10": 0.75,
    }
    assert RankSums().figures()["mrr"] == 0
