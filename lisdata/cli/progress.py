"""Progress on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

from lisdata.cli.printing import counted
from lisdata.cli.terminal import say
from lisdata.printable import one_line, raw_stream
from lisdata.runs import Progress

SECONDS_BETWEEN_LINES = 10.0
Show = Callable[[float, float, str], None]


@contextmanager
def run_progress(label: str) -> Iterator[Callable[[Progress], None]]:
    """Give a callback for `run_job` that shows units, the last one's seconds, MB, rate and time left."""

    def note(p: Progress) -> str:
        last = "" if p.last is None else f", {p.last.unit['name']} took {p.last.seconds:.1f} s"
        return f"{p.num_done}/{counted(p.num_units, 'units')}{last}"

    with counter(label, unit="MB") as show:
        yield lambda p: show(p.weight_done / 1e6, p.weight / 1e6, note(p))


@contextmanager
def counter(label: str, *, unit: str) -> Iterator[Show]:
    """Give a callback (done, total, note) that shows a bar with rate and time left; `unit` is a plural, or MB.

    What is done at the first call was done before: the rate is that of what follows.
    """
    show = _bar(label, unit) if sys.stderr.isatty() else _lines(label, unit)
    callback = next(show)
    try:
        yield callback
    finally:
        show.close()


def _bar(label: str, unit: str) -> Generator[Show, None, None]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[amount]}", markup=False),
        TextColumn("{task.fields[note]}", markup=False),
        TimeRemainingColumn(),
    )
    console = Console(file=raw_stream(sys.stderr))  # a bar is drawn by commands; rich must send no others
    pace = _Pace()
    with Bar(*columns, console=console, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(one_line(label), total=None, amount="", note="")

        def show(done: float, total: float, note: str) -> None:
            rate = pace.rate(done)
            amount = f"{done / total if total else 1:4.0%} {_amount(done, total, unit)} {rate:,.1f} {unit}/s"
            bar.update(task, completed=done, total=total or None, amount=amount, note=one_line(note))

        yield show


def _lines(label: str, unit: str) -> Generator[Show, None, None]:
    pace = _Pace()
    last = [-SECONDS_BETWEEN_LINES]

    def show(done: float, total: float, note: str) -> None:
        rate = pace.rate(done)
        if done < total and pace.seconds - last[0] < SECONDS_BETWEEN_LINES:
            return
        last[0] = pace.seconds
        left = f", {rate:,.1f} {unit}/s, {(total - done) / rate:.0f} s left" if rate and done < total else ""
        say(f"{label}: {_amount(done, total, unit)} ({note}) in {pace.seconds:.1f} s{left}", err=True)

    yield show


class _Pace:
    """How fast something is done, from what was done at the first look on."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._first: float | None = None
        self.seconds = 0.0

    def rate(self, done: float) -> float:
        """Return how much a second was done."""
        self.seconds = time.monotonic() - self._started
        if self._first is None:
            self._first = done
        return (done - self._first) / max(self.seconds, 1e-9)


def _amount(done: float, total: float, unit: str) -> str:
    if unit == "MB":
        return f"{done:,.1f}/{total:,.1f} MB"
    return f"{done:,.0f}/{counted(int(total), unit)}"
