"""networkx graphs (Graph, DiGraph, MultiGraph, MultiDiGraph) as structures, and back, equal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lisdata.contents import Role
from lisdata.exporters.graph_objects import structures_to_networkx
from lisdata.schema import StructureKind
from lisdata.sources.graph_facts import GraphFact, iter_graph_facts
from lisdata.structure import Incidence, Instance, Occurrence, Structure

if TYPE_CHECKING:
    import networkx as nx


def structures_from_networkx(graph: nx.Graph, *, name: str = "graph") -> tuple[Structure, ...]:
    """Return the structures of a graph: one of the graph itself, one a node, one an edge.

    A node is an entity when it is a str, else the number or truth value that it is; an edge has its ends in roles
    edge#source and edge#target, or edge#member twice where it has no direction, its key in edge#key. Attributes are
    roles attr:NAME. Record ids are `name`#number. `lisdata.write_structures` and `Structure.to_arrow` take the result.
    ValueError names a node, key or attribute whose type could not come back exactly (a tuple, a NumPy scalar).
    """
    return tuple(_to_structure(f"{name}#{number}", fact) for number, fact in enumerate(iter_graph_facts(graph)))


def networkx_from_structures(structures: Iterable[Structure]) -> nx.Graph:
    """Undo `structures_from_networkx`, also from `IncidenceDataset.iter_structures()`.

    SchemaError for structures that no graph gave.
    """
    return structures_to_networkx(structures)


def _to_structure(record_id: str, fact: GraphFact) -> Structure:
    return Structure(
        record_id=record_id,
        kind=StructureKind.HYPEREDGES,
        occurrences=tuple(Occurrence(content=content) for _, _, content in fact.participants),
        instances=(Instance(label=fact.label),),
        incidences=tuple(
            Incidence(occurrence=number, instance=0, role=Role(fact.label, side), position=position)
            for number, (side, position, _) in enumerate(fact.participants)
        ),
    )
