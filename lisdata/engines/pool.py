"""Runs units in a pool of processes; a dead worker means another try, then failure, never a short success."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection

from lisdata.engines.deaths import Deaths
from lisdata.engines.inline import JsonDict, RunUnit, UnitDone, seconds_of
from lisdata.printable import guard_streams, is_guarded


def run_in_processes(run: RunUnit, units: list[JsonDict], *, workers: int) -> Iterator[UnitDone]:
    """Run every unit in one of `workers` processes and yield each when it is done, in any order.

    The first error of a unit ends the run, and the other workers with it. When a worker process dies (killed, out of
    memory), the units that were being run are run again one at a time, which shows whose death it was; a unit whose
    worker keeps dying ends the run with RunError.
    """
    waiting, suspects = deque(units), deque[JsonDict]()
    deaths = Deaths("worker process")
    while waiting or suspects:
        queue, size = (suspects, 1) if suspects else (waiting, min(workers, len(waiting)))
        try:
            for unit, seconds in _run_pool(run, queue, size):
                yield UnitDone(unit=unit, seconds=seconds, tries=deaths.tries(unit))
        except _WorkerDiedError as death:
            suspects.extendleft(reversed(death.units))
            deaths.add(death.units)


class _WorkerDiedError(Exception):
    """A worker process died while `units` were being run."""

    def __init__(self, units: list[JsonDict]) -> None:
        self.units = units
        super().__init__()


def _run_pool(run: RunUnit, queue: deque[JsonDict], workers: int) -> Iterator[tuple[JsonDict, float]]:
    """Run the units of `queue`, which are taken off it, and yield each with the seconds that it took."""
    # spawn: a forked child would inherit Arrow's and Numba's threads in an unknown state
    context = multiprocessing.get_context("spawn")
    watched, lifeline = context.Pipe(duplex=False)
    beginning = (run, watched, is_guarded())
    with (
        watched,
        lifeline,
        ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker, initargs=beginning) as pool,
    ):
        running: dict[Future[float], JsonDict] = {}
        try:
            while True:
                with _interruptions_put_off():  # the first submissions start the workers
                    while len(running) < workers and queue:
                        future = pool.submit(_run_in_worker, queue[0])
                        running[future] = queue.popleft()
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda f: isinstance(f.exception(), BrokenProcessPool)):
                    seconds = future.result()
                    yield running.pop(future), seconds
        except BrokenProcessPool as error:
            raise _WorkerDiedError(list(running.values()) or [queue.popleft()]) from error
        except BaseException:
            lifeline.close()  # the workers end now; leaving the pool waits for that
            raise


@contextmanager
def _interruptions_put_off() -> Iterator[None]:
    """Hold SIGINT back inside; processes that start here hold it back until `_begin_worker`, all their imports long.

    Ctrl-C reaches all processes of the terminal, and only the parent is to speak of it. It may come by way of a thread
    that does not hold it back, so Python's own handler waits too.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    handler = signal.getsignal(signal.SIGINT)
    came: list[int] = []
    is_caught = callable(handler) and threading.current_thread() is threading.main_thread()
    if is_caught:  # one that is ignored stays so, also in the processes that start
        signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        if is_caught:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if came:
        signal.raise_signal(signal.SIGINT)


_worker: dict[str, RunUnit] = {}


def _begin_worker(run: RunUnit, lifeline: Connection, guards_streams: bool) -> None:
    """Keep what this process runs, and end it when its parent ends or closes its end of the line.

    An orphan must not write into a run that was started again. `guards_streams` says that a terminal must not obey what
    is printed, here as in the parent.
    """
    if guards_streams:
        guard_streams()
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


def _run_in_worker(unit: JsonDict) -> float:
    return seconds_of(_worker["run"], unit)
