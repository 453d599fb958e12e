"""Progress on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

from lisdata.cli.printing import counted
from lisdata.cli.terminal import say
from lisdata.printable import one_line, raw_stream
from lisdata.runs import Progress

SECONDS_BETWEEN_LINES = 10.0
_LEAST_ADVANCES, _LEAST_SHARE = 2, 0.05
Show = Callable[[float, float, str], None]


@contextmanager
def run_progress(label: str) -> Iterator[Callable[[Progress], None]]:
    """Give a callback for `run_job` that shows units, the last one's seconds, MB, rate and time left."""

    def note(p: Progress) -> str:
        last = "" if p.last is None else f", {p.last.unit['name']} took {p.last.seconds:.1f} s"
        return f"{p.num_done}/{counted(p.num_units, 'units')}{last}"

    with counter(label, unit="MB") as show:
        yield lambda p: show(p.weight_done / 1e6, p.weight / 1e6, note(p))


class Steps:
    """The runs of several steps, one after another: each shown until the next begins."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def begin(self, label: str) -> Callable[[Progress], None]:
        """End the step before, and return the callback of `run_progress` for the next."""
        self.end()
        return self._stack.enter_context(run_progress(label))

    def end(self) -> None:
        """End the present step, if there is one."""
        self._stack.close()


@contextmanager
def steps_progress() -> Iterator[Steps]:
    """Give the steps of one command; the last ends with the context."""
    steps = Steps()
    try:
        yield steps
    finally:
        steps.end()


@contextmanager
def counter(label: str, *, unit: str) -> Iterator[Show]:
    """Give a callback (done, total, note) that shows a bar with rate and time left; `unit` is a plural, or MB.

    What is done at the first call was done before: the rate is that of what follows. The time left is not said before
    something was done twice, or a twentieth of all: what comes first may take long for reasons of its own.
    """
    show = _bar(label, unit) if sys.stderr.isatty() else _lines(label, unit)
    callback = next(show)
    try:
        yield callback
    finally:
        show.close()


def _bar(label: str, unit: str) -> Generator[Show, None, None]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[amount]}", markup=False),
        TextColumn("{task.fields[note]}", markup=False),
        TextColumn("{task.fields[left]}", markup=False),
    )
    console = Console(file=raw_stream(sys.stderr))  # a bar is drawn by commands; rich must send no others
    pace = _Pace()
    with Bar(*columns, console=console, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(one_line(label), total=None, amount="", note="", left="")

        def show(done: float, total: float, note: str) -> None:
            pace.note(done, total)
            amount = f"{done / total if total else 1:4.0%} {_amount(done, total, unit)} {pace.rate:,.1f} {unit}/s"
            left = "" if pace.left is None else f"{timedelta(seconds=round(pace.left))} left"
            bar.update(task, completed=done, total=total or None, amount=amount, note=one_line(note), left=left)

        yield show


def _lines(label: str, unit: str) -> Generator[Show, None, None]:
    pace = _Pace()
    last = [-SECONDS_BETWEEN_LINES]

    def show(done: float, total: float, note: str) -> None:
        pace.note(done, total)
        if done < total and pace.seconds - last[0] < SECONDS_BETWEEN_LINES:
            return
        last[0] = pace.seconds
        rate = f", {pace.rate:,.1f} {unit}/s" if pace.rate and done < total else ""
        left = "" if pace.left is None else f", {pace.left:.0f} s left"
        say(f"{label}: {_amount(done, total, unit)} ({note}) in {pace.seconds:.1f} s{rate}{left}", err=True)

    yield show


class _Pace:
    """How fast something is done, from what was done at the first look on."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._first: float | None = None
        self._last, self._num_advances = 0.0, 0
        self.seconds = self.rate = 0.0
        self.left: float | None = None

    def note(self, done: float, total: float) -> None:
        """Take in how much is done: `rate` is then how much a second, `left` the seconds for the rest, if known."""
        self.seconds = time.monotonic() - self._started
        if self._first is None:
            self._first = self._last = done
        self._num_advances += done > self._last
        self._last = done
        own = done - self._first
        self.rate = own / max(self.seconds, 1e-9)
        is_known = self._num_advances >= _LEAST_ADVANCES or own >= _LEAST_SHARE * total
        self.left = (total - done) / self.rate if is_known and self.rate and done < total else None


def _amount(done: float, total: float, unit: str) -> str:
    if unit == "MB":
        return f"{done:,.1f}/{total:,.1f} MB"
    return f"{int(done):,}/{counted(int(total), unit)}"
