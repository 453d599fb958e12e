"""Which layout a file of n-ary facts is in: its first line tells, and where lines are of three names their columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import MAX_LINE_BYTES, InputSlice
from lisdata.sources.json_text import STYLES
from lisdata.sources.nary_layout import NaryLayout, NaryOptions

_BLOCK_BYTES = 1 << 16
_SAMPLE_BYTES = 4 << 20
_FEWEST_LINES = 8
"""From how many lines on it tells anything that one column has fewer names than another."""


def sniff_layout(piece: InputSlice, options: NaryOptions) -> NaryLayout:
    """Return the layout of the whole file that `piece` is a part of.

    Raises BadRecordError, of the whole file, where it may as well be triples as relation-first.
    """
    lines = _lines_of(piece)
    first = next(lines, b"")
    ending = "\r\n" if first.endswith(b"\r\n") else "\n"
    text = first.strip()
    layout = options.layout if options.layout != "auto" else _layout_of(piece, chain([first], lines), options)
    if layout == "wikipeople":
        usual = next((name for name, style in STYLES.items() if style.name_separator.encode() in text), "spaced")
        return NaryLayout(layout=layout, ending=ending, style=usual)
    if layout in ("hype", "triples"):
        return NaryLayout(layout=layout, separator=_separator(text).decode(), ending=ending)
    return NaryLayout(layout=layout, ending=ending)


def _lines_of(piece: InputSlice) -> Iterator[bytes]:
    """Yield the lines at the begin of the file that are not blank, the first one however far it is."""
    blocks = InputSlice(file=piece.file).blocks(
        _BLOCK_BYTES, longest_line=MAX_LINE_BYTES, on_long_line=lambda begin, end: None
    )
    size = 0
    for _, data in blocks:
        for line in data.splitlines(keepends=True):
            if line.strip():
                yield line
                size += len(line)
        if size >= _SAMPLE_BYTES:
            return


def _separator(text: bytes) -> bytes:
    return b"\t" if b"\t" in text else b" "


def _layout_of(piece: InputSlice, lines: Iterator[bytes], options: NaryOptions) -> str:
    first = next(lines)
    text = first.strip()
    if text.startswith(b"{"):
        return "wikipeople"
    if b"," in text and b"\t" not in text:
        return "wd50k"
    if options.leading_id:
        return "hype"
    separator = _separator(text)
    rows: list[list[bytes]] = []
    for line in chain([first], lines):
        names = line.rstrip(b"\r\n" + separator).split(separator)
        if len(names) != 3:
            return "hype"
        rows.append(names)
    layout = layout_of_threes(rows)
    if layout is None:
        raise BadRecordError(
            Place(piece.file.name, offset=0, line=1),
            expected="lines of three names whose relation stands out (say which: --layout triples for head, relation, "
            "tail, or --layout hype for relation, head, tail)",
            found=f"{len(rows)} that may be either",
            begin=0,
            end=sum(len(data) for _, data in InputSlice(file=piece.file).chunks()),
        )
    return layout


def layout_of_threes(rows: list[list[bytes]]) -> str | None:
    """Return "triples" or "hype" for lines of three names each, None where that is not clear.

    Entities are heads and tails both, so that the column of heads shares names with the third one; and relations are
    few, so that their column has fewer names. Where the two disagree (few entities with many relations) the first
    holds if most tails are heads too.
    """
    first, second, third = (set(column) for column in zip(*rows, strict=True))
    shared = len(first & third), len(second & third)
    by_tails = _clearly_more(*shared)
    by_counts = _clearly_more(len(first), len(second)) if len(rows) >= _FEWEST_LINES else 0
    if by_tails * by_counts < 0 and 2 * max(shared) <= len(third):
        return None
    return {1: "triples", -1: "hype", 0: None}[by_tails or by_counts]


def _clearly_more(first: int, second: int) -> int:
    """Return 1 where `first` is at least twice `second`, -1 the other way round, else 0."""
    if max(first, second) < 2 * min(first, second) or first == second:
        return 0
    return 1 if first > second else -1
