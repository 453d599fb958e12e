"""Batches for fine-tuning: every row once an epoch, neighbours of like length, exact resume."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lisdata.finetuning.example_batches import LABEL, ExampleBatches, order_epoch

LENGTHS = [3, 9, 4, 8, 5, 7, 6]


def make(seed: int = 0, regime: str = "full") -> ExampleBatches:
    rows = [np.stack([np.full(n, n), np.zeros(n, np.int64), np.ones(n, np.int64)]) for n in LENGTHS]
    labels = np.array(LENGTHS) % 3
    return ExampleBatches(rows, labels, batch_size=3, regime=regime, seed=seed, dataset="toy")


@given(st.lists(st.integers(1, 40), min_size=1, max_size=200), st.integers(1, 9), st.integers(0, 5), st.integers(0, 3))
def test_an_epoch_has_every_row_once(lengths: list[int], batch_size: int, seed: int, epoch: int) -> None:
    batches = order_epoch(np.array(lengths), batch_size, seed=seed, epoch=epoch)

    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // batch_size)
    assert sum(len(batch) < batch_size for batch in batches) <= 1


def test_rows_of_about_equal_length_come_together_and_epochs_differ() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, 1000)

    first, second = (order_epoch(lengths, 10, seed=0, epoch=epoch) for epoch in (0, 1))

    assert np.mean([np.ptp(lengths[batch]) for batch in first]) < 15
    assert [batch.tolist() for batch in first] != [batch.tolist() for batch in second]


def test_a_batch_has_the_labels_of_its_rows_under_the_regime() -> None:
    batches = make(regime="terminal-only")

    for _ in range(batches.batches_an_epoch):
        batch = batches.next_batch()
        lengths = (batch["document"] >= 0).sum(1)
        assert batch[LABEL].tolist() == (lengths % 3).tolist()
        assert batch["input_ids"][:, 0].tolist() == lengths.tolist()
        assert (batch["nonterminal"] < 0).all()
        assert ((batch["terminal"] >= 0) == (batch["document"] >= 0)).all()


@pytest.mark.parametrize("num_taken", [0, 1, 3, 5, 8])
def test_what_goes_on_is_what_would_have_come(num_taken: int) -> None:
    whole, resumed = make(), make()
    for _ in range(num_taken):
        whole.next_batch()
    resumed.load_state_dict(whole.state_dict())

    for _ in range(5):
        expected, found = whole.next_batch(), resumed.next_batch()
        assert expected.keys() == found.keys()
        assert all(torch.equal(expected[name], found[name]) for name in expected)


def test_the_description_tells_rows_labels_and_settings_apart() -> None:
    assert make().description() == make().description()
    assert make(seed=1).description() != make().description() != make(regime="none").description()
    rows = [np.zeros((3, 2), np.int64)] * 2
    settings = {"batch_size": 2, "regime": "none", "seed": 0, "dataset": "toy"}
    by_label = [ExampleBatches(rows, np.array(labels), **settings).description() for labels in ([0, 1], [1, 1])]
    assert by_label[0] != by_label[1]


def test_rows_without_labels_are_refused() -> None:
    for rows, labels in (([np.zeros((3, 2), np.int64)], np.zeros(2)), ([], np.zeros(0))):
        with pytest.raises(ValueError, match="expected rows, and a label each"):
            ExampleBatches(rows, labels, batch_size=1, regime="none", seed=0, dataset="toy")
