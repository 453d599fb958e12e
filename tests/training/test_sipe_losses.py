"""SiPE's objective: the tags that each position is to predict, and the three parts of the loss."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import log_softmax

from lisdata.errors import LisDataError
from lisdata.models import build_model
from lisdata.training.batches import Batch
from lisdata.training.loss import NOT_SCORED, next_token_loss
from lisdata.training.sipe_losses import SipeObjective, next_tag_targets, sipe_nll
from lisdata.training.tag_regimes import apply_tag_regime

N = NOT_SCORED
BATCH = {
    "input_ids": torch.tensor([[7, 3, 5, 5, 2, 6, 1, 0]]),
    "terminal": torch.tensor([[0, N, 1, 1, 0, N, N, N]]),
    "nonterminal": torch.tensor([[2, N, 1, 0, 4, N, 3, N]]),
    "document": torch.tensor([[0, 0, 0, 0, 1, 1, 1, -1]]),
}


def build_tiny(**config: object) -> nn.Module:
    sizes = {"vocabulary_size": 8, "width": 8, "num_layers": 1, "num_attention_heads": 2, "predicts_tags": True}
    return build_model("sipe-transformer-xl", seed=0, **(sizes | {"injection": "position"} | config)).double()


def test_each_position_predicts_the_tags_of_the_next_one_of_its_document() -> None:
    assert next_tag_targets(BATCH, "terminal").tolist() == [[N, 1, 1, N, N, N, N]]
    assert next_tag_targets(BATCH, "nonterminal").tolist() == [[N, 1, 0, N, N, 3, N]]


def test_the_next_tagged_position_may_be_further_on_in_the_document() -> None:
    assert next_tag_targets(BATCH, "terminal", reach="next-tagged").tolist() == [[1, 1, 1, N, N, N, N]]
    assert next_tag_targets(BATCH, "nonterminal", reach="next-tagged").tolist() == [[1, 1, 0, N, 3, 3, N]]


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([N, 0, 1]), st.booleans(), st.booleans()), min_size=2, max_size=12))
def test_targets_are_those_of_a_search_from_each_position(row: list[tuple[int, bool, bool]]) -> None:
    tags, is_scored, begins = zip(*row, strict=True)
    documents = torch.tensor(begins, dtype=torch.int64).cumsum(0)
    batch = {
        "input_ids": torch.zeros(1, len(row), dtype=torch.int64),
        "terminal": torch.tensor([tags]),
        "target": torch.tensor([is_scored], dtype=torch.int64),
        "document": documents[None],
    }

    def search(place: int, reach: int) -> int:
        for following in range(place + 1, min(place + 1 + reach, len(row))):
            if documents[following] != documents[place] or not is_scored[following]:
                return N
            if tags[following] >= 0:
                return tags[following]
        return N

    for name, reach in (("next-position", 1), ("next-tagged", len(row))):
        expected = [search(place, reach) for place in range(len(row) - 1)]
        assert next_tag_targets(batch, "terminal", reach=name).tolist() == [expected]


def test_tags_to_predict_may_differ_from_those_given() -> None:
    batch = BATCH | {"terminal_target": torch.tensor([[1, 0, N, N, N, N, N, N]])}

    assert next_tag_targets(batch, "terminal").tolist() == [[0, N, N, N, N, N, N]]


def test_parts_are_the_likelihoods_of_what_stands_next() -> None:
    model = build_tiny()
    with torch.no_grad():
        logits = model.predict(**{name: column[:, :-1] for name, column in BATCH.items()})
        nll = sipe_nll(model, BATCH)

    token, terminal, nonterminal = (log_softmax(part[0], dim=-1) for part in logits)
    assert nll.token.targets.tolist() == [[3, 5, 5, N, 6, 1, N]]
    expected = [-token[0, 3], -token[1, 5], -token[2, 5], 0, -token[4, 6], -token[5, 1], 0]
    torch.testing.assert_close(nll.token.nll[0], torch.tensor(expected, dtype=torch.float64))
    expected = [0, -terminal[1, 1], -terminal[2, 1], 0, 0, 0, 0]
    torch.testing.assert_close(nll.terminal.nll[0], torch.tensor(expected, dtype=torch.float64))
    expected = [0, -nonterminal[1, 1], -nonterminal[2, 0], 0, 0, -nonterminal[5, 3], 0]
    torch.testing.assert_close(nll.nonterminal.nll[0], torch.tensor(expected, dtype=torch.float64))


def test_the_loss_is_the_weighted_sum_of_the_means() -> None:
    model = build_tiny()
    nll = sipe_nll(model, BATCH)
    token, terminal, nonterminal = (part.nll.sum() / number for part, number in zip(nll, (5, 2, 3), strict=True))

    torch.testing.assert_close(SipeObjective()(model, BATCH), token + terminal + nonterminal)
    weighted = SipeObjective(token_weight=2, terminal_weight=0.5, nonterminal_weight=0)
    torch.testing.assert_close(weighted(model, BATCH), 2 * token + 0.5 * terminal)


@pytest.mark.parametrize("regime", ["none", "injection-only"])
def test_where_no_tag_is_to_be_predicted_the_loss_is_that_of_the_tokens(regime: str) -> None:
    model, batch = build_tiny(), apply_tag_regime(BATCH, regime)

    torch.testing.assert_close(SipeObjective()(model, batch), next_token_loss(model, batch), rtol=0, atol=0)


def test_each_part_rests_on_what_stands_before_it() -> None:
    """Together they are then -log p of the tokens and tags."""
    model = build_tiny(num_layers=2, projection_std=1.0)
    changed = {name: column.clone() for name, column in BATCH.items()}
    changed["input_ids"][0, 3:], changed["terminal"][0, 3:], changed["nonterminal"][0, 3:] = 4, 0, 1
    changed["terminal_target"], changed["nonterminal_target"] = BATCH["terminal"], BATCH["nonterminal"]

    before, after = sipe_nll(model, BATCH), sipe_nll(model, changed)

    assert torch.equal(before.token.nll[:, :2], after.token.nll[:, :2])
    for left, right in zip(before[1:], after[1:], strict=True):
        assert torch.equal(left.nll[:, :3], right.nll[:, :3])


def test_the_objective_can_be_learned() -> None:
    model, batch, objective = build_tiny(norm="pre"), BATCH, SipeObjective()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.03)

    for _ in range(60):
        loss = objective(model, batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    assert float(loss.detach()) < 0.1 * (math.log(8) + math.log(2) + math.log(5))


def test_a_model_that_predicts_no_tags_is_refused() -> None:
    rope = build_model("rope", vocabulary_size=8, width=8, num_layers=1, num_attention_heads=2)

    with pytest.raises(ValueError, match="expected a model that predicts tags, got RopeTransformer"):
        sipe_nll(rope, BATCH)


def test_a_batch_without_tags_is_refused() -> None:
    batch: Batch = {"input_ids": BATCH["input_ids"]}

    with pytest.raises(LisDataError, match="expected a batch with the column terminal, found input_ids"):
        sipe_nll(build_tiny(injection="none"), batch)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [({"terminal_weight": -1.0}, "terminal_weight=-1.0"), ({"reach": "far"}, "is none of next-position, next-tagged")],
)
def test_a_setting_out_of_range_is_refused(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        SipeObjective(**settings)  # type: ignore[arg-type]
