"""N-Triples lines that the scanner does not understand, judged and read one at a time by pyoxigraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lisdata.contents import Content
from lisdata.schema import ContentKind
from lisdata.sources.ntriples_terms import XSD_STRING, triple_term

# IRIs, comments and strings, so that an '@' is seen only where it begins a language tag.
_TAGS = re.compile(rb'<[^>]*>|#.*|"(?:[^"\\]|\\.)*"(?:[ \t]*@([A-Za-z0-9-]+))?', re.DOTALL)
_POSITION = re.compile(r"Parser error at line 1 (?:between columns \d+ and \d+|column \d+): ")

Triple = tuple[Content, Content, Content]


class LineError(Exception):
    """A line that is not a triple; `column` counts from 1."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


class LineParser:
    """Reads single lines; blank nodes get `scope`. With `lenient`, IRIs and language tags are not checked."""

    def __init__(self, *, scope: str, lenient: bool) -> None:
        import pyoxigraph

        self._scope, self._lenient = scope, lenient
        self._parse, self._format = pyoxigraph.parse, pyoxigraph.RdfFormat.N_TRIPLES
        self._nodes = {pyoxigraph.NamedNode: ContentKind.ENTITY, pyoxigraph.BlankNode: ContentKind.BNODE}
        self._literal = pyoxigraph.Literal

    def parse(self, line: bytes) -> Triple | None:
        """Return the triple that `line` holds, None if it holds none; raise LineError if it is not valid."""
        try:
            quads = list(self._parse(line, format=self._format, lenient=self._lenient))
        except SyntaxError as error:
            raise LineError(_POSITION.sub("", error.msg), error.offset or 1) from error
        if not quads:
            return None
        (quad,) = quads
        tags = (match[1].decode() for match in _TAGS.finditer(line) if match[1] is not None)
        return (
            self._content(quad.subject, tags),
            self._content(quad.predicate, tags),
            self._content(quad.object, tags),
        )

    def _content(self, term: Any, tags: Iterator[str]) -> Content:
        """Return the content of a term; the parser folds the case of language tags, so they come from `tags`."""
        if type(term) in self._nodes:
            kind = self._nodes[type(term)]
            return Content(kind, term.value.encode(), scope=self._scope if kind == ContentKind.BNODE else None)
        if isinstance(term, self._literal):
            if term.language is not None:
                return Content(ContentKind.LITERAL, term.value.encode(), language=next(tags))
            datatype = None if term.datatype.value == XSD_STRING else term.datatype.value
            return Content(ContentKind.LITERAL, term.value.encode(), datatype)
        parts = (
            self._content(term.subject, tags),
            self._content(term.predicate, tags),
            self._content(term.object, tags),
        )
        return triple_term(parts)
