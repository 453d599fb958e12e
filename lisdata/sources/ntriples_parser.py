"""N-Triples lines that the scanner does not understand, judged and read one at a time by pyoxigraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import repeat
from typing import Any

from lisdata.contents import Content
from lisdata.schema import ContentKind
from lisdata.sources.ntriples_long_lines import ShortLine, WrongStringError, shorten
from lisdata.sources.ntriples_terms import XSD_STRING, triple_term

BUFFER_BYTES = 16 << 20
"""What pyoxigraph can hold of a line; it raises MemoryError for more."""

# IRIs, comments and strings, so that an '@' is seen only where it begins a language tag.
_TAGS = re.compile(rb'<[^>]*+>|#.*+|"[^"\\]*+(?:\\.[^"\\]*+)*+"(?:[ \t]*@([A-Za-z0-9-]+))?', re.DOTALL)
_POSITION = re.compile(r"Parser error at line 1 (?:between columns \d+ and \d+|column \d+): ")

Triple = tuple[Content, Content, Content]


class LineError(Exception):
    """A line that is not a triple; `column` counts from 1."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


class LineParser:
    """Reads single lines; blank nodes get `scope`. With `lenient`, IRIs and language tags are not checked.

    A line may be longer than BUFFER_BYTES as long as that much is left of it without its long strings.
    """

    def __init__(self, *, scope: str, lenient: bool) -> None:
        import pyoxigraph

        self._scope, self._lenient = scope, lenient
        self._parse, self._format = pyoxigraph.parse, pyoxigraph.RdfFormat.N_TRIPLES
        self._nodes = {pyoxigraph.NamedNode: ContentKind.ENTITY, pyoxigraph.BlankNode: ContentKind.BNODE}
        self._literal = pyoxigraph.Literal

    def parse(self, line: bytes) -> Triple | None:
        """Return the triple that `line` holds, None if it holds none; raise LineError if it is not valid."""
        short = ShortLine(line=line, lexicals=(), cuts=()) if len(line) <= BUFFER_BYTES else _shortened(line)
        try:
            quads = list(self._parse(short.line, format=self._format, lenient=self._lenient))
        except SyntaxError as error:
            raise LineError(_POSITION.sub("", error.msg), short.column(error.offset or 1)) from error
        if not quads:
            return None
        (quad,) = quads
        tags = (match[1].decode() for match in _TAGS.finditer(short.line) if match[1] is not None)
        lexicals = iter(short.lexicals) if short.lexicals else repeat(None)
        return (
            self._content(quad.subject, tags, lexicals),
            self._content(quad.predicate, tags, lexicals),
            self._content(quad.object, tags, lexicals),
        )

    def _content(self, term: Any, tags: Iterator[str], lexicals: Iterator[bytes | None]) -> Content:
        """Return the content of a term.

        The parser folds the case of language tags, so they come from `tags`; strings that it did not see come from
        `lexicals`.
        """
        if type(term) in self._nodes:
            kind = self._nodes[type(term)]
            return Content(kind, term.value.encode(), scope=self._scope if kind == ContentKind.BNODE else None)
        if isinstance(term, self._literal):
            lexical = next(lexicals)
            lexical = term.value.encode() if lexical is None else lexical
            if term.language is not None:
                return Content(ContentKind.LITERAL, lexical, language=next(tags))
            datatype = None if term.datatype.value == XSD_STRING else term.datatype.value
            return Content(ContentKind.LITERAL, lexical, datatype)
        parts = (
            self._content(term.subject, tags, lexicals),
            self._content(term.predicate, tags, lexicals),
            self._content(term.object, tags, lexicals),
        )
        return triple_term(parts)


def _shortened(line: bytes) -> ShortLine:
    """Return the line without its long strings; LineError when even so the parser cannot hold it."""
    try:
        short = shorten(line)
    except WrongStringError as error:
        raise LineError(str(error), len(line[: error.at].decode(errors="replace")) + 1) from error
    if len(short.line) > BUFFER_BYTES:
        size = f"{len(short.line)} bytes without its long strings"
        raise LineError(f"the line has {size}, more than the {BUFFER_BYTES} that can be judged", 1)
    return short
