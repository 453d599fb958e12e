"""Trees as lists of dependents, for what walks them in plain Python; nothing here recurses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def dependents_of(heads: Iterable[int]) -> list[list[int]]:
    """Return the dependents of the artificial root 0 and of each word, in ascending order."""
    numbers = list(heads)
    dependents: list[list[int]] = [[] for _ in range(len(numbers) + 1)]
    for word, head in enumerate(numbers, 1):
        dependents[head].append(word)
    return dependents


def top_down(dependents: Sequence[Sequence[int]]) -> list[int]:
    """Return the words below 0, each after its head; reversed, each after its dependents."""
    order = list(dependents[0])
    for word in order:
        order.extend(dependents[word])
    return order
