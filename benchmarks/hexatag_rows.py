"""Rows of the hexatag benchmark: what runs over how many words, measured in turns, printed with its ratios."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Words a second of the reference: tree to tags, tags to tree, logits to tags.
REFERENCE_ENCODE, REFERENCE_DECODE, REFERENCE_SEARCH = 25_500, 21_900, 7_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the table: what runs, over how many words (and bytes, where a file is read).

    `reference` is the reference's words a second (0: it has none), `beside` the label of the row of the same group that
    this one is compared with.
    """

    label: str
    run: Callable[[], object]
    num_words: int
    num_bytes: int = 0
    reference: int = 0
    beside: str = ""


def print_rows(rows: Sequence[Row], repeats: int) -> None:
    """Measure a group of rows and print a line for each."""
    seconds = measure(rows, repeats)
    speed_of = {row.label: row.num_words / best for row, best in zip(rows, seconds, strict=True)}
    for row, best in zip(rows, seconds, strict=True):
        speed = speed_of[row.label]
        line = f"{row.label:38} {1e9 / speed:9,.1f} ns/word {speed:13,.0f} words/s"
        if row.num_bytes:
            line += f" {row.num_bytes / 1e6 / best:7.1f} MB/s"
        if row.reference:
            line += f" {speed / row.reference:8,.0f} x the reference's {row.reference:,}*"
        if row.beside:
            line += f" {speed / speed_of[row.beside]:6.2f} x {row.beside}"
        print(line, flush=True)


def measure(rows: Sequence[Row], repeats: int) -> list[float]:
    """Return the CPU seconds, all threads together, of the best of `repeats` of each row.

    Rows take turns, in a new order each time, since a run also depends on the memory that the one before it left.
    """
    best = [float("inf")] * len(rows)
    for repeat in range(repeats):
        for number in random.Random(repeat).sample(range(len(rows)), len(rows)):
            begin = time.process_time()
            rows[number].run()
            best[number] = min(best[number], time.process_time() - begin)
    return best
