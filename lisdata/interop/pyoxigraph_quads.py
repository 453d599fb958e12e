"""pyoxigraph quads and triples as structures, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from lisdata.contents import Content
from lisdata.interop.rdf_quads import NodeNames, Quad, Structures, Triple, iter_quads, scope_of, structures_from_quads
from lisdata.schema import ContentKind
from lisdata.sources.ntriples_terms import XSD_STRING, term_from_content, triple_term

if TYPE_CHECKING:
    import pyoxigraph

    from lisdata.structure import Structure


def from_pyoxigraph(
    quads: Iterable[pyoxigraph.Quad | pyoxigraph.Triple], *, scope: str | None = None, group_by: str = "subject"
) -> list[Structure]:
    """Return the structures of quads (a list, a Dataset, a Store) or triples, in their order.

    Blank nodes get `scope`, or else the digest of the quads, so that those of two sets of them differ. Language tags
    are in lower case, as pyoxigraph has them.
    """
    terms: dict[Content, Triple] = {}
    given = list(quads)
    if scope is None:
        scope = scope_of([_quad(quad, None, {}) for quad in given])
    found = [_quad(quad, scope, terms) for quad in given]
    return structures_from_quads(found, scope=scope, group_by=group_by, triple_terms=terms)


def to_pyoxigraph(data: Structures) -> Iterator[pyoxigraph.Quad]:
    """Yield the statements of a dataset or of structures as quads; ExportError for a fact that is no triple.

    Blank nodes of different scopes get different names, and language tags lose their case.
    """
    import pyoxigraph

    nodes = NodeNames()
    for quad in iter_quads(data):
        spelled = b" ".join(term_from_content(content) for content in quad if content is not None)
        (parsed,) = pyoxigraph.parse(spelled + b" .\n", format=pyoxigraph.RdfFormat.N_QUADS, lenient=True)
        terms = (parsed.subject, parsed.predicate, parsed.object, parsed.graph_name)
        renamed = (_renamed(t, None if c is None else c.scope, nodes) for t, c in zip(terms, quad, strict=True))
        yield pyoxigraph.Quad(*renamed)


def _renamed(term: Any, scope: str | None, nodes: NodeNames) -> Any:
    """Return a term whose blank nodes, those in a triple term too, have the names that are theirs among all scopes."""
    import pyoxigraph

    if isinstance(term, pyoxigraph.BlankNode):
        return pyoxigraph.BlankNode(nodes.name(Content(ContentKind.BNODE, term.value.encode(), scope=scope)))
    if isinstance(term, pyoxigraph.Triple):
        return pyoxigraph.Triple(
            *(_renamed(part, scope, nodes) for part in (term.subject, term.predicate, term.object))
        )
    return term


def _quad(quad: Any, scope: str | None, terms: dict[Content, Triple]) -> Quad:
    import pyoxigraph

    graph = getattr(quad, "graph_name", None)
    subject, predicate, object_ = (_content(t, scope, terms) for t in (quad.subject, quad.predicate, quad.object))
    named = None if graph is None or isinstance(graph, pyoxigraph.DefaultGraph) else _content(graph, scope, terms)
    return subject, predicate, object_, named


def _content(term: Any, scope: str | None, terms: dict[Content, Triple]) -> Content:
    import pyoxigraph

    if isinstance(term, pyoxigraph.NamedNode):
        return Content(ContentKind.ENTITY, term.value.encode())
    if isinstance(term, pyoxigraph.BlankNode):
        return Content(ContentKind.BNODE, term.value.encode(), scope=scope)
    if isinstance(term, pyoxigraph.Literal):
        if term.language is not None:
            direction = "" if term.direction is None else f"--{term.direction}"
            return Content(ContentKind.LITERAL, term.value.encode(), language=term.language + direction)
        datatype = None if term.datatype.value == XSD_STRING else term.datatype.value
        return Content(ContentKind.LITERAL, term.value.encode(), datatype)
    parts = (
        _content(term.subject, scope, terms),
        _content(term.predicate, scope, terms),
        _content(term.object, scope, terms),
    )
    content = triple_term(parts)
    terms[content] = parts
    return content
