"""Every row once an epoch, in one order, whatever the worlds and workers that a training is stopped and resumed under.

Ranks take their steps in turn in this process; the rows of a step, rank after rank, are those of the global order.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.loader import Batch, Loader, Mixture
from lisdata.token_shards import TokenDataset, write_tokens

NUM_EPOCHS = 3
Entry = tuple[int, int, int]  # source, row, first token
DatasetOf = Callable[[int, int], TokenDataset]

MODES: dict[str, dict[str, Any]] = {
    "rows": {},
    "buckets": {"bucket": 6},
    "packs": {"pack_to": 24, "pack_window": 32},
    "split packs": {"pack_to": 9, "pack_window": 16, "long_rows": "split", "shuffle": "window", "window": 16},
    "flat packs": {"pack_to": 24, "pack_window": 32, "layout": "flat"},
    "budget": {"max_tokens": 40},
    "bucket budget": {"max_tokens": 64, "bucket": 1, "pad_to": 4},
    "flat budget": {"max_tokens": 50, "layout": "flat", "shuffle": False},
}
ELASTIC_SIZES = (0, 1, 37, 61)


@pytest.fixture(scope="module")
def dataset_of(tmp_path_factory: pytest.TempPathFactory) -> DatasetOf:
    """What makes (once) a dataset of so many rows of 0 to 20 tokens."""

    @cache
    def dataset(num_rows: int, seed: int) -> TokenDataset:
        directory: Path = tmp_path_factory.mktemp("elastic")
        lengths = np.random.default_rng(seed).integers(0, 21, num_rows)
        rows = ([row + 1] * int(length) for row, length in enumerate(lengths))
        write_tokens(directory, rows, vocab_size=num_rows + 2, tokens_per_part=300)
        return TokenDataset(directory)

    return dataset


@dataclass(frozen=True)
class Stretch:
    """One stretch of training: how it is spread, and after how many steps it is stopped."""

    world_size: int
    batch_size: int
    num_workers: int
    helped_rank: int
    prefetch: int
    steps: int


def stretches(max_workers: int) -> st.SearchStrategy[list[Stretch]]:
    one = st.builds(
        Stretch,
        world_size=st.sampled_from([1, 2, 3, 5, 8]),
        batch_size=st.integers(1, 6),
        num_workers=st.sampled_from([n for n in (0, 1, 3) if n <= max_workers]),
        helped_rank=st.integers(0, 7),
        prefetch=st.sampled_from([0, 2]),
        steps=st.integers(0, 24),
    )
    return st.lists(one, min_size=4, max_size=4)


def loaders_of(dataset: Any, at: Stretch, mode: dict[str, Any]) -> list[Loader]:
    """Return the loaders of all ranks; one of them, drawn, has the worker processes."""
    batch_size = None if "max_tokens" in mode else at.batch_size
    return [
        Loader(
            dataset,
            batch_size,
            rank=rank,
            world_size=at.world_size,
            num_workers=at.num_workers if rank == at.helped_rank % at.world_size else 0,
            prefetch=at.prefetch,
            **mode,
        )
        for rank in range(at.world_size)
    ]


def entries_of(batch: Batch) -> list[Entry]:
    """Return the rows of a batch that are no filler, and check that their tokens are theirs."""
    num_rows = len(batch["row"])
    lines = batch.get("pack", np.arange(num_rows))
    real = [bool(batch["real"][line]) if "real" in batch else True for line in lines]
    columns = (batch.get("source", np.zeros(num_rows, int)), batch["row"], batch.get("begin", np.zeros(num_rows, int)))
    found = list(zip(*([int(value) for value in column] for column in columns), strict=True))
    tokens = Counter(int(token) for token in batch["input_ids"].flatten() if token)
    expected: Counter[int] = Counter()
    for (_, row, _), length in zip(found, batch["length"].tolist(), strict=True):
        expected[row + 1] += length
    assert tokens == +expected
    return [entry for entry, is_real in zip(found, real, strict=True) if is_real]


def take_steps(loaders: list[Loader], steps: int, epochs: list[list[Entry]]) -> None:
    """Take up to `steps` steps on all ranks, through ends of epochs, and note what came."""
    while steps > 0 and loaders[0].epoch < NUM_EPOCHS:
        epoch, iterators = loaders[0].epoch, [iter(loader) for loader in loaders]
        while steps > 0:
            batches = [next(iterator, None) for iterator in iterators]
            assert len({batch is None for batch in batches}) == 1, "ranks got different numbers of batches"
            if batches[0] is None:
                break
            steps -= 1
            for batch in batches:
                epochs[epoch] += entries_of(batch or {})
    states = [loader.state_dict() for loader in loaders]
    assert all(state == states[0] for state in states)


def train(dataset: Any, mode: dict[str, Any], path: list[Stretch]) -> list[list[Entry]]:
    """Go through the epochs on one stretch after the other, the last of them to the end."""
    epochs: list[list[Entry]] = [[] for _ in range(NUM_EPOCHS)]
    state: dict[str, Any] | None = None
    for number, at in enumerate(path):
        loaders = loaders_of(dataset, at, mode)
        for loader in loaders:
            if state is not None:
                loader.load_state_dict(state)
        take_steps(loaders, at.steps if number < len(path) - 1 else 10**9, epochs)
        state = json.loads(json.dumps(loaders[0].state_dict()))
    return epochs


UNDISTURBED = Stretch(world_size=1, batch_size=2, num_workers=0, helped_rank=0, prefetch=0, steps=0)


def check_elastic(dataset: Any, mode: dict[str, Any], path: list[Stretch]) -> list[list[Entry]]:
    found = train(dataset, mode, path)

    expected = train(dataset, mode | {"tail": "ragged"}, [UNDISTURBED])
    assert found == expected
    return found


@settings(deadline=None, max_examples=80)
@given(
    name=st.sampled_from(sorted(MODES)),
    num_rows=st.sampled_from(ELASTIC_SIZES),
    tail=st.sampled_from(["pad", "ragged"]),
    seed=st.integers(0, 3),
    path=stretches(0),
)
def test_every_row_comes_once_an_epoch_however_often_the_world_changes(
    dataset_of: DatasetOf, name: str, num_rows: int, tail: str, seed: int, path: list[Stretch]
) -> None:
    dataset, mode = dataset_of(num_rows, 1), MODES[name] | {"tail": tail, "seed": seed}

    for entries in check_elastic(dataset, mode, path):
        if mode.get("long_rows") == "split":
            lengths = [len(dataset[row]["input_ids"]) for row in range(num_rows)]
            pieces = [(0, row, begin) for row, n in enumerate(lengths) for begin in range(0, max(1, n), 9)]
            assert Counter(entries) == Counter(pieces)
        else:
            assert Counter(entries) == Counter((0, row, 0) for row in range(num_rows))


@settings(deadline=None, max_examples=40)
@given(
    name=st.sampled_from(sorted(MODES)),
    weights=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=4),
    num_rows=st.sampled_from([0, 1, 50, 130]),
    tail=st.sampled_from(["pad", "ragged"]),
    path=stretches(0),
)
def test_a_mixture_goes_on_exactly_in_any_world(
    dataset_of: DatasetOf, name: str, weights: list[float], num_rows: int, tail: str, path: list[Stretch]
) -> None:
    sources = [dataset_of(size, 2) for size in (37, 5, 101, 1)[: len(weights)]]
    mixture = Mixture(sources, weights=weights, num_rows=num_rows)

    epochs = check_elastic(mixture, MODES[name] | {"tail": tail}, path)

    drawn = Counter((source, row) for entries in epochs for source, row, begin in entries if begin == 0)
    assert drawn.total() == NUM_EPOCHS * num_rows
    for number, source in enumerate(sources):
        # None comes a second time (or third ...) before all have come once (or twice ...).
        times = [drawn[number, row] for row in range(len(source))]
        assert max(times) - min(times) <= 1
        assert abs(sum(times) - drawn.total() * weights[number] / sum(weights)) < 1


@pytest.mark.filterwarnings("ignore:This DataLoader will create 3 worker processes")
@settings(deadline=None, max_examples=4)
@given(name=st.sampled_from(sorted(MODES)), is_mixed=st.booleans(), path=stretches(3))
def test_worker_processes_change_nothing_of_it(
    dataset_of: DatasetOf, name: str, is_mixed: bool, path: list[Stretch]
) -> None:
    dataset = dataset_of(101, 1)
    mixture = Mixture([dataset, dataset_of(37, 2)], weights=[1, 2], num_rows=90)
    helped = [replace(at, num_workers=workers) for at, workers in zip(path, (0, 1, 3, 1), strict=True)]

    check_elastic(mixture if is_mixed else dataset, MODES[name], helped)


@pytest.mark.parametrize("name", sorted(MODES))
@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_resumed_loader_goes_on_with_the_very_batches(dataset_of: DatasetOf, name: str, num_workers: int) -> None:
    dataset, mode = dataset_of(101, 1), MODES[name]
    batch_size = None if "max_tokens" in mode else 3

    def batches(loader: Loader) -> Iterator[dict[str, list[Any]]]:
        return ({key: tensor.tolist() for key, tensor in batch.items()} for batch in loader)

    expected = list(batches(Loader(dataset, batch_size, **mode)))
    first = Loader(dataset, batch_size, **mode)
    assert len(first) == len(expected)
    begun = [found for _, found in zip(range(4), batches(first), strict=False)]
    second = Loader(dataset, batch_size, num_workers=num_workers, **mode)
    second.load_state_dict(first.state_dict())

    assert begun + list(batches(second)) == expected


@pytest.mark.parametrize("name", sorted(MODES))
def test_a_dropped_tail_is_the_incomplete_step(dataset_of: DatasetOf, name: str) -> None:
    dataset, mode = dataset_of(101, 1), MODES[name]
    batch_size = None if "max_tokens" in mode else 2
    whole = [Loader(dataset, batch_size, rank=r, world_size=3, tail="ragged", **mode) for r in range(3)]
    dropped = [Loader(dataset, batch_size, rank=r, world_size=3, tail="drop", **mode) for r in range(3)]

    num_batches = len(dropped[0])

    expected = [[entries_of(batch) for batch in loader] for loader in whole]
    found = [[entries_of(batch) for batch in loader] for loader in dropped]

    assert len({len(batches) for batches in found}) == 1
    assert len(found[0]) == num_batches in (len(expected[0]), len(expected[0]) - 1)
    assert found == [batches[: len(found[0])] for batches in expected]
