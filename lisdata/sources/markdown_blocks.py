"""The blocks of a Markdown document (CommonMark and tables, by markdown-it) as units with their bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from lisdata.sources.document_units import DocumentUnits, Segment

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_CONTAINERS = {
    "blockquote": "quote", "bullet_list": "list", "ordered_list": "list", "list_item": "item", "table": "table",
    "tr": "row", "paragraph": "paragraph", "heading": "heading",
}  # fmt: skip
_LEAVES = {"fence": "code", "code_block": "code", "html_block": "html", "hr": "rule"}
_COVERING = (*_LEAVES, "paragraph_open", "heading_open", "table_open")
_MAX_NESTING = 100  # the parser is recursive; what lies deeper is kept as "rest"
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|$)")
_MARKERS = re.compile(r"(?:\s|>|[-+*](?=\s|$)|\d{1,9}[.)](?=\s|$))*")
_BOM = "\ufeff"


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable("table")
    return parser.disable(["inline", "text_join"])  # what is in a paragraph stays as it is written


def add_markdown(units: DocumentUnits, data: bytes) -> None:
    """Add one document, whose `data` is UTF-8.

    Units are sections (begun by the headings outside of quotes and lists, nested by level), headings, paragraphs of
    sentences, quotes, lists of items, tables of rows of cells, code with its info, html, rules, definitions of links,
    and as "rest" what the parser leaves out.
    """
    _Reader(units, data).read()


class _Reader:
    """One document on its way into units."""

    def __init__(self, units: DocumentUnits, data: bytes) -> None:
        text = data.decode()
        mark = len(_BOM.encode()) if text.startswith(_BOM) else 0
        lines = _LINE.findall(text[1:] if mark else text)
        self._units, self._data = units, data
        self._lines = [line for line, _ in lines]
        self._begins = [*accumulate((len((line + end).encode()) for line, end in lines), initial=mark)]
        self._is_covered = bytearray(len(lines))
        self._definitions: set[int] = set()  # lines where definitions begin
        self._next_rest = 0
        self._open = [units.add("document", -1, 0, len(data))]  # the units around what comes
        self._levels: list[int] = []  # of the open sections, which come right behind the document
        self._is_paragraph = False  # of what is around
        self._row: tuple[int, int] | None = None  # line and next character of a table's row, if that is around

    def read(self) -> None:
        environment: dict[str, Any] = {}
        tokens = _parser().parse("\n".join(self._lines), environment)
        found = [*environment.get("references", {}).values(), *environment.get("duplicate_refs", ())]
        self._definitions.update(reference["map"][0] for reference in found)
        for token in tokens:
            if token.type in _COVERING and token.map:
                first, last = token.map
                self._is_covered[first:last] = b"\1" * (last - first)
        for token in tokens:
            if token.level == 0 and token.nesting >= 0 and token.map:
                self._add_rest(token.map[0])
                if token.type == "heading_open":
                    self._open_section(int(token.tag[1:]), token.map[0])
            self._take(token)
        self._add_rest(len(self._lines))
        self._close_sections(0, len(self._lines))
        self._units.close_document()

    def _take(self, token: Token) -> None:
        kind, _, edge = token.type.rpartition("_")
        if token.type in _LEAVES and token.map:
            unit = self._units.add(_LEAVES[token.type], self._open[-1], *self._span(*token.map))
            if token.info.strip():
                self._add_piece("info", unit, self._find(token.map[0], token.info.strip()))
            self._units.add_text(unit, [*self._code(token)])
        elif token.type == "inline":
            self._add_inline(token)
        elif kind in _CONTAINERS and edge == "open" and token.map:
            self._open.append(self._units.add(_CONTAINERS[kind], self._open[-1], *self._span(*token.map)))
            self._is_paragraph = kind == "paragraph"
            self._row = (token.map[0], 0) if kind == "tr" else None
        elif kind in _CONTAINERS and edge == "close":
            if kind == "tr":
                self._close_row()
            self._open.pop()

    def _add_inline(self, token: Token) -> None:
        if self._row is not None:
            self._add_cell(token.content)
        elif token.map:
            pieces = [piece.strip() for piece in token.content.split("\n")]
            segments = [self._find(token.map[0] + number, piece) for number, piece in enumerate(pieces) if piece]
            if self._is_paragraph:
                self._units.add_sentences(self._open[-1], self._data, segments)
            else:
                self._units.add_text(self._open[-1], segments)

    def _add_cell(self, content: str) -> None:
        """Add a cell of the open row, which stands in one line; in it "\\|" was read as "|"."""
        assert self._row is not None
        line, at = self._row
        for piece in (content, content.replace("|", "\\|")):
            found = self._lines[line].replace("\0", "\ufffd").find(piece, at)
            if found >= 0:
                span = (self._place(line, found), self._place(line, found + len(piece)))
                self._add_piece("cell", self._open[-1], span)
                self._row = (line, found + len(piece))
                return

    def _close_row(self) -> None:
        """Add what stands in a row behind its last cell: there is no column for it."""
        assert self._row is not None
        line, at = self._row
        left = self._lines[line][at:]
        inner = left.strip().strip("|").strip()
        if inner:
            begin = at + left.index(inner)
            self._add_piece("rest", self._open[-1], (self._place(line, begin), self._place(line, begin + len(inner))))
        self._row = None

    def _add_piece(self, label: str, parent: int, span: Segment) -> None:
        unit = self._units.add(label, parent, *span)
        self._units.add_text(unit, [span] if span[0] < span[1] else [])

    def _code(self, token: Token) -> Iterator[Segment]:
        """Yield where the lines of a block of code, or of HTML, are that are not empty."""
        assert token.map is not None
        first = token.map[0] + (token.type == "fence")
        for number, line in enumerate(token.content.split("\n")):
            if piece := line.strip():
                yield self._find(first + number, piece)

    def _add_rest(self, last: int) -> None:
        """Add the lines before `last` that belong to no block, each run of them as a unit."""
        lines = range(self._next_rest, last)
        self._next_rest = max(self._next_rest, last)
        run: list[int] = []
        for line in lines:
            is_rest = not self._is_covered[line] and _MARKERS.fullmatch(self._lines[line]) is None
            if run and (not is_rest or line in self._definitions):
                self._add_run(run)
                run = []
            if is_rest:
                run.append(line)
        if run:
            self._add_run(run)

    def _add_run(self, run: list[int]) -> None:
        segments = []
        for line in run:
            found = _MARKERS.match(self._lines[line])
            begin = 0 if found is None else found.end()
            segments.append((self._place(line, begin), self._place(line, len(self._lines[line].rstrip()))))
        label = "definition" if run[0] in self._definitions else "rest"
        unit = self._units.add(label, self._open[-1], segments[0][0], segments[-1][1])
        self._units.add_text(unit, segments)

    def _open_section(self, level: int, line: int) -> None:
        self._close_sections(level, line)
        begin, end = self._span(line, len(self._lines))
        self._open.append(self._units.add("section", self._open[-1], begin, end))
        self._levels.append(level)

    def _close_sections(self, level: int, line: int) -> None:
        """Close the sections of `level` and below, which end before `line`."""
        while self._levels and self._levels[-1] >= level:
            self._units.move_end(self._open.pop(), self._span(0, line)[1])
            self._levels.pop()

    def _span(self, first: int, last: int) -> Segment:
        """Return the bytes of the lines from `first` on that end before `last`, without empty ones at the end."""
        while last > first + 1 and not self._lines[last - 1].strip():
            last -= 1
        return self._begins[first], self._place(last - 1, len(self._lines[last - 1]))

    def _find(self, line: int, piece: str) -> Segment:
        """Return the bytes of what the parser read in a line: it ends the line but for spaces and a heading's marks."""
        at = self._lines[line].replace("\0", "\ufffd").rfind(piece)
        if at < 0:  # a tab that the parser took apart
            at = len(self._lines[line]) - len(self._lines[line].lstrip())
            piece = self._lines[line].strip()
        return self._place(line, at), self._place(line, at + len(piece))

    def _place(self, line: int, character: int) -> int:
        return self._begins[line] + len(self._lines[line][:character].encode())
