"""N-Triples lines that do not fit the parser's buffer: their long strings are read by the scanner and taken out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lisdata.kernels.arrays import binary_buffers
from lisdata.kernels.ntriples_scan import PADDING, scan
from lisdata.schema import NO_ROW

MIN_CUT_BYTES = 64 << 10  # shorter strings stay where they are
_STRINGS = re.compile(rb'<[^>]*+>|(#.*+)|("[^"\\]*+(?:\\.[^"\\]*+)*+")', re.DOTALL)
_OBJECT = b"<a:a> <a:a> %b .\n" + PADDING


class WrongStringError(Exception):
    """A string has bytes that are not UTF-8 or an escape that is none; it begins at byte `at` of its line."""

    def __init__(self, at: int) -> None:
        super().__init__("invalid UTF-8 or escape in a string")
        self.at = at


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortLine:
    """A line whose long strings are empty and whose long comment is gone.

    `lexicals` has an entry a string of the line, in order: what it spells when it was taken out, else None. `cuts` has
    for each the column (from 1) of `line` behind its opening quote, and the characters taken out there.
    """

    line: bytes
    lexicals: tuple[bytes | None, ...]
    cuts: tuple[tuple[int, int], ...]

    def column(self, column: int) -> int:
        """Return the column in the whole line of a column of the short one."""
        return column + sum(size for at, size in self.cuts if at <= column)


def shorten(line: bytes) -> ShortLine:
    """Return the line without its long strings; WrongStringError for one of them that is not valid."""
    parts: list[bytes] = []
    lexicals: list[bytes | None] = []
    cuts: list[tuple[int, int]] = []
    kept, column = 0, 1
    for token in _STRINGS.finditer(line):
        is_long = token.end() - token.start() > MIN_CUT_BYTES
        if token[1] is not None and is_long:
            parts.append(line[kept : token.start()])
            kept = token.end()
        elif token[2] is not None:
            lexicals.append(_lexical_form(token[2], token.start()) if is_long else None)
            if is_long:
                parts.append(line[kept : token.start() + 1])
                kept = token.end() - 1
                column += _num_characters(parts[-1])
                cuts.append((column, _num_characters(line[token.start() + 1 : kept])))
    return ShortLine(line=b"".join([*parts, line[kept:]]), lexicals=tuple(lexicals), cuts=tuple(cuts))


def _lexical_form(string: bytes, at: int) -> bytes:
    """Return what a string with its quotes spells."""
    scanned = scan(_OBJECT % string)
    if scanned.rows["subject"][0] == NO_ROW:
        raise WrongStringError(at)
    offsets, data = binary_buffers(scanned.lexical_forms())
    number = scanned.rows["object"][0]
    return data[offsets[number] : offsets[number + 1]].tobytes()


def _num_characters(data: bytes) -> int:
    return len(data.decode(errors="replace"))
