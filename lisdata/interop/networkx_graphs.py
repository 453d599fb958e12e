"""networkx graphs (Graph, DiGraph, MultiGraph, MultiDiGraph) as structures, and back, equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lisdata.contents import Content, Role, decode_text, encode_text
from lisdata.errors import SchemaError
from lisdata.interop.python_values import from_json_value, to_json_value
from lisdata.schema import ContentKind, StructureKind
from lisdata.sources.json_contents import is_side, json_from_content, json_to_content
from lisdata.structure import Incidence, Instance, Occurrence, Structure

if TYPE_CHECKING:
    import networkx as nx

GRAPH, NODE, EDGE = "graph", "node", "edge"
TYPE, SOURCE, TARGET, MEMBER, KEY = "type", "source", "target", "member", "key"
ATTR, ATTRS = "attr:", "attrs"
_TYPES = ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph")


def structures_from_networkx(graph: nx.Graph, *, name: str = "graph") -> tuple[Structure, ...]:
    """Return the structures of a graph: one of the graph itself, one a node, one an edge.

    A node is an entity when it is a str, else the number or truth value that it is; an edge has its ends in roles
    edge#source and edge#target, or edge#member twice where it has no direction, its key in edge#key. Attributes are
    roles attr:NAME. Record ids are `name`#number. `write_structures` and `Structure.to_arrow` take the result.
    ValueError names a node, key or attribute whose type could not come back exactly (a tuple, a NumPy scalar).
    """
    kind = type(graph).__name__
    if kind not in _TYPES:
        raise ValueError(f"expected one of {', '.join(_TYPES)}, got a {kind}")
    facts = list(_iter_facts(graph, kind))
    return tuple(_to_structure(f"{name}#{number}", *fact) for number, fact in enumerate(facts))


def networkx_from_structures(structures: Iterable[Structure]) -> nx.Graph:
    """Undo `structures_from_networkx`, also from `IncidenceDataset.iter_structures()`.

    SchemaError for structures that no graph gave.
    """
    import networkx as nx

    graph: nx.Graph | None = None
    for structure in structures:
        label, roles = _read_structure(structure)
        if graph is None:
            if label != GRAPH or json_of(roles[TYPE][0]) not in _TYPES:
                raise SchemaError(f"{structure.record_id}: expected the structure of a graph first, found {label!r}")
            graph = getattr(nx, json_of(roles[TYPE][0]))()
            graph.graph.update(_attributes(roles))
        elif label == NODE:
            graph.add_node(_node_of(roles[NODE][0]), **_attributes(roles))
        else:
            ends = [_node_of(c) for side in (SOURCE, TARGET, MEMBER) for c in roles.get(side, ())]
            key = (json_of(roles[KEY][0]),) if KEY in roles else ()
            graph.add_edges_from([(*ends, *key, _attributes(roles))])
    if graph is None:
        raise SchemaError("expected the structures of a graph, found none")
    return graph


Participant = tuple[str, int, Content]


def _iter_facts(graph: nx.Graph, kind: str) -> Iterator[tuple[str, list[Participant]]]:
    """Yield the label and the participants (side, position, content) of each fact of a graph."""
    yield GRAPH, [(TYPE, 0, _value(kind, "the graph's type")), *_attribute_roles(graph.graph, "the graph")]
    nodes: dict[Any, Content] = {}
    for node, attributes in graph.nodes(data=True):
        nodes[node] = _node(node)
        yield NODE, [(NODE, 0, nodes[node]), *_attribute_roles(attributes, f"node {node!r}")]
    sides = ((SOURCE, 0), (TARGET, 0)) if graph.is_directed() else ((MEMBER, 0), (MEMBER, 1))
    keys = {"keys": True} if graph.is_multigraph() else {}
    for source, target, *key, attributes in graph.edges(data=True, **keys):
        what = f"edge {(source, target, *key)!r}"
        participants = [(*side, nodes[end]) for side, end in zip(sides, (source, target), strict=True)]
        participants += [(KEY, 0, _value(one, f"the key of {what}")) for one in key]
        yield EDGE, [*participants, *_attribute_roles(attributes, what)]


def _attribute_roles(attributes: Mapping[Any, Any], what: str) -> Iterator[Participant]:
    """Yield attributes one by one, or as one JSON object where a name cannot stand in a role."""
    odd = next((name for name in attributes if type(name) is not str), None)
    if odd is not None:
        raise ValueError(f"{what}: expected attributes named by str, found {odd!r}")
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
    if isinstance(node, int | float):
        return _value(node, f"node {node!r}")
    raise ValueError(f"node {node!r}: expected a str, int, float or bool, found a {type(node).__name__}")


def _to_structure(record_id: str, label: str, participants: list[Participant]) -> Structure:
    return Structure(
        record_id=record_id,
        kind=StructureKind.HYPEREDGES,
        occurrences=tuple(Occurrence(content=content) for _, _, content in participants),
        instances=(Instance(label=label),),
        incidences=tuple(
            Incidence(occurrence=number, instance=0, role=Role(label, side), position=position)
            for number, (side, position, _) in enumerate(participants)
        ),
    )


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
        found: dict[str, Any] = json_of(roles[ATTRS][0])
        return found
    return {side.removeprefix(ATTR): json_of(c[0]) for side, c in roles.items() if side.startswith(ATTR)}


def _node_of(content: Content) -> Any:
    return decode_text(content.lexical) if content.kind == ContentKind.ENTITY else json_of(content)


def json_of(content: Content) -> Any:
    """Return the Python value that a content of JSON stands for; SchemaError for another kind."""
    try:
        return from_json_value(json_from_content(content.kind, content.lexical))
    except ValueError as error:
        raise SchemaError(f"expected a value of JSON, found {content}") from error
