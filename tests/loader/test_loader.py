"""A loader gives every row once an epoch, whatever the topology, and resumes exactly."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import lisdata
from lisdata.errors import DamagedShardError, PlanError
from lisdata.loader import Batch, Loader
from lisdata.shards import IncidenceDataset, write_structures
from lisdata.token_shards import TokenDataset, write_tokens

DatasetOfSize = Callable[[int], TokenDataset]

SIZES = (0, 1, 2, 7, 40, 101)
ORDERS: list[dict[str, Any]] = [{"shuffle": True}, {"shuffle": False}, {"shuffle": "window", "window": 16}]


@dataclass(frozen=True)
class Topology:
    """One stretch of training: how it is spread, and after how many steps it is killed."""

    world_size: int
    batch_size: int
    prefetch: int
    steps: int


TOPOLOGIES = st.builds(
    Topology,
    world_size=st.sampled_from([1, 2, 3, 5, 8]),
    batch_size=st.integers(1, 9),
    prefetch=st.sampled_from([0, 1, 3]),
    steps=st.integers(0, 12),
)


def real_rows(batch: Batch) -> list[int]:
    rows = batch["row"]
    assert batch["input_ids"].flatten().tolist() == rows.tolist()
    return (rows[batch["real"]] if "real" in batch else rows).tolist()


def run(loaders: list[Loader], steps: int, seen: list[Counter[int]], *, batch_size: int | None = None) -> None:
    """Take up to `steps` steps of one epoch on all ranks in lockstep, counting real rows by epoch."""
    epoch = loaders[0].epoch
    iterators = [iter(loader) for loader in loaders]
    for _ in range(steps):
        batches = [next(iterator, None) for iterator in iterators]
        assert len({batch is None for batch in batches}) == 1, "ranks got different numbers of batches"
        for batch in batches:
            if batch is not None:
                seen[epoch].update(real_rows(batch))
                assert batch_size is None or len(batch["row"]) == batch_size
    states = [loader.state_dict() for loader in loaders]
    assert all(state == states[0] for state in states)


@settings(deadline=None, max_examples=80)
@given(
    num_rows=st.sampled_from(SIZES),
    order=st.sampled_from(ORDERS),
    seed=st.integers(0, 3),
    tail=st.sampled_from(["pad", "ragged"]),
    stretches=st.lists(TOPOLOGIES, min_size=1, max_size=5),
)
def test_every_row_comes_once_an_epoch_on_any_topologies_in_turn(
    dataset_of_size: DatasetOfSize,
    num_rows: int,
    order: dict[str, Any],
    seed: int,
    tail: Any,
    stretches: list[Topology],
) -> None:
    dataset = dataset_of_size(num_rows)
    seen: list[Counter[int]] = [Counter() for _ in range(len(stretches) + 2)]
    state = None
    for at in stretches:
        loaders = [
            Loader(
                dataset,
                at.batch_size,
                **order,
                seed=seed,
                tail=tail,
                rank=rank,
                world_size=at.world_size,
                prefetch=at.prefetch,
            )
            for rank in range(at.world_size)
        ]
        for loader in loaders:
            if state is not None:
                loader.load_state_dict(state)
        run(loaders, at.steps, seen, batch_size=at.batch_size if tail == "pad" else None)
        state = json.loads(json.dumps(loaders[0].state_dict()))

    last = Loader(dataset, 4, **order, seed=seed, tail=tail)
    last.load_state_dict(state or {})
    final_epoch = last.epoch
    run([last], 200, seen)

    for epoch in range(final_epoch + 1):
        assert seen[epoch] == Counter(range(num_rows)), f"epoch {epoch}"


@settings(deadline=None, max_examples=30)
@given(steps=st.integers(0, 30), prefetch=st.sampled_from([0, 2]), order=st.sampled_from(ORDERS))
def test_a_resumed_loader_goes_on_with_the_very_batches(
    dataset_of_size: DatasetOfSize, steps: int, prefetch: int, order: dict[str, Any]
) -> None:
    dataset = dataset_of_size(101)

    def batches(loader: Loader, count: int) -> list[list[int]]:
        found: list[list[int]] = []
        while len(found) < count:
            for batch in loader:
                found.append(batch["row"].tolist())
                if len(found) == count:
                    break
        return found

    expected = batches(Loader(dataset, 7, **order, prefetch=prefetch), 40)
    first = Loader(dataset, 7, **order, prefetch=prefetch)
    begun = batches(first, steps)
    second = Loader(dataset, 7, **order)
    second.load_state_dict(first.state_dict())

    assert begun + batches(second, 40 - steps) == expected


def test_the_order_of_the_global_batches_does_not_depend_on_the_world(dataset_of_size: DatasetOfSize) -> None:
    dataset = dataset_of_size(101)

    def order(world_size: int, batch_size: int) -> list[int]:
        loaders = [
            Loader(dataset, batch_size, tail="ragged", rank=rank, world_size=world_size) for rank in range(world_size)
        ]
        return [row for batches in zip(*loaders, strict=True) for batch in batches for row in batch["row"].tolist()]

    assert order(1, 101) == order(3, 7) == order(8, 1) == order(2, 60)


def test_a_padded_tail_says_which_rows_are_filler(dataset_of_size: DatasetOfSize) -> None:
    loaders = [Loader(dataset_of_size(7), 2, rank=rank, world_size=3, shuffle=False) for rank in range(3)]

    last = [list(loader)[-1] for loader in loaders]

    assert [len(loader) for loader in loaders] == [2, 2, 2]
    assert [batch["real"].tolist() for batch in last] == [[False, False], [False, False], [True, False]]
    assert [batch["row"].tolist() for batch in last] == [[0, 1], [0, 1], [6, 0]]


def test_more_ranks_than_rows_still_step_together(dataset_of_size: DatasetOfSize) -> None:
    dataset = dataset_of_size(2)
    by_tail = {
        tail: [list(Loader(dataset, 3, rank=rank, world_size=5, tail=tail)) for rank in range(5)]
        for tail in ("pad", "ragged", "drop")
    }

    assert [[int(b["real"].sum()) for b in batches] for batches in by_tail["pad"]] == [[0], [0], [1], [0], [1]]
    assert all(len(b["row"]) == 3 for batches in by_tail["pad"] for b in batches)
    assert [[len(b["row"]) for b in batches] for batches in by_tail["ragged"]] == [[0], [0], [1], [0], [1]]
    assert by_tail["ragged"][0][0]["input_ids"].shape == (0, 0)
    assert by_tail["drop"] == [[], [], [], [], []]


@pytest.mark.parametrize(("num_rows", "expected"), [(0, 0), (5, 0), (6, 1), (40, 6)])
def test_a_dropped_tail_is_the_incomplete_global_batch(
    dataset_of_size: DatasetOfSize, num_rows: int, expected: int
) -> None:
    loaders = [Loader(dataset_of_size(num_rows), 2, rank=rank, world_size=3, tail="drop") for rank in range(3)]

    batches = [list(loader) for loader in loaders]

    assert [len(found) for found in batches] == [expected] * 3 == [len(loader) for loader in loaders]
    rows = [row for found in batches for batch in found for row in real_rows(batch)]
    assert len(set(rows)) == len(rows) == expected * 6
    assert [loader.epoch for loader in loaders] == [1, 1, 1]


def test_a_dataset_without_rows_gives_no_batches(dataset_of_size: DatasetOfSize) -> None:
    loader = Loader(dataset_of_size(0), 4)

    assert (len(loader), list(loader), loader.epoch) == (0, [], 1)


def test_iterating_goes_on_after_a_break_and_then_to_the_next_epoch(dataset_of_size: DatasetOfSize) -> None:
    loader = Loader(dataset_of_size(7), 3, tail="ragged", shuffle=False)

    rows = [[b["row"].tolist() for b in [next(iter(loader))]], [b["row"].tolist() for b in loader]]

    assert rows == [[[0, 1, 2]], [[3, 4, 5], [6]]]
    assert (loader.epoch, loader.consumed) == (1, 0)
    assert [b["row"].tolist() for b in loader] == [[0, 1, 2], [3, 4, 5], [6]]
    assert loader.epoch == 2


def test_the_state_counts_batches_that_were_handed_out_not_those_made_ahead(dataset_of_size: DatasetOfSize) -> None:
    loader = Loader(dataset_of_size(101), 4, rank=1, world_size=2, prefetch=5)
    iterator = iter(loader)
    assert loader.state_dict()["consumed"] == 0

    for step in range(1, 13):
        next(iterator)
        assert loader.state_dict()["consumed"] == min(8 * step, 101)

    next(iterator)
    assert (loader.epoch, loader.consumed) == (0, 101)
    assert next(iterator, None) is None
    assert (loader.epoch, loader.consumed) == (1, 0)


@pytest.mark.parametrize("grouped", [{"batch_size": 3}, {"batch_size": 1, "pack_to": 3}, {"max_tokens": 3}])
def test_who_takes_as_many_batches_as_there_are_and_begins_anew_gets_the_next_epoch(
    dataset_of_size: DatasetOfSize, grouped: dict[str, int]
) -> None:
    whole, counted = (Loader(dataset_of_size(7), **grouped, tail="drop") for _ in range(2))
    expected = [[batch["row"].tolist() for batch in whole] for _ in range(3)]

    found = [[b["row"].tolist() for _, b in zip(range(len(counted)), counted, strict=False)] for _ in range(3)]

    assert found == expected
    assert len(expected[0]) >= 2


def test_a_state_at_the_end_of_an_epoch_gives_no_more_of_it(dataset_of_size: DatasetOfSize) -> None:
    first = Loader(dataset_of_size(7), 7)
    next(iter(first))
    second = Loader(dataset_of_size(7), 2)
    second.load_state_dict(first.state_dict())

    assert list(second) == []
    assert second.epoch == 1
    assert len(list(second)) == 4


def test_epochs_are_chosen_and_begun_again_by_name(dataset_of_size: DatasetOfSize) -> None:
    loader = Loader(dataset_of_size(40), 8)
    epochs = [[b["row"].tolist() for b in loader] for _ in range(3)]
    assert len({str(rows) for rows in epochs}) == 3

    loader.set_epoch(1)
    assert next(iter(loader))["row"].tolist() == epochs[1][0]
    loader.set_epoch(1)
    assert next(iter(loader))["row"].tolist() == epochs[1][1]
    loader.restart()
    assert [b["row"].tolist() for b in loader] == epochs[1]
    with pytest.raises(ValueError, match="epoch"):
        loader.set_epoch(-1)


def test_an_iterator_ends_when_the_loader_is_iterated_or_moved_again(dataset_of_size: DatasetOfSize) -> None:
    loader = Loader(dataset_of_size(40), 8)
    first = iter(loader)
    next(first)
    second = iter(loader)

    with pytest.raises(RuntimeError, match="iterated or moved again"):
        next(first)
    next(second)
    loader.load_state_dict(loader.state_dict())
    with pytest.raises(RuntimeError, match="iterated or moved again"):
        next(second)
    assert loader.consumed == 16


def test_a_state_is_small_json(dataset_of_size: DatasetOfSize) -> None:
    loader = Loader(dataset_of_size(40), 8, shuffle="window", window=10**6, seed=2**60)

    assert len(json.dumps(loader.state_dict())) < 300


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": "0" * 64}, "expected dataset"),
        ({"version": 2}, "expected version 1, found 2"),
        ({"order": {"algorithm": "feistel-2", "seed": 0}}, "expected order .*feistel-1.*found .*feistel-2"),
        ({"epoch": -1}, "expected an epoch"),
        ({"epoch": None}, "expected an epoch"),
        ({"consumed": "1"}, "expected an epoch and a count of rows"),
        ({"consumed": 41}, "expected up to 40 rows, found 41"),
        ({"consumed": -1}, "found -1"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(
    dataset_of_size: DatasetOfSize, change: dict[str, Any], message: str
) -> None:
    loader = Loader(dataset_of_size(40), 8)
    next(iter(loader))
    before = loader.state_dict()

    with pytest.raises(PlanError, match=message):
        loader.load_state_dict(before | change)

    assert loader.state_dict() == before


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"shuffle": False}, {"shuffle": "window"}, {"shuffle": "window", "window": 8}]
)
def test_a_state_of_settings_that_change_the_order_is_refused(
    dataset_of_size: DatasetOfSize, other: dict[str, Any]
) -> None:
    with pytest.raises(PlanError, match="expected order"):
        Loader(dataset_of_size(40), 8).load_state_dict(Loader(dataset_of_size(40), 8, **other).state_dict())
    with pytest.raises(PlanError, match="expected dataset"):
        Loader(dataset_of_size(40), 8).load_state_dict(Loader(dataset_of_size(7), 8).state_dict())


def test_ranks_are_taken_from_the_environment_and_from_torch_distributed(
    dataset_of_size: DatasetOfSize, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = dataset_of_size(7)
    assert (Loader(dataset, 1).rank, Loader(dataset, 1).world_size) == (0, 1)

    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert (Loader(dataset, 1).rank, Loader(dataset, 1).world_size) == (2, 4)
    assert Loader(dataset, 1, rank=0, world_size=1).world_size == 1

    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 3)
    assert (Loader(dataset, 1).rank, Loader(dataset, 1).world_size) == (1, 3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch_size": 0},
        {"num_workers": -1},
        {"prefetch": -1},
        {"tail": "cut"},
        {"rank": 0},
        {"world_size": 2},
        {"rank": 2, "world_size": 2},
        {"rank": -1, "world_size": 2},
        {"columns": ("role",)},
        {"window": 4},
    ],
)
def test_wrong_arguments_are_refused(dataset_of_size: DatasetOfSize, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Loader(dataset_of_size(7), **({"batch_size": 2} | wrong))


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("lisdata-loader")]


def test_the_thread_ends_with_its_iterator(dataset_of_size: DatasetOfSize) -> None:
    before = set(threads())
    iterator = iter(Loader(dataset_of_size(101), 1, prefetch=2))
    next(iterator)
    assert len(set(threads()) - before) == 1

    del iterator
    gc.collect()
    deadline = time.monotonic() + 10
    while set(threads()) - before and time.monotonic() < deadline:
        time.sleep(0.01)

    assert set(threads()) <= before


@pytest.mark.parametrize("prefetch", [0, 3])
def test_an_error_while_making_a_batch_is_raised_where_the_batch_would_be(tmp_path: Any, prefetch: int) -> None:
    rows = [[value] * 3 for value in range(600)]
    write_tokens(tmp_path, rows, vocab_size=600)
    path = tmp_path / "tokens" / "part-00000.arrow"
    offsets = (np.arange(601) * 3).astype(np.int64)
    damaged = offsets.copy()
    damaged[590] = 10**9
    path.write_bytes(path.read_bytes().replace(offsets.tobytes(), damaged.tobytes()))
    loader = Loader(TokenDataset(tmp_path), 100, shuffle=False, prefetch=prefetch)

    with pytest.raises(DamagedShardError, match="row 589"):
        list(loader)

    assert loader.consumed == 500


@pytest.mark.parametrize("kind", [str, Path])
def test_a_folder_is_opened(kind: Callable[[Path], Any], dataset_of_size: DatasetOfSize) -> None:
    dataset = dataset_of_size(7)

    loader = Loader(kind(dataset.path), 3, shuffle=False, tail="ragged")

    assert [row for batch in loader for row in real_rows(batch)] == list(range(7))
    assert loader.state_dict()["dataset"] == dataset.fingerprint


def test_structures_are_not_loaded_before_they_are_encoded(tmp_path: Path) -> None:
    write_structures(tmp_path / "d", [])

    for dataset in (str(tmp_path / "d"), IncidenceDataset(tmp_path / "d")):
        with pytest.raises(ValueError, match=rf"^{tmp_path / 'd'} holds structures, not yet tokens: encode it first"):
            Loader(dataset, 2)  # type: ignore[arg-type]


def test_what_is_no_dataset_is_a_wrong_argument(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected a TokenDataset or the folder of one, got list"):
        Loader([1, 2], 2)  # type: ignore[arg-type]
    with pytest.raises(DamagedShardError, match="expected a dataset folder, found none"):
        Loader(str(tmp_path / "absent"), 2)


@pytest.mark.parametrize(("given", "padding"), [(None, 1), (0, 0), (7, 7)])
def test_rows_are_padded_with_the_tokenizer_s_padding_unless_another_is_given(
    given: int | None, padding: int, shared: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("one\nand a longer line of words\n")
    lisdata.convert("text", [str(tmp_path / "a.txt")], tmp_path / "d")
    roberta = shared / "data" / "tokenizers" / "roberta-base.tokenizer.json"
    lisdata.encode(tmp_path / "d", tmp_path / "t", tokenizer=str(roberta))

    (batch,) = Loader(lisdata.open(tmp_path / "t"), 2, shuffle=False, pad_id=given)

    short = int(batch["length"][0])
    assert set(batch["input_ids"][0, short:].tolist()) == {padding}


def test_a_state_names_only_the_settings_that_differ(dataset_of_size: DatasetOfSize) -> None:
    dataset = dataset_of_size(40)
    state = Loader(dataset, 8, shuffle="window", window=8, seed=3, pack_to=16).state_dict()

    with pytest.raises(PlanError) as error:
        Loader(dataset, 8, shuffle="window", window=4, seed=2, pack_to=16).load_state_dict(state)

    assert str(error.value) == "state of a loader: expected order with seed 2, found 3; window 4, found 8"


def test_settings_that_exclude_each_other_are_named_as_they_are_given(dataset_of_size: DatasetOfSize) -> None:
    with pytest.raises(ValueError, match=r"^expected pack_to=256 or max_tokens=100, got both$"):
        Loader(dataset_of_size(40), pack_to=256, max_tokens=100)
    with pytest.raises(ValueError, match=r"^expected pack_to with pack_window=8, long_rows='cut'$"):
        Loader(dataset_of_size(40), 2, pack_window=8)
    with pytest.raises(ValueError, match=r"^expected a rank from 0 to below the world size of 2, got 2$"):
        Loader(dataset_of_size(40), 2, rank=2, world_size=2)
