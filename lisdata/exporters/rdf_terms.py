"""Statements as Python objects, for formats that are written one at a time."""

from __future__ import annotations

from collections.abc import Iterator

from lisdata.contents import Content
from lisdata.exporters.rdf_statements import Statements
from lisdata.sources.ntriples_terms import content_from_term

Quad = tuple[Content, Content, Content, Content | None]


def iter_quads(statements: Statements) -> Iterator[Quad]:
    """Yield subject, predicate, object and graph (None: the default graph) of each statement, without scopes."""
    known: dict[bytes, Content] = {}

    def content(term: bytes) -> Content:
        found = known.get(term)
        if found is None:
            found = known[term] = content_from_term(term)
        return found

    columns = (statements.subjects, statements.predicates, statements.objects, statements.graphs)
    for subject, predicate, object_, graph in zip(*(column.to_pylist() for column in columns), strict=True):
        yield content(subject), content(predicate), content(object_), None if graph is None else content(graph)
