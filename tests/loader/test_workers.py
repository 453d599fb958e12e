"""Worker processes change neither the batches nor the state, and never end an epoch short."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from lisdata.errors import DamagedShardError
from lisdata.loader import Batch, Loader
from lisdata.token_shards import TokenDataset, write_tokens

DatasetOfSize = Callable[[int], TokenDataset]


def same(first: Iterator[Batch], second: Iterator[Batch]) -> bool:
    pairs = zip(first, second, strict=True)
    return all(a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a) for a, b in pairs)


@pytest.mark.parametrize("layout", ["padded", "flat"])
def test_workers_make_the_batches_that_one_process_makes(mixed: TokenDataset, layout: str) -> None:
    alone, helped = (Loader(mixed, 4, num_workers=n, layout=layout) for n in (0, 2))

    for _ in range(2):
        assert same(iter(alone), iter(helped))


def test_a_state_goes_from_any_number_of_workers_to_any_other(dataset_of_size: DatasetOfSize) -> None:
    dataset = dataset_of_size(101)
    rows: list[int] = []
    state = Loader(dataset, 1).state_dict()
    for num_workers, batch_size, steps in ((2, 5, 4), (0, 3, 5), (1, 7, 2), (2, 9, 99)):
        loader = Loader(dataset, batch_size, num_workers=num_workers, tail="ragged")
        loader.load_state_dict(state)
        for _, batch in zip(range(steps), loader, strict=False):
            rows += batch["row"].tolist()
        state = loader.state_dict()

    assert sorted(rows) == list(range(101))


def test_an_epoch_left_early_does_not_leak_into_the_next(dataset_of_size: DatasetOfSize) -> None:
    alone, helped = (Loader(dataset_of_size(101), 4, num_workers=n, prefetch=3) for n in (0, 2))

    for loader in (alone, helped):
        next(iter(loader))
        loader.set_epoch(5)

    assert same(iter(alone), iter(helped))


def test_processes_that_are_spawned_open_the_dataset_themselves(mixed: TokenDataset) -> None:
    assert same(iter(Loader(mixed, 16)), iter(Loader(mixed, 16, num_workers=1, start_method="spawn")))


def test_workers_draw_nothing_from_the_random_numbers_of_training(dataset_of_size: DatasetOfSize) -> None:
    before = torch.get_rng_state()

    list(Loader(dataset_of_size(7), 2, num_workers=1))

    assert torch.equal(torch.get_rng_state(), before)


def test_a_killed_worker_is_an_error_not_a_short_epoch(dataset_of_size: DatasetOfSize) -> None:
    others = set(multiprocessing.active_children())
    iterator = iter(Loader(dataset_of_size(101), 1, num_workers=1, prefetch=1))
    next(iterator)
    (worker,) = set(multiprocessing.active_children()) - others

    os.kill(worker.pid or 0, signal.SIGKILL)

    with pytest.raises(RuntimeError, match=r"killed|exited unexpectedly"):
        list(iterator)


def test_an_error_in_a_worker_keeps_its_type_and_names_the_file(tmp_path: Path) -> None:
    write_tokens(tmp_path, [[value] * 3 for value in range(60)], vocab_size=60)
    path = tmp_path / "tokens" / "part-00000.arrow"
    offsets = np.arange(61) * 3
    damaged = np.where(np.arange(61) == 50, 10**9, offsets)
    path.write_bytes(path.read_bytes().replace(offsets.tobytes(), damaged.tobytes()))

    with pytest.raises(DamagedShardError, match=r"part-00000\.arrow: the offsets of row 49"):
        list(Loader(TokenDataset(tmp_path), 10, shuffle=False, num_workers=1))


_LEFT_OPEN = """
import sys
from lisdata.loader import Loader

loader = Loader(sys.argv[1], 4, num_workers=int(sys.argv[2]), shuffle=True)
batches = iter(loader)
next(batches)
"""


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_program_that_ends_within_an_epoch_ends_in_silence(mixed: TokenDataset, num_workers: int) -> None:
    program = [sys.executable, "-c", _LEFT_OPEN, str(mixed.path), str(num_workers)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
