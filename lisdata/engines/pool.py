"""Runs units here or in a pool of processes; a dead worker means another try, then failure, never a short success."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from lisdata.errors import RunError

JsonDict = dict[str, Any]
RunUnit = Callable[[JsonDict], None]
MAX_DEATHS = 3


def run_units(run: RunUnit, units: list[JsonDict], *, workers: int) -> Iterator[JsonDict]:
    """Run every unit and yield each when it is done, in any order.

    The first error of a unit ends the run, and the other workers with it. When worker processes die (killed, out of
    memory), the units not done run again in a new pool, MAX_DEATHS times at most; then RunError names them.
    """
    if workers == 1 or len(units) <= 1:
        for unit in units:
            run(unit)
            yield unit
        return
    left = {unit["name"]: unit for unit in units}
    deaths = 0
    while left:
        try:
            for unit in _run_pool(run, list(left.values()), workers):
                del left[unit["name"]]
                yield unit
        except BrokenProcessPool as error:
            deaths += 1
            if deaths > MAX_DEATHS:
                names = ", ".join(list(left)[:5])
                raise RunError(
                    f"worker processes died {deaths} times; units not done: {names} ({len(left)})"
                ) from error


def _run_pool(run: RunUnit, units: list[JsonDict], workers: int) -> Iterator[JsonDict]:
    # spawn: a forked child would inherit Arrow's and Numba's threads in an unknown state
    context = multiprocessing.get_context("spawn")
    size = min(workers, len(units))
    watched, lifeline = context.Pipe(duplex=False)
    with (
        watched,
        lifeline,
        ProcessPoolExecutor(size, mp_context=context, initializer=_begin_worker, initargs=(run, watched)) as pool,
    ):
        queue = iter(units)
        running: dict[Future[None], JsonDict] = {}
        try:
            while True:
                with _interruptions_put_off():  # the first submissions start the workers
                    while len(running) < 2 * workers and (unit := next(queue, None)) is not None:
                        running[pool.submit(_run_in_worker, unit)] = unit
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    unit = running.pop(future)
                    future.result()
                    yield unit
        except BaseException:
            lifeline.close()  # the workers end now; leaving the pool waits for that
            raise


@contextmanager
def _interruptions_put_off() -> Iterator[None]:
    """Hold SIGINT back inside; processes that start here hold it back until `_begin_worker`, all their imports long.

    Ctrl-C reaches all processes of the terminal, and only the parent is to speak of it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_worker: dict[str, RunUnit] = {}


def _begin_worker(run: RunUnit, lifeline: Connection) -> None:
    """Keep what this process runs, and end it when its parent ends or closes its end of the line.

    An orphan must not write into a run that was started again.
    """
    _worker["run"] = run
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends without a word
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def watch() -> None:
        try:
            lifeline.recv()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _run_in_worker(unit: JsonDict) -> None:
    _worker["run"](unit)
