"""Lines of N-Triples and N-Quads that the scanner does not understand, judged and read one at a time by pyoxigraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import repeat
from typing import Any, Protocol

from lisdata.contents import Content
from lisdata.schema import ContentKind
from lisdata.sources.ntriples_long_lines import ShortLine, WrongStringError, shorten
from lisdata.sources.ntriples_terms import XSD_STRING, triple_term
from lisdata.sources.rdf_depth import MAX_DEPTH, is_too_deep

BUFFER_BYTES = 16 << 20
"""What pyoxigraph can hold of a line; it raises MemoryError for more."""

# IRIs, comments and strings, so that an '@' is seen only where it begins a language tag.
_TAGS = re.compile(rb'<[^>]*+>|#.*+|"[^"\\]*+(?:\\.[^"\\]*+)*+"(?:[ \t]*@([A-Za-z0-9-]+))?', re.DOTALL)
_POSITION = re.compile(r"Parser error at line 1 (?:between columns \d+ and \d+|column \d+): ")

Triple = tuple[Content, Content, Content]
Quad = tuple[Content, Content, Content, Content | None]


class ParsedNames(Protocol):
    """Gives names back that a parser has changed."""

    def blank_nodes(self, labels: list[bytes]) -> list[bytes]:
        """Return the name of each blank node of a parser."""

    def language(self, tag: str) -> str:
        """Return a language tag as it was written."""


class LineError(Exception):
    """A line that is not a statement; `column` counts from 1."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


class LineParser:
    """Reads single lines; blank nodes get `scope`. With `lenient`, IRIs and language tags are not checked.

    A line may be longer than BUFFER_BYTES as long as that much is left of it without its long strings. With
    `has_graphs`, a line may name a graph. `names` gives back what another parser has changed.
    `triple_terms` are the parts of the triple terms read, those inside others first; the caller may clear it.
    """

    def __init__(
        self, *, scope: str, lenient: bool, has_graphs: bool = False, names: ParsedNames | None = None
    ) -> None:
        import pyoxigraph

        self._scope, self._lenient, self.has_graphs, self.names = scope, lenient, has_graphs, names
        self.triple_terms: dict[Content, Triple] = {}
        formats = pyoxigraph.RdfFormat
        self._parse, self._format = pyoxigraph.parse, formats.N_QUADS if has_graphs else formats.N_TRIPLES
        self._nodes = {pyoxigraph.NamedNode: ContentKind.ENTITY, pyoxigraph.BlankNode: ContentKind.BNODE}
        self._literal = pyoxigraph.Literal

    def parse(self, line: bytes) -> Quad | None:
        """Return the statement that `line` holds, its graph None in the default graph; None if there is none.

        LineError is raised if it is not valid.
        """
        if is_too_deep(line):
            raise LineError(f"triple terms more than {MAX_DEPTH} deep in each other", 1)
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
            self._content(quad.graph_name, tags, lexicals) if type(quad.graph_name) in self._nodes else None,
        )

    def _content(self, term: Any, tags: Iterator[str], lexicals: Iterator[bytes | None]) -> Content:
        """Return the content of a term.

        The parser folds the case of language tags, so they come from `tags`; strings that it did not see come from
        `lexicals`.
        """
        if type(term) in self._nodes:
            kind, name = self._nodes[type(term)], term.value.encode()
            if kind == ContentKind.ENTITY:
                return Content(kind, name)
            if self.names is not None:
                (name,) = self.names.blank_nodes([name])
            return Content(kind, name, scope=self._scope)
        if isinstance(term, self._literal):
            lexical = next(lexicals)
            lexical = term.value.encode() if lexical is None else lexical
            if term.language is not None:
                tag = next(tags) if self.names is None else self.names.language(next(tags))
                return Content(ContentKind.LITERAL, lexical, language=tag)
            datatype = None if term.datatype.value == XSD_STRING else term.datatype.value
            return Content(ContentKind.LITERAL, lexical, datatype)
        parts = (
            self._content(term.subject, tags, lexicals),
            self._content(term.predicate, tags, lexicals),
            self._content(term.object, tags, lexicals),
        )
        content = triple_term(parts)
        self.triple_terms[content] = parts
        return content


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
