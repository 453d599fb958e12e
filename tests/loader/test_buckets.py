"""Length buckets: rows of about equal length in a batch, every row once, in an order that no topology changes."""

from __future__ import annotations

import pickle
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import PlanError
from lisdata.loader import Loader
from lisdata.loader.buckets import BucketOrder
from lisdata.loader.order import order_of
from lisdata.token_shards import TokenDataset, write_tokens

NUM_ROWS = 1000


@pytest.fixture(scope="module")
def ragged(tmp_path_factory: pytest.TempPathFactory) -> TokenDataset:
    """Rows of 1 to 50 tokens, each of which is the row's number."""
    lengths = np.random.default_rng(3).integers(1, 51, NUM_ROWS)
    directory: Path = tmp_path_factory.mktemp("ragged")
    write_tokens(directory, ([n] * int(k) for n, k in enumerate(lengths)), vocab_size=NUM_ROWS, tokens_per_part=4000)
    return TokenDataset(directory)


def order(dataset: TokenDataset, size: int, seed: int = 0) -> BucketOrder:
    base = order_of(len(dataset), shuffle=True, window=None, seed=seed)
    return BucketOrder(base=base, dataset=dataset, size=size, seed=seed)


@settings(max_examples=25, deadline=None)
@given(size=st.integers(1, 40), epoch=st.integers(0, 5), cut=st.integers(0, NUM_ROWS))
def test_every_row_comes_once_an_epoch_however_it_is_asked_for(
    ragged: TokenDataset, size: int, epoch: int, cut: int
) -> None:
    whole = order(ragged, size).rows(np.arange(NUM_ROWS), epoch)

    assert sorted(whole.tolist()) == list(range(NUM_ROWS))
    asked = order(ragged, size)
    later = asked.rows(np.arange(cut, NUM_ROWS), epoch)
    assert np.array_equal(np.concatenate([asked.rows(np.arange(cut), epoch), later]), whole)
    assert np.array_equal(pickle.loads(pickle.dumps(asked)).rows(np.arange(NUM_ROWS), epoch), whole)


def test_batches_have_little_padding_and_another_mix_in_each_epoch(ragged: TokenDataset) -> None:
    def padding(bucket: int | None) -> float:
        batches = list(Loader(ragged, 8, bucket=bucket, tail="ragged", columns=("input_ids",)))
        return 1 - sum(int(b["length"].sum()) for b in batches) / sum(b["input_ids"].numel() for b in batches)

    assert padding(8) < 0.05 < 0.3 < padding(None)
    first, second = (order(ragged, 8).rows(np.arange(8), epoch).tolist() for epoch in (0, 1))
    assert set(first) != set(second)


def test_the_lengths_of_batches_are_in_no_order(ragged: TokenDataset) -> None:
    lengths = [int(b["length"].max()) for b in Loader(ragged, 8, bucket=8, tail="drop")]

    assert np.abs(np.corrcoef(lengths, np.arange(len(lengths)))[0, 1]) < 0.5
    assert lengths != sorted(lengths)


@pytest.mark.parametrize(("world_size", "batch_size"), [(1, 8), (2, 4), (4, 3)])
def test_a_state_goes_on_in_another_world(ragged: TokenDataset, world_size: int, batch_size: int) -> None:
    first = Loader(ragged, 8, bucket=8, rank=0, world_size=1, tail="ragged")
    seen = [batch["row"].tolist() for batch in islice(first, 17)]
    state = first.state_dict()

    for rank in range(world_size):
        loader = Loader(ragged, batch_size, bucket=8, rank=rank, world_size=world_size, tail="ragged")
        loader.load_state_dict(state)
        seen += [batch["row"].tolist() for batch in loader]

    assert sorted(row for rows in seen for row in rows) == list(range(NUM_ROWS))


def test_a_state_of_other_buckets_is_refused(ragged: TokenDataset) -> None:
    with pytest.raises(PlanError, match="expected order with bucket None, found 8"):
        Loader(ragged, 8).load_state_dict(Loader(ragged, 8, bucket=8).state_dict())


def test_workers_give_the_same_batches(ragged: TokenDataset) -> None:
    alone, worked = (
        [b["row"].tolist() for b in Loader(ragged, 50, bucket=50, num_workers=n, tail="ragged")] for n in (0, 1)
    )

    assert alone == worked


def test_an_empty_bucket_is_refused(ragged: TokenDataset) -> None:
    with pytest.raises(ValueError, match="buckets of at least 1"):
        Loader(ragged, 8, bucket=0)
