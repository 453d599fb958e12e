"""A binary head tree to lines of a terminal: the root above, the words below, each inner node over its gap."""

from __future__ import annotations

from itertools import accumulate

from lisdata.drawing.canvas import Canvas
from lisdata.drawing.display_width import center, cut_to_width, display_width, to_printable, wrap_to_width
from lisdata.drawing.head_tree import HeadTree, find_head_tree, inner_glyph, to_bracket_string
from lisdata.drawing.sentence import Sentence
from lisdata.drawing.text import MIN_WIDTH
from lisdata.hexatag import TERMINAL_GLYPHS

_GAP = 4  # columns between words: an inner node's two, and one on either side


def draw_binary_head_tree(sentence: Sentence, *, width: int | None = None) -> str:
    """Return the tree that the hexatags spell, and below it its bracket string, in at most `width` (>= 24) columns.

    Leaves are ↗ and ↖ over their words; an inner node shows its tag (⇗L) over the gap whose tag it is. What is wider is
    cut into strips between words, whose rows go on in the next strip. TagError when the tags spell no tree, ValueError
    for a sentence of more than MAX_DRAWN_WORDS.
    """
    sentence.check_drawable()
    if width is not None and width < MIN_WIDTH:
        raise ValueError(f"{width=} is too narrow for a drawing: at least {MIN_WIDTH}")
    tree = find_head_tree(sentence)
    words = [to_printable(word) for word in sentence.words]
    if width is not None:
        words = [cut_to_width(word, width - _GAP) for word in words]
    widths = [max(display_width(word), 1) for word in words]
    starts = list(accumulate((w + _GAP for w in widths[:-1]), initial=0))
    canvas = _draw_nodes(sentence, tree, starts, widths)
    blocks = []
    for first, end in _strips(starts, widths, width):
        right = canvas.width if end == len(words) else starts[end]
        lines = [line for line in canvas.to_rows(starts[first], right) if line]
        cells = (center(words[i], widths[i]) for i in range(first, end))
        blocks.append("\n".join([*lines, (" " * _GAP).join(cells).rstrip()]))
    return "\n\n".join([*blocks, "\n".join(wrap_to_width(to_bracket_string(sentence), width))])


def _strips(starts: list[int], widths: list[int], width: int | None) -> list[tuple[int, int]]:
    """Return the runs [first, end) of words that fit, each with the gap behind it."""
    strips, first = [], 0
    for index in range(1, len(starts)):
        if width is not None and starts[index] + widths[index] + _GAP - starts[first] > width:
            strips.append((first, index))
            first = index
    return [*strips, (first, len(starts))]


def _draw_nodes(sentence: Sentence, tree: HeadTree, starts: list[int], widths: list[int]) -> Canvas:
    top = tree.heights[tree.root]
    canvas = Canvas(top + 1, starts[-1] + widths[-1])
    columns = []  # of each node; of an inner node's arrow, to the right of which is its letter
    for start, width in zip(starts, widths, strict=True):
        columns += [start + (width - 1) // 2, start + width + 1]
    for node, children in tree.children.items():
        row, column = top - tree.heights[node], columns[node]
        left, right = (columns[child] for child in children)
        canvas.draw_horizontal(row, left, right)
        for child in children:
            canvas.draw_vertical(columns[child], row, top - tree.heights[child])
        canvas.write(row, column, inner_glyph(sentence, node))
    for index, terminal in enumerate(sentence.terminal):
        canvas.write(top, columns[2 * index], TERMINAL_GLYPHS[terminal or 0])
    return canvas
