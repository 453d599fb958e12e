"""rdflib graphs and datasets as structures, and back, with exact lexical forms and language tags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lisdata.contents import Content, decode_text, encode_text
from lisdata.errors import ExportError
from lisdata.interop.rdf_quads import NodeNames, Quad, Structures, iter_quads, scope_of, structures_from_quads
from lisdata.schema import ContentKind
from lisdata.sources.ntriples_terms import XSD_STRING, term_from_content

if TYPE_CHECKING:
    import rdflib

    from lisdata.structure import Structure


def from_rdflib(
    graph: rdflib.Graph | rdflib.Dataset, *, scope: str | None = None, group_by: str = "subject"
) -> list[Structure]:
    """Return the structures of a graph, or of a dataset with its named graphs, sorted: a graph has no order.

    Blank nodes get `scope`, or else the digest of the graph, so that those of two graphs differ. The structures go to
    a dataset by `lisdata.write_structures`. ValueError for what RDF does not allow (a literal as subject).
    """
    import rdflib

    quads: list[Quad] = []
    if isinstance(graph, _with_names()):
        # the default graph is named by its identifier, by itself or not at all, by version of rdflib
        named: Any = graph
        default = named.default_graph if isinstance(graph, rdflib.Dataset) else named.default_context
        for subject, predicate, object_, name in named.quads((None, None, None, None)):
            is_default = name is None or getattr(name, "identifier", name) == default.identifier
            quads.append(_quad(subject, predicate, object_, None if is_default else name))
    else:
        quads += [_quad(subject, predicate, object_, None) for subject, predicate, object_ in graph]
    scope = scope or scope_of(quads)
    quads = [tuple(_scoped(content, scope) for content in quad) for quad in quads]  # type: ignore[misc]
    quads.sort(key=lambda quad: [b"" if content is None else term_from_content(content) for content in quad])
    return structures_from_quads(quads, scope=scope, group_by=group_by)


def to_rdflib(data: Structures, *, into: rdflib.Graph | None = None) -> rdflib.Graph:
    """Return a new rdflib.Dataset with the statements of a dataset or of structures, or add them to the graph `into`.

    ExportError for what rdflib cannot hold: a fact that is no triple, a triple term, the direction of a language tag;
    and for a named graph where `into` is a Graph.
    """
    import rdflib

    graph = rdflib.Dataset() if into is None else into
    nodes = NodeNames(_blank_nodes(graph))
    for subject, predicate, object_, name in iter_quads(data):
        triple: Any = tuple(_term(content, nodes) for content in (subject, predicate, object_))
        if name is None:
            graph.add(triple)
        elif isinstance(graph, rdflib.Dataset):
            graph.graph(_term(name, nodes)).add(triple)
        else:
            raise ExportError(f"expected triples of the default graph, found some of {name.text}: use a Dataset")
    return graph


def _blank_nodes(graph: rdflib.Graph) -> Iterator[str]:
    import rdflib

    found: Any = graph
    for statement in found.quads((None, None, None, None)) if isinstance(graph, _with_names()) else found:
        for term in statement:
            node = getattr(term, "identifier", term)
            if isinstance(node, rdflib.BNode):
                yield str(node)


def _with_names() -> tuple[type, ...]:
    """Return the classes of graphs that hold named ones; rdflib means to do without the older of them."""
    import rdflib

    older = getattr(rdflib, "ConjunctiveGraph", None)
    return (rdflib.Dataset,) if older is None else (rdflib.Dataset, older)


def _quad(subject: Any, predicate: Any, object_: Any, graph: Any) -> Quad:
    found = (_content(subject), _content(predicate), _content(object_), None if graph is None else _content(graph))
    resources = (ContentKind.ENTITY, ContentKind.BNODE)
    if found[0].kind not in resources or found[1].kind != ContentKind.ENTITY:
        raise ValueError(f"expected a triple of RDF, got {subject!r} {predicate!r} {object_!r}")
    return found


def _content(term: Any) -> Content:
    import rdflib

    if isinstance(term, rdflib.Graph):  # a graph stands for its name
        term = term.identifier
    text = encode_text(str(term))
    if isinstance(term, rdflib.URIRef):
        return Content(ContentKind.ENTITY, text)
    if isinstance(term, rdflib.BNode):
        return Content(ContentKind.BNODE, text)
    if isinstance(term, rdflib.Literal):
        datatype = None if term.datatype is None or str(term.datatype) == XSD_STRING else str(term.datatype)
        return Content(ContentKind.LITERAL, text, None if term.language else datatype, term.language)
    raise ValueError(f"expected an IRI, a blank node or a literal, got {term!r}")


def _scoped(content: Content | None, scope: str) -> Content | None:
    if content is None or content.kind != ContentKind.BNODE:
        return content
    return Content(content.kind, content.lexical, scope=scope)


def _term(content: Content, nodes: NodeNames) -> Any:
    import rdflib

    if content.kind == ContentKind.ENTITY:
        return rdflib.URIRef(decode_text(content.lexical))
    if content.kind == ContentKind.BNODE:
        return rdflib.BNode(nodes.name(content))
    if content.kind != ContentKind.LITERAL or "--" in (content.language or ""):
        raise ExportError(f"expected what rdflib can hold, found {content.text!r} ({content.kind.name})")
    datatype = None if content.datatype is None else rdflib.URIRef(content.datatype)
    return rdflib.Literal(decode_text(content.lexical), lang=content.language, datatype=datatype, normalize=False)
