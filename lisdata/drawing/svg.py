"""A sentence to one self-contained SVG: arcs, words, tags and depths, and below them the binary head tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lisdata.drawing.arcs import (
    Arc,
    Need,
    Port,
    Side,
    find_arcs,
    lines_across,
    place_label,
    sides_in_use,
    spread_words,
    stack_levels,
)
from lisdata.drawing.display_width import to_printable
from lisdata.drawing.head_tree import HeadTree, find_head_tree, inner_glyph, to_bracket_string
from lisdata.drawing.sentence import Sentence
from lisdata.drawing.svg_elements import Value, element, text_element, text_width, to_xml
from lisdata.errors import TagError
from lisdata.hexatag import TERMINAL_GLYPHS

_FONT = "system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
_INK, _GREY, _LINE, _EDGE, _LIFTED = "#1f2328", "#656d76", "#57606a", "#8c959f", "#bc4c00"
_SIDE_COLORS = {"L": "#0550ae", "R": "#953800"}
_MARGIN, _GUTTER, _GAP = 24, 52, 28
_WORD_SIZE, _TAG_SIZE, _LABEL_SIZE = 16, 14, 12
_STEM_GAP, _LEVEL, _ROW = 9, 28, 38  # pixels between stems of a word, levels of arcs, rows of the tree
_CURVE = 22  # less than _LEVEL: a bend stays above the arc below


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Where each word stands: its middle, its edges, its ports."""

    starts: list[int]
    widths: list[int]
    columns: dict[Port, int]
    width: int

    def middle(self, index: int) -> int:
        return self.starts[index] + self.widths[index] // 2

    def node(self, node: int) -> int:
        """The column of a node of the tree: a leaf's is its word's, an inner node's that of its gap."""
        index = node // 2
        if node % 2 == 0:
            return self.middle(index)
        return (self.starts[index] + self.widths[index] + self.starts[index + 1]) // 2


def svg_sentence(sentence: Sentence) -> str:
    """Return an SVG document (no scripts, no fonts of its own, a white ground) that shows all of a sentence.

    An arc is a path of class `arc` (and `lifted`, dashed, where the tags hold a lifted one), a root's line one of class
    `root`. The tree is left out where the tags spell none; a note says so. ValueError for a sentence of more than
    MAX_DRAWN_WORDS.
    """
    sentence.check_drawable()
    arcs, notes = find_arcs(sentence)
    layout = _find_layout(sentence, arcs)
    parts, y = _draw_arcs(arcs, layout)
    rows, y = _draw_rows(sentence, layout, y, is_numbered=bool(notes))
    parts += rows
    description = ""
    try:
        tree, description = find_head_tree(sentence), to_bracket_string(sentence)
    except TagError:
        pass
    else:
        nodes, y = _draw_tree(sentence, tree, layout, y + 2 * _WORD_SIZE)
        parts += nodes
    width = layout.width
    for note in notes:
        y += _TAG_SIZE + 8
        parts.append(text_element(note, _MARGIN, y, font_size=_LABEL_SIZE, fill=_GREY, text_anchor="start"))
        width = max(width, 2 * _MARGIN + text_width(note, _LABEL_SIZE))
    return _document(sentence, description, parts, width, y + _MARGIN)


def _document(sentence: Sentence, description: str, parts: list[str], width: int, height: int) -> str:
    ground = element("rect", width=width, height=height, rx=8, fill="#ffffff")
    about = [element("title", to_xml(" ".join(sentence.words))), element("desc", to_xml(description))]
    group = element("g", "\n".join(["", *parts, ""]), fill="none", font_family=_FONT, text_anchor="middle")
    return element(
        "svg",
        "\n".join(["", *about, ground, group, ""]),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
    ) + "\n"  # fmt: skip


def _find_layout(sentence: Sentence, arcs: Sequence[Arc]) -> _Layout:
    sides = sides_in_use(arcs)
    offset: dict[Port, int] = {}
    widths = []
    for index, word in enumerate(sentence.words):
        width = max(text_width(to_printable(word), _WORD_SIZE), text_width(sentence.tag_glyphs(index), _TAG_SIZE))
        ports = sides.get(index + 1, ())
        first = width // 2 - (len(ports) - 1) * _STEM_GAP // 2
        offset.update({(index + 1, side): first + place * _STEM_GAP for place, side in enumerate(ports)})
        widths.append(width)
    needs = []
    for arc in arcs:
        left_port, right_port = arc.ports
        room = text_width(arc.text, _LABEL_SIZE) + 2 * _CURVE
        needs.append(Need(left=left_port, right=right_port, distance=room if left_port else room // 2))
    left = _MARGIN + _GUTTER
    starts = [left + start for start in spread_words(widths, _GAP, needs, offset)]
    columns = {(word, side): starts[word - 1] + o for (word, side), o in offset.items()}
    rights = [start + width for start, width in zip(starts, widths, strict=True)]
    rights += [columns[arc.ports[1]] + text_width(arc.text, _LABEL_SIZE) // 2 for arc in arcs if arc.head == 0]
    return _Layout(starts=starts, widths=widths, columns=columns, width=max(rights, default=left) + _MARGIN)


def _draw_arcs(arcs: Sequence[Arc], layout: _Layout) -> tuple[list[str], int]:
    """Return the arcs and the height at which they end."""
    inner, roots = [arc for arc in arcs if arc.head != 0], [arc for arc in arcs if arc.head == 0]
    pairs = (arc.ports for arc in inner)
    ends = [(layout.columns[left], layout.columns[right]) for left, right in pairs if left is not None]
    root_columns = [layout.columns[arc.dependent, Side.INCOMING] for arc in roots]
    halves = [text_width(arc.text, _LABEL_SIZE) // 2 for arc in roots]
    boxes = [(column - half, column + half) for column, half in zip(root_columns, halves, strict=True)]
    levels = stack_levels([*ends, *boxes], len(ends))
    bottom = _MARGIN + _LEVEL * max(levels, default=0)
    verticals = [(column, level) for pair, level in zip(ends, levels, strict=False) for column in pair]
    verticals += zip(root_columns, levels[len(ends) :], strict=True)
    paths, labels = [], []
    for index, arc in enumerate(inner):
        y = bottom - _LEVEL * levels[index]
        is_lifted = arc.lifted_to is not None
        style: dict[str, Value] = {"class_": "arc"}
        if is_lifted:
            style = {"class_": "arc lifted", "stroke_dasharray": "5 4"}
        color = _LIFTED if is_lifted else _LINE
        paths.append(element("path", d=_arc_path(ends[index], y, bottom), stroke=color, stroke_width=1.3, **style))
        paths.append(_arrow_head(layout.columns[arc.dependent, Side.INCOMING], bottom, color))
        width = text_width(arc.text, _LABEL_SIZE)
        begin = place_label(lines_across(ends[index], levels[index], verticals), width, clearance=5)
        labels.append(_label(arc.text, begin + width // 2, y))
    for arc, x, level in zip(roots, root_columns, levels[len(ends) :], strict=True):
        y = bottom - _LEVEL * level
        paths.append(element("path", class_="root", d=f"M{x} {y}V{bottom - 6}", stroke=_LINE, stroke_width=1.3))
        paths.append(_arrow_head(x, bottom, _LINE))
        labels.append(_label(arc.text, x, y))
    return paths + labels, bottom


def _arc_path(ends: tuple[int, int], y: int, bottom: int) -> str:
    left, right = ends
    bend = min(_CURVE, (right - left) // 2)
    low = min(y + _CURVE, bottom)
    return (
        f"M{left} {bottom - 1}V{low}Q{left} {y} {left + bend} {y}H{right - bend}Q{right} {y} {right} {low}V{bottom - 1}"
    )


def _arrow_head(x: int, bottom: int, color: str) -> str:
    return element("path", class_="arrow", d=f"M{x} {bottom}l-4 -8h8z", fill=color)


def _label(shown: str, x: int, y: int) -> str:
    """Return a text on a piece of ground that hides the line behind it."""
    width = text_width(shown, _LABEL_SIZE)
    ground = element("rect", x=x - width // 2 - 2, y=y - 8, width=width + 4, height=16, fill="#ffffff")
    return ground + text_element(shown, x, y + 4, class_="label", font_size=_LABEL_SIZE, fill=_INK) if shown else ""


def _draw_rows(sentence: Sentence, layout: _Layout, y: int, *, is_numbered: bool) -> tuple[list[str], int]:
    """Return words, tags and depths, and the height at which they end."""
    y += _WORD_SIZE + 4
    parts = _draw_words(sentence, layout, y)
    rows: list[tuple[str, Sequence[str], int, str]] = []
    numbers = range(len(sentence.words))
    if is_numbered:
        rows.append(("word", [str(index + 1) for index in numbers], _LABEL_SIZE, _GREY))
    if sentence.has_any_tag:
        rows.append(("tags", [sentence.tag_glyphs(index) for index in numbers], _TAG_SIZE, _INK))
        rows.append(("depth", [str(depth) for depth in sentence.stack_depths()], _LABEL_SIZE, _GREY))
    for name, cells, size, color in rows:
        y += 24
        parts.append(text_element(name, _MARGIN, y, font_size=_LABEL_SIZE, fill=_GREY, text_anchor="start"))
        cell_style: dict[str, Value] = {"font_size": size, "fill": color}
        parts += [text_element(cell, layout.middle(index), y, **cell_style) for index, cell in enumerate(cells)]
    return parts, y


def _draw_words(sentence: Sentence, layout: _Layout, y: int) -> list[str]:
    style: dict[str, Value] = {"class_": "word", "font_size": _WORD_SIZE, "fill": _INK}
    return [text_element(word, layout.middle(index), y, **style) for index, word in enumerate(sentence.words)]


def _draw_tree(sentence: Sentence, tree: HeadTree, layout: _Layout, y: int) -> tuple[list[str], int]:
    """Return the tree between the height `y`, where its root is, and the words below it, whose height comes too."""
    bottom = y + _ROW * tree.heights[tree.root]
    edges, nodes = [], []
    for node, children in tree.children.items():
        x, top = layout.node(node), bottom - _ROW * tree.heights[node]
        for child in children:
            low = bottom - _ROW * tree.heights[child] - _TAG_SIZE // 2
            edges.append(_edge(x, top, layout.node(child), low))
        glyph = inner_glyph(sentence, node)
        color = _SIDE_COLORS[glyph[-1]]
        box: dict[str, Value] = {"width": 32, "height": 22, "rx": 11, "fill": "#ffffff", "stroke": color}
        nodes.append(element("rect", class_="node", x=x - 16, y=top - 11, **box))
        nodes.append(text_element(glyph, x, top + 5, font_size=_TAG_SIZE, fill=color))
    for index, terminal in enumerate(sentence.terminal):
        glyph = TERMINAL_GLYPHS[terminal or 0]
        nodes.append(text_element(glyph, layout.middle(index), bottom + 5, font_size=_TAG_SIZE, fill=_INK))
    y = bottom + 5 + _WORD_SIZE + 8
    return [*edges, *nodes, *_draw_words(sentence, layout, y)], y


def _edge(x: int, y: int, child: int, low: int) -> str:
    """Return a line from an inner node sideways and down to a child."""
    bend = min(10, abs(child - x)) * (1 if child > x else -1)
    return element(
        "path", class_="edge", d=f"M{x} {y}H{child - bend}Q{child} {y} {child} {y + 10}V{low}", stroke="#8c959f"
    )
