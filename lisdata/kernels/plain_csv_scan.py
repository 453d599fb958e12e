"""Plain twin of the scanner of delimited text: slow, short and obviously right; tests compare the kernel with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

Row = tuple[int, int, str, list[tuple[bytes, bool]]]


def scan_rows(data: bytes, delimiter: bytes, quote: bytes | None) -> Iterator[Row]:
    """Yield (begin, end, outcome, cells) of each row; a cell is its text and whether it is quoted.

    `outcome` is "whole", or the name of what is wrong; then the row ends with its line.
    """
    mark = re.escape(quote or b"")
    quoted = re.compile(b"%b((?:[^%b]|%b%b)*+)%b" % (mark, mark, mark, mark, mark) if quote else b"(?!)", re.DOTALL)
    plain = re.compile(b"[^\r\n%b%b]*" % (re.escape(delimiter), mark))
    at = 0
    while at < len(data):
        begin, cells, outcome, ended = at, [], "whole", False
        while outcome == "whole" and not ended:
            found = quoted.match(data, at)
            if found:
                cells.append((found[1].replace((quote or b"") * 2, quote or b""), True))
            elif quote and data.startswith(quote, at):
                outcome = "open quote"
                break
            else:
                found = plain.match(data, at)
                assert found is not None
                cells.append((found[0], False))
            at = found.end()
            outcome, width, ended = _after(data, at, delimiter, quote, is_quoted=cells[-1][1])
            at += width
        if outcome != "whole":
            at = data.find(b"\n", begin) + 1 or len(data)
        yield begin, at, outcome, cells


def _after(data: bytes, at: int, delimiter: bytes, quote: bytes | None, *, is_quoted: bool) -> tuple[str, int, bool]:
    """Return (outcome, width of what stands after a cell, whether the row ends)."""
    if at == len(data):
        return "whole", 0, True
    for mark, ends_row in ((delimiter, False), (b"\n", True), (b"\r\n", True)):
        if data.startswith(mark, at):
            return "whole", len(mark), ends_row
    if is_quoted:
        return "after quote", 0, True
    return ("stray quote" if quote and data.startswith(quote, at) else "stray return"), 0, True
