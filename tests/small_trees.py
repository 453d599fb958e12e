"""Dependency trees for tests: all small ones, random ones, and those of treebanks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Heads = list[int]


def all_heads(num_words: int) -> npt.NDArray[np.int32]:
    """Return every assignment of a head from 0 to `num_words` to each word, right or wrong, a row each."""
    return np.array(list(itertools.product(range(num_words + 1), repeat=num_words)), np.int32)


def flatten(sentences: list[Heads]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return sentences end to end, and their offsets."""
    flat = np.array([head for heads in sentences for head in heads], np.int32)
    return flat, np.cumsum([0, *map(len, sentences)])


@st.composite
def trees(draw: st.DrawFn, max_words: int = 12) -> Heads:
    """Draw a tree with one root, mostly not projective: each word hangs below one placed before it."""
    order = draw(st.permutations(range(1, draw(st.integers(1, max_words)) + 1)))
    heads = [0] * len(order)
    for place, word in enumerate(order[1:], 1):
        heads[word - 1] = order[draw(st.integers(0, place - 1))]
    return heads


def read_trees(path: Path) -> Iterator[tuple[Heads, list[str]]]:
    """Yield (heads, deprels) of each sentence of a CoNLL-U file."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if "\t" in line]
        words = [row for row in rows if row[0].isdecimal()]
        if words:
            yield [int(row[6]) for row in words], [row[7] for row in words]


def treebank_paths(shared: Path) -> list[Path]:
    """Return the treebanks among the shared files."""
    return sorted((shared / "data" / "ud").rglob("*.conllu"))
