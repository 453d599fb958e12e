"""Entities spelled one by one: what is scored, in either half, under a model that is told what to say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lisdata.conversion import convert
from lisdata.encoding import encode, load_tokenizer
from lisdata.evaluation.entity_spelling import entity_contents, find_entities, score_entities
from lisdata.loader import BatchCollator
from lisdata.shards import IncidenceDataset
from lisdata.sources.fact_text import Fact, write_line
from lisdata.token_shards import TokenDataset
from lisdata.training.batches import Batch

ANN = Fact(relation="work:boss-captain", participants=(("captain", "bo"), ("boss", "is")))
TEXT = "since the boss is is, the captain is bo."
MENTIONS = [(18, 20, "is"), (37, 39, "bo")]
LINES = [write_line([ANN], TEXT, MENTIONS), write_line([ANN], "", []), write_line([], TEXT, MENTIONS)]


class Told(nn.Module):
    """Gives every next token of a batch the likeliest place, but for those at `wrong`, which come `rank`-th."""

    def __init__(self, batch: Batch, wrong: set[tuple[int, int]], rank: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        targets = batch["input_ids"][:, 1:]
        size = int(batch["input_ids"].max()) + 8
        self.logits = torch.zeros(*targets.shape, size).scatter(2, targets[..., None], 10.0)
        for row, place in wrong:
            better = [k for k in range(size) if k != targets[row, place - 1]][: rank - 1]
            self.logits[row, place - 1, better] = 20.0

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.logits


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("spelling")
    (directory / "in.jsonl").write_bytes(b"".join(LINES))
    convert("fact-text", str(directory / "in.jsonl"), directory / "data")
    return directory


def read(directory: Path, **settings: Any) -> tuple[Batch, Any, dict[str, Any]]:
    target = directory / "-".join(["tokens", *map(str, settings.values())])
    encode(directory / "data", target, separator=" ", text_separator="|", **settings)
    tokens = TokenDataset(target)
    known = {
        "contents": entity_contents(IncidenceDataset(directory / "data")),
        "text_role": tokens.roles.index("record#token"),
    }
    tokenizer = load_tokenizer(target / tokens.manifest["tokenizer"]["file"])
    return BatchCollator()(tokens.gather(range(len(LINES)))), tokenizer, known


@pytest.mark.parametrize("facts", ["endpoints", "serialized"])
@pytest.mark.parametrize("view", ["mixed", "text-first"])
def test_names_of_the_half_that_ends_the_row_are_scored_without_what_stands_before_them(
    dataset: Path, view: str, facts: str
) -> None:
    batch, tokenizer, known = read(dataset, view=view, facts=facts)

    entity, is_last = find_entities(batch, known["contents"], known["text_role"])

    def spelled(row: int, mask: Tensor) -> str:
        return str(tokenizer.decode(batch["input_ids"][row][mask[row]].tolist()))

    in_text, in_facts = ("isbo", "bo"), ("bois", "is")
    expected = [in_text if view == "mixed" else in_facts, in_facts, in_text]
    assert [(spelled(row, entity >= 0), spelled(row, is_last)) for row in range(3)] == expected
    assert [len(entity[row][entity[row] >= 0].unique()) for row in range(3)] == [2, 2, 2]


@pytest.mark.parametrize(("rank", "right_at_5"), [(1, 6), (3, 6), (5, 6), (6, 5)])
def test_an_entity_is_right_at_k_when_each_of_its_characters_is(dataset: Path, rank: int, right_at_5: int) -> None:
    batch, _, known = read(dataset, view="mixed", facts="endpoints")
    _, is_last = find_entities(batch, known["contents"], known["text_role"])
    place = int((is_last[0]).nonzero()[-1])

    sums = score_entities(Told(batch, {(0, place)}, rank), [batch], **known)

    figures = sums["all"].figures()
    assert (figures["examples"], figures["characters"]) == (6, 12)
    assert figures["char_top_5_exact"] == pytest.approx(right_at_5 / 6)
    assert figures["char_top_1_exact"] == pytest.approx((6 if rank == 1 else 5) / 6)
    last = sums["last"].figures()
    assert (last["examples"], last["characters"]) == (3, 6)
    assert last["char_top_5_exact"] == pytest.approx((right_at_5 - 3) / 3)


def test_perplexity_is_that_of_the_scored_characters(dataset: Path) -> None:
    batch, _, known = read(dataset, view="mixed", facts="endpoints")
    model = Told(batch, set(), 1)
    nll = math.log(1 + (model.logits.shape[-1] - 1) * math.exp(-10.0))

    sums = score_entities(model, [batch], **known)

    assert sums["all"].figures()["perplexity"] == pytest.approx(math.exp(nll), rel=1e-4)
    assert sums["last"].figures()["perplexity"] == pytest.approx(math.exp(nll), rel=1e-4)
