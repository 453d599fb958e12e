"""A sentence to the arcs that are drawn above it: where they start and end, what they say, on which level they run.

An arc leaves a word by its left or right stem, by the side on which the dependent is, and comes in between the two: so
arcs of a projective tree never cross. Columns are whole numbers of any unit (characters, pixels).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from lisdata.drawing.display_width import to_printable
from lisdata.drawing.head_tree import decode_tags
from lisdata.drawing.sentence import Sentence
from lisdata.errors import TagError


class Side(IntEnum):
    """Where on a word an arc ends, from left to right."""

    LEFT = 0
    INCOMING = 1
    RIGHT = 2


Port = tuple[int, Side]  # a word's number and the side


@dataclass(frozen=True, slots=True, kw_only=True)
class Arc:
    """An arc between words numbered from 1; `head` 0 is the root's. `lifted_to` is the head that the tags give it."""

    head: int
    dependent: int
    label: str
    lifted_to: int | None = None

    @property
    def text(self) -> str:
        """What is written on it; on one from the root, that it is."""
        is_plain = self.head != 0 or "root" in self.label.lower()
        return self.label if is_plain else f"root {self.label}".rstrip()

    @property
    def ports(self) -> tuple[Port | None, Port]:
        """Its left and right end; the root's has only one."""
        if self.head == 0:
            return None, (self.dependent, Side.INCOMING)
        if self.head < self.dependent:
            return (self.head, Side.RIGHT), (self.dependent, Side.INCOMING)
        return (self.dependent, Side.INCOMING), (self.head, Side.LEFT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """The column of `right` must be at least `distance` beyond that of `left`; None is the edge before all words."""

    left: Port | None
    right: Port
    distance: int


def find_arcs(sentence: Sentence) -> tuple[list[Arc], list[str]]:
    """Return the arcs that can be drawn, in word order, and notes on what cannot be seen in the drawing."""
    number, heads = len(sentence.words), sentence.heads
    tree, notes = _tree_of_tags(sentence)
    if tree is not None and all(head is None for head in heads):
        heads = tree
        notes.append("the arcs are those of the tags")
    arcs = []
    for dependent, (head, deprel) in enumerate(zip(heads, sentence.deprels, strict=True), start=1):
        if head is None:
            continue
        if not 0 <= head <= number or head == dependent:
            notes.append(f"word {dependent}: its head is {head}, in a sentence of {number} words")
            continue
        by_tags = None if tree is None else tree[dependent - 1]
        moved_to = None if by_tags == head else by_tags
        if moved_to is not None:
            verb = "lifted to" if moved_to in _ancestors(heads, head) else "by the tags it hangs from"
            notes.append(f"word {dependent}: its head is {head}; {verb} {moved_to}")
        label = to_printable(deprel or "")
        arcs.append(Arc(head=head, dependent=dependent, label=label, lifted_to=moved_to))
    return arcs, notes


def _tree_of_tags(sentence: Sentence) -> tuple[tuple[int, ...] | None, list[str]]:
    if not sentence.has_any_tag:
        return None, []
    try:
        return decode_tags(sentence), []
    except TagError as error:
        return None, [f"the tags hold no tree: {error}"]


def _ancestors(heads: Sequence[int | None], word: int) -> Iterator[int]:
    for _ in heads:  # bounded, since there may be a cycle
        above = heads[word - 1] if 0 < word <= len(heads) else None
        if not above:
            return
        yield above
        word = above


def sides_in_use(arcs: Iterable[Arc]) -> dict[int, tuple[Side, ...]]:
    """Return for each word that an arc touches the sides in use, from left to right."""
    used: dict[int, set[Side]] = {}
    for arc in arcs:
        for port in arc.ports:
            if port is not None:
                used.setdefault(port[0], set()).add(port[1])
    return {word: tuple(sorted(sides)) for word, sides in used.items()}


def spread_words(
    widths: Sequence[int], gap: int, needs: Iterable[Need], offset: dict[Port, int], first: int = 1
) -> list[int]:
    """Return the leftmost columns where words `first`, `first` + 1 ... of these widths can start.

    Words are at least `gap` apart and each need is met; `offset` is a port's distance from its word's start.
    """
    by_word: dict[int, list[Need]] = {}
    for need in needs:
        by_word.setdefault(need.right[0], []).append(need)
    starts: list[int] = []
    for index in range(len(widths)):
        start = starts[-1] + widths[index - 1] + gap if starts else 0
        for need in by_word.get(first + index, ()):
            left = 0 if need.left is None else starts[need.left[0] - first] + offset[need.left]
            start = max(start, left + need.distance - offset[need.right])
        starts.append(start)
    return starts


def stack_levels(intervals: Sequence[tuple[int, int]], num_arcs: int) -> list[int]:
    """Return the level (1 is lowest) of each closed interval: above all earlier ones that it shares a column with.

    The first `num_arcs` come in order of their length, so that arcs nest; the rest, labels, follow them.
    """
    levels = [0] * len(intervals)
    placed: list[int] = []
    for index in sorted(range(len(intervals)), key=lambda i: (i >= num_arcs, intervals[i][1] - intervals[i][0])):
        begin, end = intervals[index]
        below = (levels[other] for other in placed if intervals[other][0] <= end and begin <= intervals[other][1])
        levels[index] = 1 + max(below, default=0)
        placed.append(index)
    return levels


def place_label(bounds: Sequence[int], width: int, *, clearance: int) -> int:
    """Return the column where a label of this width starts between the first and the last of `bounds`.

    It is near their middle and clear of the lines at all bounds, by `clearance` if there is room; where no gap is wide
    enough it lies over a line.
    """
    middle = (bounds[0] + 1 + bounds[-1] - width) // 2
    for margin in (clearance, 0):
        begins = [
            min(max(middle, begin + 1 + margin), end - margin - width)
            for begin, end in pairwise(bounds)
            if end - begin - 1 - 2 * margin >= width
        ]
        if begins:
            return min(begins, key=lambda begin: abs(begin - middle))
    return middle


def lines_across(ends: tuple[int, int], level: int, verticals: Iterable[tuple[int, int]]) -> list[int]:
    """Return where an arc ends and where, between, a line of `verticals` (its column, its top's level) crosses it."""
    begin, end = ends
    return [begin, *sorted({column for column, top in verticals if top > level and begin < column < end}), end]
