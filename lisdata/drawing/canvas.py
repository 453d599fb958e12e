"""Lines and labels on a grid of terminal cells: lines that meet join, lines that pass cross."""

from __future__ import annotations

from lisdata.drawing.display_width import character_width

_NORTH, _EAST, _SOUTH, _WEST, _SOLID = 1, 2, 4, 8, 16
_BOX = (" ", "│", "─", "╰", "│", "│", "╭", "├", "─", "╯", "─", "┴", "╮", "┤", "┬", "┼")  # by the sides a line leaves to
_DASHED = {"─": "┄", "│": "┆"}


class Canvas:
    """A grid of `height` rows and `width` columns; lines include both ends and text lies over lines."""

    def __init__(self, height: int, width: int) -> None:
        self.height, self.width = height, width
        self._lines = [[0] * width for _ in range(height)]
        self._texts: list[dict[int, str]] = [{} for _ in range(height)]

    def draw_horizontal(self, row: int, left: int, right: int, *, is_dashed: bool = False) -> None:
        """Join the columns `left` and `right` of a row; one of -1 or `width` is the world outside."""
        for column in range(left, right):
            self._join(row, column, _EAST, is_dashed)
            self._join(row, column + 1, _WEST, is_dashed)

    def draw_vertical(self, column: int, top: int, bottom: int, *, is_dashed: bool = False) -> None:
        """Join the rows `top` and `bottom` of a column; one of -1 or `height` is the world outside."""
        for row in range(top, bottom):
            self._join(row, column, _SOUTH, is_dashed)
            self._join(row + 1, column, _NORTH, is_dashed)

    def _join(self, row: int, column: int, side: int, is_dashed: bool) -> None:
        if 0 <= row < self.height and 0 <= column < self.width:
            self._lines[row][column] |= side if is_dashed else side | _SOLID

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
        columns = range(left, self.width if right is None else right)
        return ["".join(self._cell(row, column) for column in columns).rstrip() for row in range(self.height)]

    def _cell(self, row: int, column: int) -> str:
        text = self._texts[row].get(column)
        if text is not None:
            return text
        lines = self._lines[row][column]
        box = _BOX[lines & 15]
        return box if lines & _SOLID else _DASHED.get(box, box)
