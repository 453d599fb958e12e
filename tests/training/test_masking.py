"""Masking: which tokens, how often, shown as what; no tag is given where one is masked; every batch anew, and again."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.training.batches import Batch
from lisdata.training.masking import MASKED_TARGET, MaskedBatches, MaskRecipe, mask_tokens
from lisdata.training.tag_regimes import apply_tag_regime

N, MASK, SIZE = -100, 20, 21


def draw_batch(seed: int, shape: tuple[int, int] = (3, 11)) -> Batch:
    generator = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=generator)

    is_tagged = draw(0, 3) > 0
    return {
        "input_ids": draw(0, MASK),
        "terminal": torch.where(is_tagged, draw(0, 2), N),
        "nonterminal": torch.where(is_tagged, draw(0, 5), N),
        "document": draw(-1, 3).sort(1, descending=True).values,
        "target": draw(0, 4).clamp(max=1),
        "length": torch.randint(1, shape[1] + 1, shape[:1], generator=generator),
        "real": torch.tensor([True] * (shape[0] - 1) + [False]),
    }


def recipe(**changes: Any) -> MaskRecipe:
    return MaskRecipe(**({"mask_id": MASK, "vocabulary_size": SIZE, "rate": 0.5} | changes))


@settings(deadline=None)
@given(seed=st.integers(0, 1000), step=st.integers(0, 2**40), kept=st.sets(st.integers(0, MASK)))
def test_only_what_is_scored_is_chosen_and_all_else_stays(seed: int, step: int, kept: set[int]) -> None:
    batch = draw_batch(seed)
    before = {name: column.clone() for name, column in batch.items()}

    masked = mask_tokens(batch, recipe(kept_ids=tuple(kept)), step=step)

    is_chosen = masked[MASKED_TARGET] != N
    place = torch.arange(11)
    may_be = (batch["document"] >= 0) & (batch["target"] > 0) & (place < batch["length"][:, None])
    may_be = may_be & batch["real"][:, None] & ~torch.isin(batch["input_ids"], torch.tensor(sorted(kept)))
    assert not (is_chosen & ~may_be).any()
    assert torch.equal(masked[MASKED_TARGET][is_chosen], batch["input_ids"][is_chosen])
    assert torch.equal(masked["input_ids"][~is_chosen], batch["input_ids"][~is_chosen])
    assert all(torch.equal(batch[name], column) for name, column in before.items())  # the batch itself is as it was


@settings(deadline=None)
@given(seed=st.integers(0, 1000), mask_share=st.sampled_from([0.0, 0.5, 1.0]))
def test_a_chosen_token_has_no_tag_whatever_is_shown_and_its_tags_are_kept_to_be_predicted(
    seed: int, mask_share: float
) -> None:
    batch = draw_batch(seed)

    masked = mask_tokens(batch, recipe(mask_share=mask_share, random_share=0.0), step=1)

    is_chosen = masked[MASKED_TARGET] != N
    for name in ("terminal", "nonterminal"):
        assert (masked[name][is_chosen] == N).all()
        assert torch.equal(masked[name][~is_chosen], batch[name][~is_chosen])
        assert torch.equal(masked[f"{name}_target"], batch[name])


def test_what_a_regime_predicts_stays_to_be_predicted() -> None:
    batch = apply_tag_regime(draw_batch(1), "losses-only")

    masked = mask_tokens(batch, recipe(), step=0)

    assert (masked["terminal"] == N).all()
    assert torch.equal(masked["terminal_target"], batch["terminal_target"])


def test_a_batch_without_tags_is_masked_as_well() -> None:
    tokens = {"input_ids": draw_batch(1)["input_ids"]}

    masked = mask_tokens(tokens, recipe(rate=1.0, mask_share=1.0, random_share=0.0), step=0)

    assert masked.keys() == {"input_ids", MASKED_TARGET}
    assert (masked["input_ids"] == MASK).all()


def test_shares_are_15_and_of_these_80_10_10() -> None:
    ids = torch.full((100, 1000), 7)

    masked = mask_tokens({"input_ids": ids}, MaskRecipe(mask_id=MASK, vocabulary_size=SIZE), step=3)

    is_chosen = masked[MASKED_TARGET] != N
    shown = masked["input_ids"][is_chosen]
    of_random = 0.1 / SIZE  # the drawn tokens are any, the mask and the token itself too
    assert float(is_chosen.double().mean()) == pytest.approx(0.15, abs=0.005)
    assert float((shown == MASK).double().mean()) == pytest.approx(0.8 + of_random, abs=0.015)
    assert float((shown == 7).double().mean()) == pytest.approx(0.1 + of_random, abs=0.015)
    assert set(shown.tolist()) == set(range(SIZE))


def test_each_batch_and_each_seed_is_masked_in_its_own_way() -> None:
    batch = draw_batch(1, shape=(8, 60))
    drawn = {
        (seed, step): mask_tokens(batch, recipe(seed=seed), step=step)["input_ids"].numpy().tobytes()
        for seed in range(3)
        for step in range(3)
    }

    assert len(set(drawn.values())) == 9
    assert mask_tokens(batch, recipe(seed=2), step=1)["input_ids"].numpy().tobytes() == drawn[2, 1]


class Numbered:
    """A source whose batch k is drawn under the seed k."""

    def __init__(self) -> None:
        self.step = 0

    def next_batch(self) -> Batch:
        self.step += 1
        return draw_batch(self.step)

    def state_dict(self) -> dict[str, Any]:
        return {"step": self.step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.step = state["step"]

    def description(self) -> dict[str, Any]:
        return {"rows": 3}


def test_masked_batches_resume_exactly_and_say_what_decides_them() -> None:
    first, second = MaskedBatches(Numbered(), recipe(seed=4)), MaskedBatches(Numbered(), recipe(seed=4))
    first.next_batch()
    state = first.state_dict()
    expected = [first.next_batch() for _ in range(3)]

    second.load_state_dict(state)

    for batch in expected:
        found = second.next_batch()
        assert all(torch.equal(found[name], column) for name, column in batch.items())
    assert second.description()["rows"] == 3
    assert second.description()["masking"] == {
        "mask_id": MASK, "vocabulary_size": SIZE, "rate": 0.5, "mask_share": 0.8, "random_share": 0.1,
        "kept_ids": (), "seed": 4,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"rate": 0.0}, "rate=0.0 is no probability above 0"),
        ({"mask_share": 0.95}, "are no shares of 1"),
        ({"random_share": -0.1}, "are no shares of 1"),
        ({"mask_id": SIZE}, "mask_id=21 is none of 21 tokens"),
        ({"seed": -1}, "is negative"),
    ],
)
def test_a_setting_out_of_range_is_refused(setting: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        recipe(**setting)
