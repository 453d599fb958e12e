"""Progress on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

from lisdata.cli.printing import counted
from lisdata.cli.terminal import one_line, raw_stream, say
from lisdata.runs import Progress

SECONDS_BETWEEN_LINES = 10.0
Show = Callable[[float, float, str], None]


@contextmanager
def run_progress(label: str) -> Iterator[Callable[[Progress], None]]:
    """Give a callback for `run_job` that shows units, MB, rate and time left."""
    with counter(label, unit="MB") as show:
        yield lambda p: show(p.weight_done / 1e6, p.weight / 1e6, f"{p.num_done}/{counted(p.num_units, 'units')}")


@contextmanager
def counter(label: str, *, unit: str) -> Iterator[Show]:
    """Give a callback (done, total, note) that shows a bar with rate and time left; `unit` is a plural, or MB."""
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
    started = time.monotonic()
    with Bar(*columns, console=console, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(one_line(label), total=None, amount="", note="")

        def show(done: float, total: float, note: str) -> None:
            rate = done / max(time.monotonic() - started, 1e-9)
            amount = f"{done / total if total else 1:4.0%} {_amount(done, total, unit)} {rate:,.1f} {unit}/s"
            bar.update(task, completed=done, total=total or None, amount=amount, note=one_line(note))

        yield show


def _lines(label: str, unit: str) -> Generator[Show, None, None]:
    started = time.monotonic()
    last = [-SECONDS_BETWEEN_LINES]

    def show(done: float, total: float, note: str) -> None:
        elapsed = time.monotonic() - started
        if done < total and elapsed - last[0] < SECONDS_BETWEEN_LINES:
            return
        last[0] = elapsed
        left = f", {(total - done) / done * elapsed:.0f} s left" if 0 < done < total else ""
        say(f"{label}: {_amount(done, total, unit)} ({note}) in {elapsed:.1f} s{left}", err=True)

    yield show


def _amount(done: float, total: float, unit: str) -> str:
    if unit == "MB":
        return f"{done:,.1f}/{total:,.1f} MB"
    return f"{done:,.0f}/{counted(int(total), unit)}"
