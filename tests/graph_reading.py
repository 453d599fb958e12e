"""Graph files as networkx reads them, for comparison: all that a graph says, with types, whatever the order."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import networkx as nx


def read_with_networkx(data: bytes, form: str, graph_type: str = "Graph") -> Any:
    """Return the graph by networkx's own readers."""
    if form == "gml":
        return nx.read_gml(io.BytesIO(data))
    if form == "graphml":
        return nx.read_graphml(io.BytesIO(data))
    read = nx.read_edgelist if form == "edgelist" else nx.read_adjlist
    return read(io.BytesIO(data), create_using=getattr(nx, graph_type))


def graph_content(graph: Any) -> Any:
    """Return type, attributes, nodes and edges; which end of an edge without direction comes first does not matter."""
    is_multi = graph.is_multigraph()
    edges = graph.edges(data=True, keys=True) if is_multi else graph.edges(data=True)
    ends = (lambda a, b: (a, b)) if graph.is_directed() else (lambda a, b: tuple(sorted((a, b), key=repr)))
    return (
        type(graph).__name__,
        _text(graph.graph),
        {repr(node): _text(attributes) for node, attributes in graph.nodes(data=True)},
        Counter(repr((ends(a, b), *key)) + _text(attributes) for a, b, *key, attributes in edges),
    )


def _text(attributes: dict[str, Any]) -> str:
    """Return a mapping as text; the order of its names does not matter."""
    return repr(sorted(attributes.items()))
