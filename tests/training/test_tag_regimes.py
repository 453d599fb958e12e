"""Tag regimes: what each gives a model and lets it predict, and that random ones depend on a row's own words alone."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import pad

from lisdata.training.batches import Batch
from lisdata.training.tag_regimes import (
    TAG_REGIMES,
    RegimeBatches,
    apply_tag_regime,
    shuffle_tags,
    withhold_nonterminals,
)

N = -100
BATCH = {
    "input_ids": torch.tensor([[7, 3, 5, 5, 2, 9], [1, 1, 4, 8, 6, 0]]),
    "terminal": torch.tensor([[0, N, 1, 1, 0, N], [1, 0, N, 0, 1, N]]),
    "nonterminal": torch.tensor([[2, N, 1, 0, 0, N], [3, 4, N, 1, 0, N]]),
    "document": torch.tensor([[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, -1]]),
}
TAGS = [[(0, 2), (N, N), (1, 1), (1, 0), (0, 0), (N, N)], [(1, 3), (0, 4), (N, N), (0, 1), (1, 0), (N, N)]]
NO_TAGS = [[(N, N)] * 6] * 2
BITS = [[(N, 1), (N, N), (N, 1), (N, 0), (N, 0), (N, N)], [(N, 1), (N, 1), (N, N), (N, 1), (N, 0), (N, N)]]
WITHOUT_NEWEST = [[(0, 2), (N, N), (1, 1), (1, N), (0, N), (N, N)], [(1, 3), (0, 4), (N, N), (0, 1), (1, N), (N, N)]]
EXPECTED = {
    "none": (NO_TAGS, NO_TAGS),
    "losses-only": (NO_TAGS, TAGS),
    "injection-only": (TAGS, NO_TAGS),
    "full": (TAGS, TAGS),
    "eos-bit": (BITS, BITS),
    "terminal-only": ([[(t, N) for t, _ in row] for row in TAGS],) * 2,
    "nonterminal-only": ([[(N, n) for _, n in row] for row in TAGS],) * 2,
    "prefix": (WITHOUT_NEWEST, WITHOUT_NEWEST),
}


def pairs(batch: Batch, suffix: str = "") -> list[list[tuple[int, int]]]:
    columns = batch[f"terminal{suffix}"].tolist(), batch[f"nonterminal{suffix}"].tolist()
    return [list(zip(*row, strict=True)) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("regime", EXPECTED)
def test_a_regime_gives_and_predicts_what_its_name_says(regime: str) -> None:
    before = {name: column.clone() for name, column in BATCH.items()}

    changed = apply_tag_regime(BATCH, regime)

    assert (pairs(changed), pairs(changed, "_target")) == EXPECTED[regime]
    assert torch.equal(changed["input_ids"], BATCH["input_ids"])
    assert all(torch.equal(BATCH[name], column) for name, column in before.items())


def test_every_regime_is_tested_here() -> None:
    assert {*EXPECTED, "shuffled"} == set(TAG_REGIMES)


def test_without_documents_a_row_has_one_newest_word() -> None:
    alone = {name: column for name, column in BATCH.items() if name != "document"}

    assert pairs(apply_tag_regime(alone, "prefix"))[0] == [*TAGS[0][:4], (0, N), (N, N)]


def draw_batch(seed: int, num_rows: int = 3, length: int = 30) -> Batch:
    generator = torch.Generator().manual_seed(seed)

    def draw(high: int) -> Tensor:
        return torch.randint(0, high, (num_rows, length), generator=generator)

    is_untagged = draw(3) == 0
    return {
        "input_ids": draw(100),
        "terminal": draw(2).masked_fill(is_untagged, N),
        "nonterminal": draw(5).masked_fill(is_untagged, N),
    }


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(0, 2**32))
def test_shuffled_tags_are_the_rows_own_pairs_at_the_rows_tagged_positions(drawn: int, seed: int) -> None:
    batch = draw_batch(drawn)

    shuffled = shuffle_tags(batch, seed=seed)

    assert pairs(shuffled) == pairs(shuffled, "_target")
    assert [sorted(row) for row in pairs(shuffled)] == [sorted(row) for row in pairs(batch)]
    assert torch.equal(shuffled["terminal"] == N, batch["terminal"] == N)
    assert pairs(shuffled) != pairs(batch)
    assert pairs(shuffled) != pairs(shuffle_tags(batch, seed=seed + 1))


def random_regimes(batch: Batch, seed: int) -> list[Batch]:
    return [shuffle_tags(batch, seed=seed), withhold_nonterminals(batch, probability=0.5, seed=seed)]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(0, 9))
def test_a_row_comes_out_the_same_in_any_batch(drawn: int, num_padded: int) -> None:
    batch = draw_batch(drawn)
    fill = {"input_ids": 0, "terminal": N, "nonterminal": N}
    other = {name: pad(column.flip(0)[1:], (0, num_padded), value=fill[name]) for name, column in batch.items()}

    for here, there in zip(random_regimes(batch, 5), random_regimes(other, 5), strict=True):
        assert pairs(here)[:2] == [row[:30] for row in pairs(there)[::-1]]


def test_shuffling_uses_all_orders() -> None:
    row = {name: torch.arange(3)[None] for name in ("input_ids", "terminal", "nonterminal")}

    found = {tuple(shuffle_tags(row, seed=seed)["nonterminal"][0].tolist()) for seed in range(100)}

    assert len(found) == 6


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000))
def test_withheld_nonterminals_are_still_predicted(drawn: int) -> None:
    batch = draw_batch(drawn, num_rows=8, length=100)

    changed = withhold_nonterminals(batch, probability=0.25, seed=drawn)

    is_tagged = batch["nonterminal"] != N
    is_withheld = is_tagged & (changed["nonterminal"] == N)
    assert torch.equal(changed["nonterminal"][~is_withheld], batch["nonterminal"][~is_withheld])
    assert torch.equal(changed["nonterminal_target"], batch["nonterminal"])
    assert torch.equal(changed["terminal"], batch["terminal"])
    assert 0.15 < is_withheld.sum() / is_tagged.sum() < 0.35


def test_what_a_regime_does_not_predict_stays_out_when_nonterminals_are_withheld() -> None:
    changed = withhold_nonterminals(apply_tag_regime(BATCH, "injection-only"), probability=1.0, seed=0)

    assert pairs(changed) == EXPECTED["terminal-only"][0]
    assert pairs(changed, "_target") == NO_TAGS


class OneBatch:
    """A source that gives `BATCH` again and again."""

    def __init__(self) -> None:
        self.step = 0

    def next_batch(self) -> Batch:
        self.step += 1
        return BATCH

    def state_dict(self) -> dict[str, Any]:
        return {"step": self.step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.step = state["step"]

    def description(self) -> dict[str, Any]:
        return {"rows": 2}


def test_batches_under_a_regime_resume_and_say_what_decides_them() -> None:
    source = OneBatch()
    batches = RegimeBatches(source, "losses-only", withhold=0.5, seed=3)

    assert pairs(batches.next_batch(), "_target") == TAGS
    assert batches.state_dict() == {"step": 1}
    batches.load_state_dict({"step": 7})
    assert source.step == 7
    assert batches.description() == {"rows": 2, "tag_regime": "losses-only", "tag_seed": 3, "withhold": 0.5}


def test_batches_under_a_regime_withhold_as_often_as_asked() -> None:
    given_tags = [pairs(RegimeBatches(OneBatch(), "full", withhold=p).next_batch()) for p in (0.0, 1.0)]

    assert given_tags == [TAGS, EXPECTED["terminal-only"][0]]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"regime": "half"}, "regime='half' is none of none, "),
        ({"withhold": 1.5}, "no probability"),
        ({"seed": -1}, "neg"),
    ],
)
def test_a_setting_out_of_range_is_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        RegimeBatches(OneBatch(), **({"regime": "full"} | settings))


def test_an_unknown_regime_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match=r"regime='half' is none of none, losses-only, .*, shuffled"):
        apply_tag_regime(BATCH, "half")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 29))
def test_a_document_comes_out_the_same_alone_and_packed(drawn: int, cut: int) -> None:
    row = draw_batch(drawn, num_rows=1)
    document = (torch.arange(30) >= cut).long()[None]
    alone = [{name: column[:, at] for name, column in row.items()} for at in (slice(cut), slice(cut, 30))]

    packed = random_regimes(row | {"document": document}, 5)
    parts = zip(*(random_regimes(part, 5) for part in alone), strict=True)

    for whole, (first, second) in zip(packed, parts, strict=True):
        assert pairs(whole)[0] == pairs(first)[0] + pairs(second)[0]
