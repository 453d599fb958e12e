"""Structures of a graph back to the networkx graph that they came from, equal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lisdata.contents import Content, decode_text
from lisdata.errors import SchemaError
from lisdata.schema import ContentKind
from lisdata.sources.graph_facts import (
    ATTR,
    ATTRS,
    EDGE,
    GRAPH,
    GRAPH_TYPES,
    KEY,
    MEMBER,
    NODE,
    SOURCE,
    TARGET,
    TYPE,
)
from lisdata.sources.json_contents import json_from_content
from lisdata.sources.python_values import from_json_value
from lisdata.structure import Structure

if TYPE_CHECKING:
    import networkx as nx


def structures_to_networkx(structures: Iterable[Structure]) -> nx.Graph:
    """Return the graph of structures that `structures_from_networkx` or source graph gave; SchemaError for others."""
    import networkx as nx

    graph: nx.Graph | None = None
    for structure in structures:
        label, roles = _read_structure(structure)
        if graph is None:
            if label != GRAPH or _json_of(roles[TYPE][0]) not in GRAPH_TYPES:
                raise SchemaError(f"{structure.record_id}: expected the structure of a graph first, found {label!r}")
            graph = getattr(nx, _json_of(roles[TYPE][0]))()
            graph.graph.update(_attributes(roles))
        elif label == NODE:
            graph.add_node(_node_of(roles[NODE][0]), **_attributes(roles))
        else:
            ends = [_node_of(c) for side in (SOURCE, TARGET, MEMBER) for c in roles.get(side, ())]
            key = (_json_of(roles[KEY][0]),) if KEY in roles else ()
            graph.add_edges_from([(*ends, *key, _attributes(roles))])
    if graph is None:
        raise SchemaError("expected the structures of a graph, found none")
    return graph


def _read_structure(structure: Structure) -> tuple[str, dict[str, list[Content]]]:
    """Return the label of the one instance, and its contents by side."""
    if len(structure.instances) != 1 or structure.instances[0].label not in (GRAPH, NODE, EDGE):
        raise SchemaError(f"{structure.record_id}: expected one graph, node or edge, found {structure.instances}")
    roles: dict[str, list[Content]] = {}
    for incidence in structure.incidences:
        roles.setdefault(incidence.role.side, []).append(structure.occurrences[incidence.occurrence].content)
    label = structure.instances[0].label
    num_ends = sum(len(roles.get(side, ())) for side in (SOURCE, TARGET, MEMBER))
    if (
        (label == NODE and NODE not in roles)
        or (label == GRAPH and TYPE not in roles)
        or (label == EDGE and num_ends != 2)
    ):
        raise SchemaError(f"{structure.record_id}: expected the roles of a {label}, found {', '.join(roles) or 'none'}")
    return label, roles


def _attributes(roles: dict[str, list[Content]]) -> dict[str, Any]:
    if ATTRS in roles:
        found: dict[str, Any] = _json_of(roles[ATTRS][0])
        return found
    return {side.removeprefix(ATTR): _json_of(c[0]) for side, c in roles.items() if side.startswith(ATTR)}


def _node_of(content: Content) -> Any:
    return decode_text(content.lexical) if content.kind == ContentKind.ENTITY else _json_of(content)


def _json_of(content: Content) -> Any:
    """Return the Python value that a content of JSON stands for; SchemaError for another kind."""
    try:
        return from_json_value(json_from_content(content.kind, content.lexical))
    except ValueError as error:
        raise SchemaError(f"expected a value of JSON, found {content}") from error
