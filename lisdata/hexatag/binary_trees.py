"""Binary head trees: what hexatags are read off, built for people and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lisdata.hexatag.arrays import Integers
from lisdata.hexatag.codec import encode
from lisdata.hexatag.dependents import dependents_of, top_down


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BinaryHeadTree:
    """A leaf, or a node over two trees; `str` gives brackets such as (L (R She reads) (R interesting books)).

    `head` is the number (from 1) and `word` the form of the head of the span; `label` says in which child the head is.
    A leaf has neither label nor children.
    """

    head: int
    word: str
    label: Literal["L", "R"] | None = None
    left: BinaryHeadTree | None = None
    right: BinaryHeadTree | None = None

    def __str__(self) -> str:
        parts: list[str] = []
        waiting: list[BinaryHeadTree | str] = [self]  # a stack, because trees are deeper than calls may be
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                parts.append(item)
            elif item.left is None or item.right is None:
                parts.append(item.word)
            else:
                parts.append(f"({item.label} ")
                waiting += [")", item.right, " ", item.left]
        return "".join(parts)


def binary_head_tree(heads: Integers, words: Sequence[str] | None = None) -> BinaryHeadTree:
    """Return the binary head tree of a projective tree over `words`, their numbers where none are given.

    Each head takes its left dependents from the nearest to the farthest, then its right ones likewise. Raise TreeError
    as `encode` does.
    """
    encode(heads)
    forms = [str(word + 1) for word in range(len(heads))] if words is None else words
    if len(forms) != len(heads):
        raise ValueError(f"expected a head a word, found {len(heads)} heads and {len(forms)} words")
    trees = [BinaryHeadTree(head=word, word=form) for word, form in enumerate(forms, 1)]
    dependents = dependents_of(map(int, heads))
    order = top_down(dependents)
    for head in reversed(order):
        tree = trees[head - 1]
        for dependent in reversed(dependents[head]):
            if dependent < head:
                left = trees[dependent - 1]
                tree = BinaryHeadTree(head=head, word=tree.word, label="R", left=left, right=tree)
        for dependent in dependents[head]:
            if dependent > head:
                right = trees[dependent - 1]
                tree = BinaryHeadTree(head=head, word=tree.word, label="L", left=tree, right=right)
        trees[head - 1] = tree
    return trees[order[0] - 1]
