"""A sentence to lines of a terminal: arcs, words, tags and depths; one piece, or panels of a given width."""

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
from lisdata.drawing.canvas import Canvas
from lisdata.drawing.display_width import center, cut_to_width, display_width, to_printable, wrap_to_width
from lisdata.drawing.sentence import Sentence

MIN_WIDTH = 24
_GAP = 1
_GUTTER = 7  # columns before the first word, for the names of the rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blocks:
    """What stands below the arcs: rows (a name, a cell a word), the words' widths, the places of ports in them."""

    rows: tuple[tuple[str, tuple[str, ...]], ...]
    widths: tuple[int, ...]
    offset: dict[Port, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """The part of an arc inside a panel; an end of None is beyond the panel's edge."""

    left: Port | None
    right: Port | None
    text: str
    is_dashed: bool

    @property
    def distance(self) -> int:
        """Columns from end to end that leave room for the text."""
        return display_width(self.text) + 3 if self.text else 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """The words `first` up to `end`, exclusive, at their columns, with the lines above them and the roots' labels."""

    first: int
    end: int
    starts: tuple[int, ...]
    columns: dict[Port, int]
    lines: tuple[_Line, ...]
    roots: tuple[tuple[Port, str], ...]
    width: int


def draw_sentence(sentence: Sentence, *, width: int | None = None) -> str:
    """Return the sentence drawn in at most `width` (>= 24) columns, or in one piece where it is None.

    From above: the arcs from heads (│) to dependents (▼) with their deprels, dashed where the tags hold a lifted arc;
    the words; their hexatags; the number of partial trees on the decoder's stack. A long sentence is drawn in panels:
    an arc that leaves one says to which word it goes (obj→12), in the other panel from which it comes (3→obj). Notes
    below say what lines cannot. Characters that a terminal cannot show are replaced. ValueError for a sentence of more
    than MAX_DRAWN_WORDS.
    """
    sentence.check_drawable()
    if width is not None and width < MIN_WIDTH:
        raise ValueError(f"{width=} is too narrow for a drawing: at least {MIN_WIDTH}")
    arcs, notes = find_arcs(sentence)
    limit = None if width is None else width - _GUTTER
    blocks = _find_blocks(sentence, arcs, is_numbered=bool(notes))
    panels = [_place(blocks, arcs, 1, len(sentence.words) + 1)] if sentence.words else []
    if limit is not None and panels and panels[0].width > limit:
        blocks = _find_blocks(sentence, arcs, is_numbered=True, limit=limit)
        panels = _find_panels(blocks, arcs, limit)
    drawings = ["\n".join(_draw_panel(panel, blocks)) for panel in panels]
    lines = [line for note in notes for line in wrap_to_width(to_printable(note), width)]
    return "\n\n".join([*drawings, "\n".join(lines)] if lines else drawings)


def _find_blocks(sentence: Sentence, arcs: Sequence[Arc], *, is_numbered: bool, limit: int | None = None) -> _Blocks:
    words = [to_printable(word) for word in sentence.words]
    rows = [("", tuple(words if limit is None else (cut_to_width(word, limit) for word in words)))]
    if is_numbered:
        rows.append(("word", tuple(str(number) for number in range(1, len(words) + 1))))
    if sentence.has_any_tag:
        rows.append(("tags", tuple(sentence.tag_glyphs(index) for index in range(len(words)))))
        rows.append(("depth", tuple(map(str, sentence.stack_depths()))))
    sides = sides_in_use(arcs)
    offset: dict[Port, int] = {}
    widths = []
    for index in range(len(words)):
        ports = sides.get(index + 1, ())
        width = max(1, len(ports), *(display_width(cells[index]) for _, cells in rows))
        offset.update({(index + 1, side): (width - len(ports)) // 2 + place for place, side in enumerate(ports)})
        widths.append(width)
    return _Blocks(rows=tuple(rows), widths=tuple(widths), offset=offset)


def _find_panels(blocks: _Blocks, arcs: Sequence[Arc], limit: int) -> list[_Panel]:
    """Return panels of as many words as fit into `limit` columns; one word that does not has its labels cut."""
    panels: list[_Panel] = []
    first, number = 1, len(blocks.widths)
    while first <= number:
        panel = _place(blocks, arcs, first, first + 1)
        if panel.width > limit:
            panel = _place(blocks, arcs, first, first + 1, max_distance=(limit - len(Side)) // 2)
        while panel.end <= number and (longer := _place(blocks, arcs, first, panel.end + 1)).width <= limit:
            panel = longer
        panels.append(panel)
        first = panel.end
    return panels


def _place(blocks: _Blocks, arcs: Sequence[Arc], first: int, end: int, *, max_distance: int | None = None) -> _Panel:
    """Return the words `first` up to `end` at the leftmost columns that leave room for all labels."""

    def near(distance: int) -> int:
        return distance if max_distance is None else min(distance, max_distance)

    inside = range(first, end)
    lines = [line for arc in arcs if (line := _line_inside(arc, inside)) is not None]
    found_roots = [arc for arc in arcs if arc.head == 0 and arc.dependent in inside]
    roots = [(arc.ports[1], arc.text) for arc in found_roots]
    needs = [Need(left=None, right=port, distance=near(display_width(label) // 2)) for port, label in roots]
    for line in lines:
        if line.right is not None:
            before = 1 if line.left is None else 0  # the world outside is column -1
            needs.append(Need(left=line.left, right=line.right, distance=near(line.distance) - before))
    widths = blocks.widths[first - 1 : end - 1]
    starts = spread_words(widths, _GAP, needs, blocks.offset, first)
    columns = {port: starts[port[0] - first] + place for port, place in blocks.offset.items() if port[0] in inside}
    edges = [starts[-1] + widths[-1]]
    edges += [columns[port] + near((display_width(label) + 1) // 2) for port, label in roots]
    edges += [columns[line.left] + near(line.distance) for line in lines if line.left and not line.right]
    return _Panel(
        first=first,
        end=end,
        starts=tuple(starts),
        columns=columns,
        lines=tuple(lines),
        roots=tuple(roots),
        width=max(edges),
    )


def _line_inside(arc: Arc, words: range) -> _Line | None:
    """Return what of an arc is seen among `words`; None where neither end is."""
    if arc.head == 0:
        return None
    left, right = (port if port and port[0] in words else None for port in arc.ports)
    if left is None and right is None:
        return None
    text = arc.label
    if arc.dependent not in words:
        text = f"{arc.label}→{arc.dependent}"
    elif arc.head not in words:
        text = f"{arc.head}→{arc.label}"
    return _Line(left=left, right=right, text=text, is_dashed=arc.lifted_to is not None)


def _draw_panel(panel: _Panel, blocks: _Blocks) -> list[str]:
    rows = [" " * _GUTTER + line for line in _draw_arcs(panel)]
    for name, cells in blocks.rows:
        row = ""
        for index, start in enumerate(panel.starts, start=panel.first - 1):
            row += " " * (start - display_width(row)) + center(cells[index], blocks.widths[index])
        rows.append(name.ljust(_GUTTER) + row)
    return [row.rstrip() for row in rows]


def _draw_arcs(panel: _Panel) -> list[str]:
    if not panel.lines and not panel.roots:
        return []
    ends = [
        (
            -1 if line.left is None else panel.columns[line.left],
            panel.width if line.right is None else panel.columns[line.right],
        )
        for line in panel.lines
    ]
    labels = [_root_place(panel, port, label) for port, label in panel.roots]
    levels = stack_levels([*ends, *((begin, begin + display_width(label) - 1) for begin, label in labels)], len(ends))
    top = max(levels)
    canvas = Canvas(top + 1, panel.width)
    for (left, right), level, line in zip(ends, levels, panel.lines, strict=False):
        canvas.draw_horizontal(top - level, left, right, is_dashed=line.is_dashed)
        for column in (left, right):
            if 0 <= column < panel.width:
                canvas.draw_vertical(column, top - level, top, is_dashed=line.is_dashed)
    verticals = [(column, level) for pair, level in zip(ends, levels, strict=False) for column in pair]
    for (port, _), (begin, label), level in zip(panel.roots, labels, levels[len(ends) :], strict=True):
        verticals.append((panel.columns[port], level))
        canvas.draw_vertical(panel.columns[port], top - level, top)
        canvas.write(top - level, begin, label)
    for pair, level, line in zip(ends, levels, panel.lines, strict=False):
        bounds = lines_across(pair, level, verticals)
        shown = cut_to_width(line.text, bounds[-1] - bounds[0] - 1)
        canvas.write(top - level, place_label(bounds, display_width(shown), clearance=1), shown)
    for port, column in panel.columns.items():
        if port[1] == Side.INCOMING:
            canvas.write(top, column, "▼")
    return canvas.to_rows()


def _root_place(panel: _Panel, port: Port, label: str) -> tuple[int, str]:
    shown = cut_to_width(label, panel.width)
    begin = panel.columns[port] - display_width(shown) // 2
    return min(max(begin, 0), panel.width - display_width(shown)), shown
