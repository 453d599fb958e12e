"""HIF documents and hypergraphs of XGI and HyperNetX as structures, and back; by the model of HIF, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import xxhash

from lisdata.converters.facts import FACTS, FactOptions
from lisdata.errors import SchemaError
from lisdata.exporters.hif import structures_to_hif
from lisdata.inputs import InputFile
from lisdata.sources.hif import facts_from_hif
from lisdata.sources.hif_layout import HifOptions
from lisdata.sources.json_text import JsonTextError, write_json
from lisdata.sources.python_values import from_json_value, to_json_value
from lisdata.structure import Structure, StructureReader

if TYPE_CHECKING:
    import hypernetx
    import xgi

# Attributes of edges and incidences stay attributes: objects have no words for labels and roles.
_OPTIONS = HifOptions(role_attr="", label_attr="")


def structures_from_hif(document: Mapping[str, Any], *, name: str = "hypergraph") -> tuple[Structure, ...]:
    """Return the structures of a HIF document made of Python values, as source hif makes them of a file.

    ValueError for a value that JSON has no exact form for (nan, a tuple), SchemaError for what is no HIF.
    """
    data = write_json(to_json_value(dict(document), name)).encode()
    digest = xxhash.xxh3_64_hexdigest(data)
    file = InputFile(
        index=0, path="", name=name, size=len(data), digest=digest, scope=digest, compression=None
    )  # fmt: skip
    try:
        records = facts_from_hif(data, file, _OPTIONS)
    except JsonTextError as error:
        raise SchemaError(f"{name}: expected {error.expected}, found {error.found}") from error
    batch = FACTS.convert(records, FactOptions())
    reader = StructureReader(batch.contents, batch.labels)
    return tuple(reader.read(batch.structures, row) for row in range(batch.structures.num_rows))


def hif_from_structures(structures: Iterable[Structure]) -> dict[str, Any]:
    """Return the HIF document of structures that `structures_from_hif` or source hif gave, as Python values."""
    document: dict[str, Any] = from_json_value(structures_to_hif(iter(structures), _OPTIONS))
    return document


def structures_from_xgi(
    hypergraph: xgi.Hypergraph | xgi.DiHypergraph | xgi.SimplicialComplex, *, name: str = "hypergraph"
) -> tuple[Structure, ...]:
    """Return the structures of an XGI network: its nodes, edges (empty ones too), attributes and ids of int or str."""
    import xgi

    library: Any = xgi
    document = dict(library.to_hif_dict(hypergraph))
    document["nodes"] = [_with_attributes({"node": node}, dict(hypergraph.nodes[node])) for node in hypergraph.nodes]
    document["edges"] = [_with_attributes({"edge": edge}, dict(hypergraph.edges[edge])) for edge in hypergraph.edges]
    document["incidences"] = [dict(incidence) for incidence in document["incidences"]]
    return structures_from_hif(document, name=name)


def xgi_from_structures(
    structures: Iterable[Structure],
) -> xgi.Hypergraph | xgi.DiHypergraph | xgi.SimplicialComplex:
    """Undo `structures_from_xgi`; weights and attributes of incidences have no place in XGI and raise SchemaError."""
    import xgi

    library: Any = xgi
    document = hif_from_structures(structures)
    for entry in document.get("incidences", ()):
        if "weight" in entry or "attrs" in entry:
            raise SchemaError(
                f"expected incidences without weights and attributes, which XGI has none of, found {entry}"
            )
    if document.get("network-type") != "asc":
        network: xgi.Hypergraph | xgi.DiHypergraph = library.from_hif_dict(document)
        return network
    complex_ = library.SimplicialComplex(**document.get("metadata", {}))
    members: dict[Any, list[Any]] = {entry["edge"]: [] for entry in document.get("edges", ())}
    for entry in document["incidences"]:
        members.setdefault(entry["edge"], []).append(entry["node"])
    attributes = {entry["edge"]: entry.get("attrs", {}) for entry in document.get("edges", ())}
    for entry in document.get("nodes", ()):
        complex_.add_node(entry["node"], **entry.get("attrs", {}))
    faces_first = sorted(members, key=lambda edge: len(members[edge]))  # so that each face keeps its own id
    complex_.add_simplices_from([(members[edge], edge, attributes.get(edge, {})) for edge in faces_first])
    found: xgi.SimplicialComplex = complex_
    return found


def _with_attributes(entry: dict[str, Any], attributes: dict[str, Any]) -> dict[str, Any]:
    return entry | {"attrs": attributes} if attributes else entry


def structures_from_hypernetx(hypergraph: hypernetx.Hypergraph, *, name: str = "hypergraph") -> tuple[Structure, ...]:
    """Return the structures of a HyperNetX hypergraph: nodes, edges and incidences with weights and properties.

    Nodes and edges without incidences are those that have properties of their own.
    """
    document: dict[str, Any] = {}
    for array, view in (
        ("nodes", hypergraph.nodes),
        ("edges", hypergraph.edges),
        ("incidences", hypergraph.incidences),
    ):
        store = view.property_store
        names = dict.fromkeys([*view, *store.properties.index])
        document[array] = [_hypernetx_entry(array, name, store.get_properties(name)) for name in names]
    return structures_from_hif(document, name=name)


def hypernetx_from_structures(structures: Iterable[Structure]) -> hypernetx.Hypergraph:
    """Undo `structures_from_hypernetx`; the same types come back where HyperNetX keeps them (it stores data frames)."""
    import hypernetx

    document = hif_from_structures(structures)
    members: dict[Any, dict[Any, dict[str, Any]]] = {}
    for entry in document["incidences"]:
        members.setdefault(entry["edge"], {})[entry["node"]] = _properties(entry)
    nodes, edges = (
        {entry[kind]: _properties(entry) for entry in document.get(f"{kind}s", ())} for kind in ("node", "edge")
    )
    return hypernetx.Hypergraph(members, node_properties=nodes or None, edge_properties=edges or None)


def _hypernetx_entry(array: str, name: Any, properties: Mapping[str, Any]) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        key: value for key, value in properties.items() if key not in ("weight", "misc_properties")
    }
    entry: dict[str, Any] = {"edge": name[0], "node": name[1]} if array == "incidences" else {array[:-1]: name}
    entry["weight"] = properties["weight"]
    return _with_attributes(entry, attributes)


def _properties(entry: Mapping[str, Any]) -> dict[str, Any]:
    weight: dict[str, Any] = {"weight": entry["weight"]} if "weight" in entry else {}
    attributes: dict[str, Any] = entry.get("attrs", {})
    return weight | attributes
