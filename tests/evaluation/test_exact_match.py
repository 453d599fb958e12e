"""char_top_k_exact on rows of facts and text."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lisdata.evaluation.exact_match import find_names, score_names

# " ab cd|cd x ab" as endpoints and text: instance 0 a fact of ab and cd, instance 1 the text; contents 7, 8 and words
ROW = {
    "input_ids": [9, 1, 2, 9, 3, 4, 5, 3, 4, 9, 6, 9, 1, 2],
    "instance": [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
    "occurrence": [0, 0, 0, 1, 1, 1, -1, 2, 2, -1, 3, -1, 4, 4],
    "content": [7, 7, 7, 8, 8, 8, 0, 8, 8, 0, 55, 0, 7, 7],
}


def batch(*rows: dict[str, list[int]]) -> dict[str, Tensor]:
    width = max(len(row["input_ids"]) for row in rows)
    fill = {"input_ids": 0, "instance": 0, "occurrence": 0, "content": 0}
    columns = {
        name: torch.tensor([row[name] + [fill[name]] * (width - len(row[name])) for row in rows]) for name in fill
    }
    return columns | {"length": torch.tensor([len(row["input_ids"]) for row in rows])}


class Oracle(nn.Module):
    """Gives the next token rank `rank` where `is_wrong` says so at its place, else rank 0."""

    def __init__(self, wrong: set[int], rank: int) -> None:
        super().__init__()
        self.wrong, self.rank = wrong, rank
        self.unused = nn.Parameter(torch.zeros(1))
        self.next: Tensor = torch.empty(0)

    def forward(self, input_ids: Tensor) -> Tensor:
        logits = torch.full((*input_ids.shape, 10), -100.0)
        for row in range(input_ids.shape[0]):
            for place in range(input_ids.shape[1]):
                target = int(self.next[row, place])
                logits[row, place, target] = 0.0
                if place + 1 in self.wrong:
                    for better in range(self.rank):
                        logits[row, place, (target + 1 + better) % 10] = 1.0
        return logits


def score(wrong: set[int], rank: int = 1) -> dict[str, Any]:
    data = batch(ROW, {name: values[:9] for name, values in ROW.items()})
    model = Oracle(wrong, rank)
    model.next = data["input_ids"][:, 1:]
    return {reading: sums.figures() for reading, sums in score_names(model, [data]).items()}


def test_names_are_mentions_in_the_text_of_what_the_facts_show() -> None:
    names, first = find_names(batch(ROW, {name: values[:9] for name, values in ROW.items()}))

    assert names[0].nonzero().flatten().tolist() == [7, 8, 12, 13]
    assert first[0].nonzero().flatten().tolist() == [7, 8]
    assert names[1].nonzero().flatten().tolist() == [7, 8]


def test_an_example_counts_when_every_scored_character_is_right() -> None:
    figures = score(set())

    assert figures["all"]["char_top_1_exact"] == 1.0
    assert (figures["all"]["examples"], figures["all"]["characters"]) == (2, 6)
    assert (figures["predicted"]["examples"], figures["predicted"]["characters"]) == (1, 2)
    assert figures["all"]["perplexity"] == pytest.approx(1.0)


def test_one_wrong_character_makes_an_example_wrong() -> None:
    figures = score({13})  # the last character of the first row's second name

    assert figures["all"]["char_top_1_exact"] == 0.5
    assert figures["predicted"]["char_top_1_exact"] == 0.0
    assert figures["all"]["char_top_5_exact"] == 1.0


def test_a_character_that_is_no_name_is_not_scored() -> None:
    assert score({1, 5, 6, 10})["all"]["char_top_1_exact"] == 1.0


def test_the_first_name_counts_in_one_reading_alone() -> None:
    figures = score({8})

    assert figures["all"]["char_top_1_exact"] == 0.0
    assert figures["predicted"]["char_top_1_exact"] == 1.0


@pytest.mark.parametrize(("rank", "exact"), [(4, 1.0), (5, 0.0)])
def test_the_fifth_is_among_the_top_five_and_the_sixth_is_not(rank: int, exact: float) -> None:
    assert score({7}, rank)["all"]["char_top_5_exact"] == exact


def test_perplexity_is_over_scored_characters_pooled() -> None:
    # one of six characters, with probability 1 / (1 + e); the others are certain
    assert score({13})["all"]["perplexity"] == pytest.approx((1 + math.e) ** (1 / 6), rel=1e-5)
