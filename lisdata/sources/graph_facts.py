"""A networkx graph as facts: one of the graph itself, one a node, one an edge, with attributes as further roles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lisdata.contents import Content, encode_text
from lisdata.schema import ContentKind
from lisdata.sources.json_contents import is_side, json_to_content
from lisdata.sources.python_values import to_json_value

if TYPE_CHECKING:
    import networkx as nx

GRAPH, NODE, EDGE = "graph", "node", "edge"
TYPE, SOURCE, TARGET, MEMBER, KEY = "type", "source", "target", "member", "key"
EDGES_NAME = "edges-name"
"""Side of how a file in node-link JSON calls its edges, where not "edges"; no part of the graph."""
ATTR, ATTRS = "attr:", "attrs"
GRAPH_TYPES = ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph")


@dataclass(frozen=True, slots=True)
class GraphFact:
    """A fact called graph, node or edge; its participants are (side, position, content)."""

    label: str
    participants: tuple[tuple[str, int, Content], ...]


def iter_graph_facts(graph: nx.Graph) -> Iterator[GraphFact]:
    """Yield the facts of a graph in its order; ValueError for what could not come back exactly.

    A node is an entity when it is a str, else the number or truth value that it is.
    """
    kind = type(graph).__name__
    if kind not in GRAPH_TYPES:
        raise ValueError(f"expected one of {', '.join(GRAPH_TYPES)}, got a {kind}")
    about = (TYPE, 0, _value(kind, "the graph's type"))
    yield GraphFact(GRAPH, (about, *_attribute_roles(graph.graph, "the graph")))
    nodes: dict[Any, Content] = {}
    for node, attributes in graph.nodes(data=True):
        nodes[node] = _node(node)
        yield GraphFact(NODE, ((NODE, 0, nodes[node]), *_attribute_roles(attributes, f"node {_shown(node)}")))
    sides = ((SOURCE, 0), (TARGET, 0)) if graph.is_directed() else ((MEMBER, 0), (MEMBER, 1))
    keys = {"keys": True} if graph.is_multigraph() else {}
    for source, target, *key, attributes in graph.edges(data=True, **keys):
        what = f"edge {_shown((source, target, *key))}"
        participants = [(*side, nodes[end]) for side, end in zip(sides, (source, target), strict=True)]
        participants += [(KEY, 0, _value(one, f"the key of {what}")) for one in key]
        yield GraphFact(EDGE, (*participants, *_attribute_roles(attributes, what)))


def _attribute_roles(attributes: Mapping[Any, Any], what: str) -> Iterator[tuple[str, int, Content]]:
    """Yield attributes one by one, or as one JSON object where a name cannot stand in a role."""
    odd = next((name for name in attributes if type(name) is not str), None)
    if odd is not None:
        raise ValueError(f"{what}: expected attributes named by str, found {_shown(odd)}")
    if all(map(is_side, attributes)):
        for name, value in attributes.items():
            yield ATTR + name, 0, _value(value, f"attribute {name!r} of {what}")
    else:
        yield ATTRS, 0, _value(dict(attributes), f"attributes of {what}")


def _value(value: Any, what: str) -> Content:
    return Content(*json_to_content(to_json_value(value, what, allows_nan=True)))


def _node(node: Any) -> Content:
    if type(node) is str:
        return Content(ContentKind.ENTITY, encode_text(node))
    what = f"node {_shown(node)}"
    if node != node:  # each that comes back would be a node of its own
        raise ValueError(f"{what}: expected a node that is equal to itself, as nan is not")
    if isinstance(node, int | float):
        return _value(node, what)
    raise ValueError(f"{what}: expected a str, int, float or bool, found a {type(node).__name__}")


def _shown(value: Any) -> str:
    """Return a value as Python writes it, or what it is where it holds an integer that Python writes none of."""
    try:
        return repr(value)
    except ValueError:
        return f"(a large {type(value).__name__})"
