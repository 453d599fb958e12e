"""Batches made ahead of their use: by one thread, or by worker processes."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from lisdata.loader.batches import Batch

P = TypeVar("P")
R = TypeVar("R")


class Maker(Protocol):
    """Makes batches from plans of its own kind, here or as the dataset of worker processes."""

    def check_columns(self) -> None:
        """Raise ValueError when a column is asked for that is not there."""

    def __getitem__(self, plan: Any) -> tuple[Tensor, Any]:
        """Return a batch as its memory and its shape: what a worker process sends."""

    def views(self, memory: Tensor, shape: Any) -> Batch:
        """Cut the memory of a batch into its tensors."""

    def make(self, plan: Any) -> Batch:
        """Return a batch."""


def make_in_thread(make: Callable[[P], R], plans: Iterable[P], depth: int, *, group: int = 1) -> Iterator[R]:
    """Yield make(plan) for each plan, in order, with at least `depth` of them made ahead.

    They are made `group` at a time, because a hand-over between threads costs more than a small batch. An error of
    `make` is raised in place of the results of its group. The thread ends with the iterator.
    """
    executor = ThreadPoolExecutor(1, thread_name_prefix="lisdata-loader")
    pending: deque[Future[list[R]]] = deque()
    remaining = iter(plans)
    is_finalizing = sys.is_finalizing  # when the interpreter ends, what modules name may be gone
    try:
        while some := list(islice(remaining, group)):
            pending.append(executor.submit(_make_all, make, some))
            if len(pending) * group > depth + group - 1:
                yield from pending.popleft().result()
        while pending:
            yield from pending.popleft().result()
    finally:
        if not is_finalizing():  # the thread is joined by then
            executor.shutdown(wait=False, cancel_futures=True)


def _make_all(make: Callable[[P], R], plans: list[P]) -> list[R]:
    return [make(plan) for plan in plans]


class WorkerProcesses:
    """Worker processes that make batches and live as long as this object.

    They are those of a PyTorch DataLoader, which keeps their results in order and raises when one of them dies.
    """

    def __init__(
        self, maker: Maker, num_workers: int, *, depth: int, pin_memory: bool, start_method: str | None
    ) -> None:
        self._maker = maker
        self._plans = _Plans()
        self._loader: DataLoader[Any] = DataLoader(
            maker,  # type: ignore[arg-type]  # it has __getitem__, all that is used of a Dataset here
            batch_size=None,
            sampler=self._plans,
            num_workers=num_workers,
            prefetch_factor=max(depth, 1),
            collate_fn=_unchanged,
            pin_memory=pin_memory,
            persistent_workers=True,
            multiprocessing_context=start_method,
            generator=torch.Generator(),  # else each epoch would draw a number from PyTorch's global one
        )

    def make(self, plans: Iterable[Any]) -> Iterator[Batch]:
        """Yield the batches of `plans`, in order; an earlier call's iterator ends to be valid.

        Raises RuntimeError when a worker process dies.
        """
        self._plans.plans = plans
        try:
            for memory, shape in self._loader:
                yield self._maker.views(memory, shape)
        except (ConnectionError, EOFError, FileNotFoundError) as error:
            # It died while its batch was fetched: the pipe to its shared memory breaks before PyTorch misses it.
            raise RuntimeError("a worker process of the loader exited unexpectedly") from error


class _Plans:
    """What the DataLoader asks for its next index."""

    plans: Iterable[Any] = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.plans)


def _unchanged(item: Any) -> Any:
    return item
