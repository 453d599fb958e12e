"""Lines and labels on a grid of terminal cells: lines that meet join, lines that pass cross."""

from __future__ import annotations

import numpy as np

from lisdata.drawing.display_width import character_width

_NORTH, _EAST, _SOUTH, _WEST, _SOLID = 1, 2, 4, 8, 16
_BOX = (" ", "│", "─", "╰", "│", "│", "╭", "├", "─", "╯", "─", "┴", "╮", "┤", "┬", "┼")  # by the sides a line leaves to
_DASHED = {"─": "┄", "│": "┆"}
_CELLS = dict(enumerate([*(_DASHED.get(box, box) for box in _BOX), *_BOX]))  # by what a cell of lines holds


class Canvas:
    """A grid of `height` rows and `width` columns, a byte each; lines include both ends and text lies over lines."""

    def __init__(self, height: int, width: int) -> None:
        self.height, self.width = height, width
        self._lines = np.zeros((height, width), np.uint8)
        self._texts: list[dict[int, str]] = [{} for _ in range(height)]

    def draw_horizontal(self, row: int, left: int, right: int, *, is_dashed: bool = False) -> None:
        """Join the columns `left` and `right` of a row; one of -1 or `width` is the world outside."""
        solid = 0 if is_dashed else _SOLID
        if left < right:
            self._lines[row, max(left, 0) : right] |= _EAST | solid
            self._lines[row, left + 1 : right + 1] |= _WEST | solid

    def draw_vertical(self, column: int, top: int, bottom: int, *, is_dashed: bool = False) -> None:
        """Join the rows `top` and `bottom` of a column; one of -1 or `height` is the world outside."""
        solid = 0 if is_dashed else _SOLID
        if top < bottom:
            self._lines[max(top, 0) : bottom, column] |= _SOUTH | solid
            self._lines[top + 1 : bottom + 1, column] |= _NORTH | solid

    def write(self, row: int, column: int, text: str) -> None:
        """Put `text` over what is there; a wide character takes its second column too, a mark joins the one before."""
        texts, last = self._texts[row], column
        for character in text:
            width = character_width(character)
            if width == 0 and column > last:
                texts[last] += character
                continue
            texts[column], last = character, column
            if width == 2:
                texts[column + 1] = ""
            column += max(width, 1)

    def to_rows(self, left: int = 0, right: int | None = None) -> list[str]:
        """Return the columns [left, right) of each row, without trailing spaces."""
        end = self.width if right is None else right
        rows = []
        for lines, texts in zip(self._lines, self._texts, strict=True):
            cells = list(lines[left:end].tobytes().decode("latin-1").translate(_CELLS))
            for column, text in texts.items():
                if left <= column < end:
                    cells[column - left] = text
            rows.append("".join(cells).rstrip())
        return rows
