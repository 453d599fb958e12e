"""Node-link JSON, as networkx, D3 and others write graphs; what networkx would leave out or make up is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lisdata.sources.graph_forms import GraphError
from lisdata.sources.json_text import JsonPath, JsonTextError, NumberText, locate, read_json, write_json
from lisdata.sources.python_values import from_json_value

if TYPE_CHECKING:
    import networkx as nx

NODES, EDGES, LINKS = "nodes", "edges", "links"
_MEMBERS = ("directed", "multigraph", "graph", NODES, EDGES, LINKS)
_SHOWN = 60


class _WrongValueError(ValueError):
    """The value at `path` is not what a graph has there."""

    def __init__(self, path: JsonPath, expected: str, value: Any) -> None:
        text = write_json(value)
        self.path, self.expected = path, expected
        self.found = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        super().__init__(f"expected {expected}, found {self.found}")


def parse_node_link(data: bytes) -> tuple[nx.Graph, str]:
    """Return the graph, and the name ("edges" or "links") of the member that has its edges.

    UnicodeDecodeError for no UTF-8, GraphError for no graph. A graph that does not say so is not directed, and has keys
    of edges, as in networkx.
    """
    text = data.decode()
    body = text.removeprefix("\ufeff")
    shift = len(text) - len(body)
    try:
        document = read_json(body)
        try:
            return _read_graph(document)
        except _WrongValueError as error:
            at = locate(body, error.path) + shift
            raise GraphError(error.expected, error.found, at=at) from error
    except JsonTextError as error:
        raise GraphError(error.expected, error.found, at=error.offset + shift) from error
    except RecursionError as error:
        raise GraphError("JSON of fewer levels", "values too deep in each other to be kept") from error


def _read_graph(document: Any) -> tuple[nx.Graph, str]:
    import networkx as nx

    if not isinstance(document, dict):
        raise _WrongValueError((), "an object with nodes and edges", document)
    odd = next((name for name in document if name not in _MEMBERS), None)
    if odd is not None:
        raise _WrongValueError((odd,), f"no member but {', '.join(_MEMBERS)}", odd)
    named = [name for name in (EDGES, LINKS) if name in document]
    if len(named) != 1 or NODES not in document:
        raise _WrongValueError((), "nodes and either edges or links", [*document])
    for name, kind in (("directed", bool), ("multigraph", bool), ("graph", dict), (NODES, list), (named[0], list)):
        if not isinstance(document.get(name, kind()), kind):
            expected = {bool: "true or false", dict: "an object", list: "an array"}[kind]
            raise _WrongValueError((name,), expected, document[name])
    is_multi = document.get("multigraph", True)
    kind_name = f"{'Multi' if is_multi else ''}{'Di' if document.get('directed', False) else ''}Graph"
    graph: nx.Graph = getattr(nx, kind_name)()
    graph.graph.update(from_json_value(document.get("graph", {})))
    for number, node in enumerate(document[NODES]):
        _add_node(graph, node, (NODES, number))
    for number, edge in enumerate(document[named[0]]):
        _add_edge(graph, edge, (named[0], number), is_multi=is_multi)
    return graph, named[0]


def _add_node(graph: nx.Graph, node: Any, path: JsonPath) -> None:
    name = _name(node, "id", path)
    if name in graph:
        raise _WrongValueError((*path, "id"), "each node once", node["id"])
    attributes = {key: from_json_value(value) for key, value in node.items() if key != "id"}
    graph.add_nodes_from([(name, attributes)])


def _add_edge(graph: nx.Graph, edge: Any, path: JsonPath, *, is_multi: bool) -> None:
    ends = []
    for side in ("source", "target"):
        end = _name(edge, side, path)
        if end not in graph:
            raise _WrongValueError((*path, side), "the id of a node that nodes has", edge[side])
        ends.append(end)
    key: tuple[Any, ...] = ()
    if is_multi and edge.get("key") is not None:
        key = (_name(edge, "key", path),)
    if graph.has_edge(*ends, *key) and (key or not is_multi):
        raise _WrongValueError(path, "each edge once (or multigraph, and other keys)", edge)
    own = ("source", "target", "key") if is_multi else ("source", "target")
    attributes = {name: from_json_value(value) for name, value in edge.items() if name not in own}
    if is_multi and not key:
        key = (graph.new_edge_key(*ends),)
    graph.add_edges_from([(*ends, *key, attributes)])


def _name(entry: Any, member: str, path: JsonPath) -> Any:
    """Return what a member of a node or an edge names: a string, a number or a truth value."""
    if not isinstance(entry, dict) or member not in entry:
        raise _WrongValueError(path, f"an object with {member}", entry)
    value = entry[member]
    if not isinstance(value, str | bool):
        raise _WrongValueError((*path, member), "a string, a number, true or false", value)
    return from_json_value(value) if isinstance(value, NumberText) else value
