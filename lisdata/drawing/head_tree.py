"""Hexatags to their binary head tree (BHT): which nodes hang below which, how high, and the bracket string.

Nodes are numbered in order: word i (from 0) is the leaf 2i, the inner node between words i and i + 1 is 2i + 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from lisdata.drawing.display_width import to_printable
from lisdata.drawing.sentence import Sentence
from lisdata.errors import TagError
from lisdata.hexatag import NONTERMINAL_GLYPHS, decode

_BRACKETS = str.maketrans({"(": "-LRB-", ")": "-RRB-"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadTree:
    """A BHT by in-order node numbers: `children` of inner nodes (left, right), and `heights` (leaves have 0)."""

    root: int
    children: dict[int, tuple[int, int]]
    heights: tuple[int, ...]


def decode_tags(sentence: Sentence) -> tuple[int, ...]:
    """Return the heads (1-based, 0 the root) that the tags say; TagError when they are no tree or some are missing."""
    terminal = [tag for tag in sentence.terminal if tag is not None]
    nonterminal = [tag for tag in sentence.nonterminal if tag is not None]
    number = len(sentence.words)
    if number == 0 or min(len(terminal), len(nonterminal)) < number:
        raise TagError(f"{min(len(terminal), len(nonterminal))} of {number} words are tagged")
    return tuple(int(head) for head in decode(terminal, nonterminal))


def find_head_tree(sentence: Sentence) -> HeadTree:
    """Return the BHT that the tags spell, canonical or not; TagError when they spell none."""
    decode_tags(sentence)  # after this no step below can fail
    left: dict[int, int] = {}
    right: dict[int, int] = {}
    partial: list[tuple[int, int]] = []  # open trees: their root and the node that lacks its right child
    top = 0
    for index, (terminal, nonterminal) in enumerate(zip(sentence.terminal, sentence.nonterminal, strict=True)):
        leaf, inner = 2 * index, 2 * index + 1
        top = leaf
        if terminal == 1:
            top, slot = partial.pop()
            right[slot] = leaf
        if index == len(sentence.words) - 1:
            break
        left[inner] = top
        root = inner
        if nonterminal in {3, 4}:
            root, slot = partial.pop()
            right[slot] = inner
        partial.append((root, inner))
    children = {node: (left[node], right[node]) for node in left}
    return HeadTree(root=top, children=children, heights=_heights(top, children))


def _heights(root: int, children: dict[int, tuple[int, int]]) -> tuple[int, ...]:
    heights = [0] * (2 * len(children) + 1)
    for node in reversed(_from_root(root, children)):
        if node in children:
            heights[node] = 1 + max(heights[child] for child in children[node])
    return tuple(heights)


def _from_root(root: int, children: dict[int, tuple[int, int]]) -> list[int]:
    """Return all nodes, each after its parent; not recursive, since a tree may be as deep as its sentence is long."""
    nodes, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        waiting.extend(reversed(children.get(node, ())))
    return nodes


def to_bracket_string(sentence: Sentence) -> str:
    """Return the BHT as (L (R She reads) (R interesting books)); TagError when the tags spell none.

    Parentheses in words become -LRB- and -RRB-, spaces an underscore.
    """
    tree = find_head_tree(sentence)
    parts: list[str] = []
    waiting: list[int | str] = [tree.root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            parts.append(item)
        elif item in tree.children:
            left, right = tree.children[item]
            parts.append(f"({head_side(sentence, item)} ")
            waiting.extend((")", right, " ", left))
        else:
            parts.append("_".join(to_printable(sentence.words[item // 2]).translate(_BRACKETS).split()))
    return "".join(parts)


def head_side(sentence: Sentence, inner: int) -> str:
    """Return L or R: on which side below this inner node the head word is."""
    return inner_glyph(sentence, inner)[-1]


def inner_glyph(sentence: Sentence, inner: int) -> str:
    """Return the tag of an inner node, for example ⇗L."""
    return NONTERMINAL_GLYPHS[sentence.nonterminal[inner // 2] or 0]
