"""Which layout a file of n-ary facts is in: its first line tells, and where lines are of names their columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import MAX_LINE_BYTES, InputSlice
from lisdata.sources.json_text import STYLES
from lisdata.sources.nary_columns import find_relation
from lisdata.sources.nary_layout import NaryLayout, NaryOptions

BYTE_ORDER_MARK = "\ufeff"
_BLOCK_BYTES = 1 << 16
_SAMPLE_BYTES = 4 << 20
_MARK = BYTE_ORDER_MARK.encode()


@dataclass(frozen=True, slots=True)
class SniffedLayout:
    """The layout of a file, and why it is that one where its columns told it, "" where that needs no reason."""

    layout: NaryLayout
    reason: str = ""


class _UnclearError(ValueError):
    """Lines may be in several layouts, or are in none; the options say how to read them."""

    def __init__(self, expected: str, found: str) -> None:
        self.expected, self.found = expected, found
        super().__init__(f"expected {expected}, found {found}")


def sniff_layout(piece: InputSlice, options: NaryOptions) -> SniffedLayout:
    """Return the layout of the whole file that `piece` is a part of.

    Raises BadRecordError, of the whole file, where its columns do not tell which one is the relation.
    """
    mark = _mark_of(piece)
    lines = _lines_of(piece, len(mark.encode()))
    first = next(lines, b"")
    ending = "\r\n" if first.endswith(b"\r\n") else "\n"
    text = first.strip()
    name: str = options.layout
    reason = ""
    if options.layout == "auto":
        try:
            name, reason = _layout_of(chain([first], lines), has_ids=options.leading_id)
        except _UnclearError as error:
            raise _rejected(piece, error) from error
    if name == "wikipeople":
        usual = next((style for style, of in STYLES.items() if of.name_separator.encode() in text), "spaced")
        return SniffedLayout(NaryLayout(layout=name, ending=ending, style=usual, mark=mark))
    separator = _separator(text).decode() if name in ("hype", "triples") else ","
    return SniffedLayout(NaryLayout(layout=name, separator=separator, ending=ending, mark=mark), reason)


def _rejected(piece: InputSlice, error: _UnclearError) -> BadRecordError:
    size = sum(len(data) for _, data in InputSlice(file=piece.file).chunks())
    place = Place(piece.file.name, offset=0, line=1)
    return BadRecordError(place, expected=error.expected, found=error.found, begin=0, end=size)


def _mark_of(piece: InputSlice) -> str:
    """Return the byte-order mark before the first line of the file, if there is one; alone it is no mark."""
    _, begin = next(InputSlice(file=piece.file).chunks(len(_MARK) + 1), (0, b""))
    return BYTE_ORDER_MARK if begin.startswith(_MARK) and len(begin) > len(_MARK) else ""


def _lines_of(piece: InputSlice, begin: int) -> Iterator[bytes]:
    """Yield the lines of the file, from byte `begin` on, that are not blank, the first one however far it is."""
    blocks = InputSlice(file=piece.file, begin=begin).blocks(
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


def _layout_of(lines: Iterator[bytes], *, has_ids: bool) -> tuple[str, str]:
    """Return the layout and, where it is not plain to see, why."""
    first = next(lines)
    text = first.strip()
    if text.startswith(b"{") or not text:
        return ("wikipeople", "") if text else ("hype", "")
    if b"," in text and b"\t" not in text:
        return "wd50k", ""
    if has_ids:
        return "hype", ""
    separator = _separator(text)
    rows = [line.rstrip(b"\r\n" + separator).split(separator) for line in chain([first], lines)]
    sizes = {len(names) for names in rows}
    if sizes == {3}:
        return _layout_of_threes(rows)
    if len(sizes) > 1:
        return _layout_of_mixed(rows, sizes)
    return _layout_of_equal(rows, sizes.pop())


def _layout_of_threes(rows: list[list[bytes]]) -> tuple[str, str]:
    found = find_relation(rows)
    if found.column is None:
        raise _UnclearError(
            "lines of three names whose relation stands out (say which: --layout triples for head, relation, tail, or "
            "--layout hype for relation, head, tail)",
            f"{len(rows)} that may be either",
        )
    return ("hype", "triples")[found.column], found.reason


def _layout_of_mixed(rows: list[list[bytes]], sizes: set[int]) -> tuple[str, str]:
    """Return the layout of lines of several sizes: most may be triples, and the others be wrong."""
    threes = [names for names in rows if len(names) == 3]
    if 2 * len(threes) > len(rows):
        found = find_relation(threes)
        if found.column == 1:
            return "triples", f"of most lines {found.reason}"
    return "hype", f"lines have {min(sizes)} to {max(sizes)} names"


def _layout_of_equal(rows: list[list[bytes]], size: int) -> tuple[str, str]:
    """Return the layout of lines of one size that is not three: relation first, or one that is not read unasked."""
    declared = "--layout hype, with --leading-id where an id comes first"
    if size < 3:
        raise _UnclearError(
            f"lines of three names or more (relation and names, even so: {declared})",
            f"{len(rows)} of {size}",
        )
    found = find_relation(rows)
    if found.column == 1:
        raise _UnclearError(
            f"lines of three names, or their relation first (read so all the same: {declared}; of head, relation, tail "
            "and more only the first three are triples: cut the rest off and say --layout triples)",
            f"{len(rows)} of {size}, of which {found.reason}, as if the relation came second",
        )
    if found.column is None:
        raise _UnclearError(
            f"lines whose relation stands out (say that it comes first: {declared})",
            f"{len(rows)} of {size} names each that do not tell",
        )
    return "hype", found.reason
