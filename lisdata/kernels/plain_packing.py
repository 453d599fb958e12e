"""Plain twins of the kernels `packing`, `mixing` and `placing`; the tests compare the kernels with them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil


def first_fit(lengths: Sequence[int], capacity: int) -> list[int]:
    """Return the pack of each row: the first with room for it."""
    room: list[int] = []
    packs = []
    for length in lengths:
        pack = next((number for number, left in enumerate(room) if left >= length), len(room))
        if pack == len(room):
            room.append(capacity)
        room[pack] -= length
        packs.append(pack)
    return packs


def cut_by_budget(
    lengths: Sequence[int], budget: int, *, multiple: int, is_padded: bool, max_rows: int
) -> list[list[int]]:
    """Return the lengths of each batch."""
    batches: list[list[int]] = []
    for length in lengths:
        grown = [*(batches[-1] if batches else []), length]
        size = len(grown) * ceil(max(grown) / multiple) * multiple if is_padded else sum(grown)
        if batches and size <= budget and len(grown) <= max_rows:
            batches[-1] = grown
        else:
            batches.append([length])
    return batches


def draw(weights: Sequence[int], drawn: Sequence[int], count: int) -> list[int]:
    """Return the sources of `count` draws after `drawn` from each: the earliest deadline of those that may be drawn."""
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    counts, sources = list(drawn), []
    for number in range(sum(drawn) + 1, sum(drawn) + count + 1):
        ready = [source for source, share in enumerate(shares) if counts[source] < share * number]
        source = min(ready, key=lambda source: ceil((counts[source] + 1) / shares[source]))
        counts[source] += 1
        sources.append(source)
    return sources


def place(
    rows: Sequence[Sequence[int]], places: Sequence[int], size: int, padding: int
) -> list[int]:  # fmt: skip
    """Return `size` values with each row at its place and padding elsewhere."""
    target = [padding] * size
    for row, begin in zip(rows, places, strict=True):
        target[begin : begin + len(row)] = row
    return target
