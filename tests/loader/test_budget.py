"""Batches under a budget of tokens: never above it, with padding counted, and few of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import PlanError
from lisdata.loader import Batch, Loader
from lisdata.token_shards import TokenDataset, write_tokens

NUM_ROWS = 500


@pytest.fixture(scope="module")
def ragged(tmp_path_factory: pytest.TempPathFactory) -> TokenDataset:
    """Rows of 0 to 50 tokens, each of which is the row's number."""
    lengths = np.random.default_rng(3).integers(0, 51, NUM_ROWS)
    directory: Path = tmp_path_factory.mktemp("ragged")
    write_tokens(directory, ([n] * int(k) for n, k in enumerate(lengths)), vocab_size=NUM_ROWS, tokens_per_part=4000)
    return TokenDataset(directory)


@settings(deadline=None, max_examples=30)
@given(
    max_tokens=st.integers(8, 400),
    pad_to=st.sampled_from([None, 1, 8]),
    bucket=st.sampled_from([None, 1, 4]),
    max_rows=st.sampled_from([None, 1, 7]),
    layout=st.sampled_from(["padded", "flat"]),
    max_length=st.sampled_from([None, 5, 45]),
)
def test_batches_stay_within_the_budget_and_hold_every_row_once(
    ragged: TokenDataset,
    max_tokens: int,
    pad_to: int | None,
    bucket: int | None,
    max_rows: int | None,
    layout: Any,
    max_length: int | None,
) -> None:
    pad_to = None if layout == "flat" else pad_to
    limit = max_tokens // (pad_to or 1) * (pad_to or 1)
    loader = Loader(
        ragged,
        max_rows,
        max_tokens=max_tokens,
        pad_to=pad_to,
        bucket=bucket,
        layout=layout,
        max_length=max_length,
        tail="ragged",
    )

    rows: list[int] = []
    for batch in loader:
        assert batch["input_ids"].numel() <= max_tokens
        assert len(batch["row"]) <= (max_rows or NUM_ROWS)
        rows += batch["row"].tolist()
        for row, length in zip(batch["row"].tolist(), batch["length"].tolist(), strict=True):
            assert length == min(len(ragged[row]["input_ids"]), limit, max_length or 99)

    assert sorted(rows) == list(range(NUM_ROWS))


def test_buckets_make_fewer_and_fuller_batches(ragged: TokenDataset) -> None:
    def filling(**chosen: Any) -> float:
        batches = list(Loader(ragged, max_tokens=400, tail="ragged", **chosen))
        return sum(int(b["length"].sum()) for b in batches) / sum(b["input_ids"].numel() for b in batches)

    assert filling(bucket=8) > 0.9 > 0.75 > filling()


def test_batches_of_a_bucket_are_in_no_order_of_length(ragged: TokenDataset) -> None:
    widths = [b["input_ids"].shape[1] for b in Loader(ragged, max_tokens=200, bucket=8, tail="ragged")]

    assert abs(np.corrcoef(widths, np.arange(len(widths)))[0, 1]) < 0.5


def test_a_rank_without_a_batch_gets_filler_or_an_empty_one(ragged: TokenDataset) -> None:
    num_batches = len(list(Loader(ragged, max_tokens=300, tail="ragged")))
    world_size = num_batches - 1

    def last_of(rank: int, tail: Any) -> Batch:
        return list(Loader(ragged, max_tokens=300, tail=tail, rank=rank, world_size=world_size))[-1]

    ranks = (0, 1, world_size - 1)
    last = {tail: [last_of(rank, tail) for rank in ranks] for tail in ("pad", "ragged")}

    assert sorted(bool(batch["real"].all()) for batch in last["pad"]) == [False, False, True]
    assert all(len(batch["row"]) for batch in last["pad"])
    assert sorted(len(batch["row"]) > 0 for batch in last["ragged"]) == [False, False, True]


@pytest.mark.parametrize(
    "other",
    [{"max_tokens": 99}, {"bucket": 4}, {"layout": "flat"}, {"pad_to": 2}, {"max_length": 3}, {"batch_size": 3}],
)
def test_a_state_of_another_budget_is_refused(ragged: TokenDataset, other: dict[str, Any]) -> None:
    loader = Loader(ragged, max_tokens=100)
    next(iter(loader))

    with pytest.raises(PlanError, match="expected order"):
        Loader(ragged, **({"max_tokens": 100} | other)).load_state_dict(loader.state_dict())


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_tokens": 0},
        {"max_tokens": 7, "pad_to": 8},
        {"max_tokens": 64, "bucket": 0},
        {"max_tokens": 64, "batch_size": 0},
        {"max_tokens": 64, "tail": "cut"},
    ],
)
def test_wrong_budgets_are_refused(ragged: TokenDataset, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Loader(ragged, **wrong)
