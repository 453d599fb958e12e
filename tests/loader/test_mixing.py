"""Mixtures: each source in its own order, by weight at every prefix, and a state that says how far each is."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lisdata
from lisdata.errors import LabelError, PlanError
from lisdata.loader import Loader, Mixture
from lisdata.token_shards import TokenDataset, TokenSchema, write_tokens

DatasetOfSize = Callable[[int], TokenDataset]


def draws_of(loader: Loader) -> list[tuple[int, int]]:
    found = []
    for batch in loader:
        assert batch["input_ids"].flatten().tolist() == batch["row"].tolist()
        found += list(zip(batch["source"].tolist(), batch["row"].tolist(), strict=True))
    return found


@settings(deadline=None, max_examples=30)
@given(weights=st.lists(st.floats(0.001, 10.0), min_size=1, max_size=5), num_rows=st.integers(1, 400))
def test_after_any_number_of_draws_each_source_is_within_1_of_its_due(
    dataset_of_size: DatasetOfSize, weights: list[float], num_rows: int
) -> None:
    sources = [dataset_of_size(size) for size in (40, 7, 101, 1, 2)[: len(weights)]]
    loader = Loader(Mixture(sources, weights=weights, num_rows=num_rows), 8, tail="ragged", prefetch=0)

    drawn = np.array([source for _ in range(3) for source, _ in draws_of(loader)])

    counts = np.cumsum(drawn[:, None] == np.arange(len(weights)), axis=0)
    due = np.arange(1, 3 * num_rows + 1)[:, None] * (np.array(weights) / sum(weights))
    assert np.all(np.abs(counts - due) < 1 + 1e-6)


def test_each_source_goes_through_its_own_epochs_in_permuted_order(dataset_of_size: DatasetOfSize) -> None:
    mixture = Mixture([dataset_of_size(40), dataset_of_size(7)], weights=[1, 2], num_rows=60)
    loader = Loader(mixture, 9, tail="ragged")

    draws = [draw for _ in range(4) for draw in draws_of(loader)]

    for number, size in enumerate((40, 7)):
        rows = [row for source, row in draws if source == number]
        epochs = [rows[begin : begin + size] for begin in range(0, len(rows), size)]
        assert all(sorted(epoch) == list(range(size)) for epoch in epochs[:-1])
        assert len(set(epochs[-1])) == len(epochs[-1])
        assert len({tuple(epoch) for epoch in epochs}) == len(epochs)


def test_one_dataset_twice_has_two_orders(dataset_of_size: DatasetOfSize) -> None:
    draws = draws_of(Loader(Mixture([dataset_of_size(40)] * 2), 8))

    first, second = ([row for source, row in draws if source == number] for number in (0, 1))
    assert sorted(first) == sorted(second) == list(range(40))
    assert first != second


@pytest.mark.parametrize(
    ("temperature", "expected"), [(None, [101, 7]), (1.0, [101, 7]), (2.0, [101**0.5, 7**0.5]), (1e9, [1, 1])]
)
def test_sizes_are_levelled_by_the_temperature(
    dataset_of_size: DatasetOfSize, temperature: float | None, expected: list[float]
) -> None:
    mixture = Mixture([dataset_of_size(101), dataset_of_size(7)], temperature=temperature, num_rows=1000)

    assert len(mixture) == 1000
    counts = Counter(source for source, _ in draws_of(Loader(mixture, 10)))
    assert abs(counts[0] - 1000 * expected[0] / sum(expected)) < 1
    assert len(Mixture([dataset_of_size(101), dataset_of_size(7)])) == 108


@pytest.mark.parametrize("world_size", [1, 3])
def test_a_state_goes_on_by_its_cursors(dataset_of_size: DatasetOfSize, world_size: int) -> None:
    mixture = Mixture([dataset_of_size(40), dataset_of_size(101)], weights=[3, 1], num_rows=90)
    first = Loader(mixture, 6, seed=4)
    rows = [b["row"].tolist() for b in islice(first, 11)]
    state = json.loads(json.dumps(first.state_dict()))
    assert len(json.dumps(state)) < 300 + 40 * 2
    assert sum(state["drawn"]) == state["consumed"] == 66

    for rank in range(world_size):
        loader = Loader(mixture, 2, seed=4, rank=rank, world_size=world_size, tail="ragged")
        loader.load_state_dict(state)
        rows += [b["row"].tolist() for b in loader]

    assert sorted(row for part in rows for row in part) == sorted(r for _, r in draws_of(Loader(mixture, 5, seed=4)))


def test_an_epoch_is_gone_to_by_its_number(dataset_of_size: DatasetOfSize) -> None:
    mixture = Mixture([dataset_of_size(40), dataset_of_size(7)], num_rows=30)
    one_by_one, there = Loader(mixture, 5), Loader(mixture, 5)
    epochs = [draws_of(one_by_one) for _ in range(9)]

    there.set_epoch(8)

    assert draws_of(there) == epochs[8]


@pytest.mark.parametrize("drawn", [None, [1, 2], [8, 8], [15, 1], [8.0, 8], [6, 5, 5], "8, 8"])
def test_a_state_of_wrong_cursors_is_refused(dataset_of_size: DatasetOfSize, drawn: Any) -> None:
    loader = Loader(Mixture([dataset_of_size(40), dataset_of_size(7)], weights=[3, 1]), 16)
    next(iter(loader))
    state = loader.state_dict()
    assert state["drawn"] == [12, 4]

    with pytest.raises(PlanError, match="draws"):
        loader.load_state_dict(state | {"drawn": drawn})
    loader.load_state_dict(state)


@pytest.mark.parametrize("other", [{"weights": [1, 2]}, {"num_rows": 5}, {"temperature": 3.0}])
def test_a_state_of_another_mixture_is_refused(dataset_of_size: DatasetOfSize, other: dict[str, Any]) -> None:
    sources = [dataset_of_size(40), dataset_of_size(7)]

    with pytest.raises(PlanError, match="expected dataset"):
        Loader(Mixture(sources, **other), 4).load_state_dict(Loader(Mixture(sources), 4).state_dict())


def test_sources_share_their_columns_and_each_is_read_in_its_own_types(tmp_path: Path) -> None:
    narrow = TokenSchema.choose(200, columns=("input_ids", "role", "document"), num_roles=9, kind=1)
    wide = TokenSchema.choose(200, columns=("input_ids", "role"), limits={"role": (0, 2**40), "input_ids": (0, 2**20)})
    write_tokens(tmp_path / "a", [{"input_ids": [5, 6, 7], "role": [1, 2, 8], "document": [0, 1, 1]}], schema=narrow)
    write_tokens(tmp_path / "b", [{"input_ids": [2**20], "role": [2**40], "kind": 3}], schema=wide)
    mixture = Mixture([tmp_path / "a", str(tmp_path / "b")])

    (padded,) = Loader(mixture, 2, pad_to=4)
    (flat,) = Loader(mixture, 2, layout="flat")
    (packed,) = Loader(mixture, 1, pack_to=5)

    at = padded["source"].tolist().index
    assert padded["input_ids"][[at(0), at(1)]].tolist() == [[5, 6, 7, 0], [2**20, 0, 0, 0]]
    assert padded["role"][at(1)].tolist() == [2**40, 0, 0, 0]
    assert padded["document"][[at(0), at(1)]].tolist() == [[0, 1, 1, -1], [0, -1, -1, -1]]
    assert padded["token_kind"][[at(0), at(1)]].tolist() == [[1, 1, 1, 0], [3, 0, 0, 0]]
    assert sorted(flat["input_ids"].tolist()) == [5, 6, 7, 2**20]
    assert [str(flat[name].dtype) for name in ("input_ids", "role")] == ["torch.int32", "torch.int64"]
    assert sorted(packed["seq_lens"].tolist()) == [1, 1, 1, 2]
    assert packed["source"].tolist() == padded["source"].tolist()


def test_a_mixture_goes_to_worker_processes(dataset_of_size: DatasetOfSize) -> None:
    mixture = Mixture([dataset_of_size(40), dataset_of_size(7)])

    alone, helped = (draws_of(Loader(mixture, 6, num_workers=n, tail="ragged")) for n in (0, 1))

    assert alone == helped
    assert draws_of(Loader(pickle.loads(pickle.dumps(mixture)), 6, tail="ragged")) == alone


def test_sources_with_other_numbers_for_a_token_or_role_are_refused(root: Path, shared: Path, tmp_path: Path) -> None:
    samples, roberta = root / "sample_data", str(shared / "data" / "tokenizers" / "roberta-base.tokenizer.json")
    for source, folder in (("text", "text"), ("ntriples", "triples")):
        lisdata.convert(source, [str(samples / folder)], tmp_path / source)
        lisdata.encode(tmp_path / source, tmp_path / f"{source}.chars", tokenizer="chars", view="endpoints")
        lisdata.encode(tmp_path / source, tmp_path / f"{source}.tok", tokenizer=roberta, view="endpoints")
    labels = str(tmp_path / "text.tok" / "roles.json")
    lisdata.encode(
        *(tmp_path / "ntriples", tmp_path / "grown.tok"),
        **{"tokenizer": roberta, "view": "endpoints", "labels": labels, "unknown_role": "append"},
    )

    with pytest.raises(LabelError, match=r"ntriples\.chars: expected the tokenizer of .*text\.chars"):
        Mixture([tmp_path / "text.chars", tmp_path / "ntriples.chars"])
    with pytest.raises(LabelError, match=r"ntriples\.tok: expected roles numbered as in .*text\.tok"):
        Mixture([tmp_path / "text.tok", tmp_path / "ntriples.tok"])
    batch = next(iter(Loader(Mixture([tmp_path / "text.tok", tmp_path / "grown.tok"], weights=[1, 1]), 4, pack_to=512)))
    assert set(batch["source"].tolist()) == {0, 1}
    assert set(batch["input_ids"][batch["document"] < 0].tolist()) <= {1}


@pytest.mark.parametrize(
    ("sizes", "wrong"),
    [
        ((), {}),
        ((4, 0), {}),
        ((4, 7), {"weights": [1]}),
        ((4, 7), {"weights": [1, 0]}),
        ((4, 7), {"weights": [1, float("nan")]}),
        ((4, 7), {"weights": [1, float("inf")]}),
        ((4, 7), {"temperature": 0.0}),
        ((4, 7), {"temperature": 2.0, "weights": [1, 1]}),
        ((4, 7), {"num_rows": -1}),
    ],
)
def test_wrong_mixtures_are_refused(
    dataset_of_size: DatasetOfSize, sizes: tuple[int, ...], wrong: dict[str, Any]
) -> None:
    with pytest.raises(ValueError):
        Mixture([dataset_of_size(size) for size in sizes], **wrong)
