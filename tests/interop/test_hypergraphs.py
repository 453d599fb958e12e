from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from lisdata.errors import SchemaError
from lisdata.interop.hypergraphs import (
    hif_from_structures,
    hypernetx_from_structures,
    structures_from_hif,
    structures_from_hypernetx,
    structures_from_xgi,
    xgi_from_structures,
)
from lisdata.shards import IncidenceDataset, write_structures


@pytest.mark.parametrize("folder", ["HIF-compliant", "data"])
def test_real_documents_come_back_equal_and_typed(shared: Path, folder: str) -> None:
    paths = sorted((shared / "data/kg/hif" / folder).glob("*.json"))
    assert paths

    for path in paths:
        document = json.loads(path.read_text())
        assert repr(hif_from_structures(structures_from_hif(document))) == repr(hif_in_order(document))


def hif_in_order(document: dict[str, Any]) -> dict[str, Any]:
    """The same document, members in the order that ours have."""
    entry = ("edge", "node", "weight", "direction", "attrs")
    found = {}
    for name in ("network-type", "metadata", "nodes", "edges", "incidences"):
        if name in document:
            value = document[name]
            found[name] = [{k: e[k] for k in entry if k in e} for e in value] if isinstance(value, list) else value
    return found


def test_documents_that_do_not_comply_are_refused(shared: Path) -> None:
    paths = sorted((shared / "data/kg/hif/HIF-non-compliant").glob("*.json"))
    assert len(paths) == 16

    for path in paths:
        with pytest.raises(SchemaError, match=f"{path.name}: expected .*, found"):
            structures_from_hif(json.loads(path.read_text()), name=path.name)


def test_a_document_with_what_json_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="found nan"):
        structures_from_hif({"incidences": [{"edge": 1, "node": 2, "weight": math.nan}]})


def test_a_document_goes_through_a_dataset(tmp_path: Path) -> None:
    document = {"incidences": [{"edge": 2, "node": "2"}, {"edge": "2", "node": 2, "attrs": {"role": "x"}}]}

    write_structures(tmp_path / "data", list(structures_from_hif(document)))

    assert hif_from_structures(IncidenceDataset(tmp_path / "data").iter_structures()) == document


# -- XGI -------------------------------------------------------------------------------------------------------------


def xgi_said(network: Any) -> Any:
    edges = {repr(e): network.edges.members(e) for e in network.edges}
    if type(network).__name__ == "DiHypergraph":
        edges = {repr(e): network.edges.dimembers(e) for e in network.edges}
    return (
        type(network).__name__,
        {repr(n): network.nodes[n] for n in network.nodes},
        edges,
        {repr(e): network.edges[e] for e in network.edges},
        dict(network._net_attr),
    )


def xgi_networks() -> list[Any]:
    xgi = pytest.importorskip("xgi")
    plain = xgi.Hypergraph(name="plain")
    plain.add_nodes_from([1, "1", ("é", {"size": 2.0})])
    plain.add_edge([1, "1"], idx="1", kind="x")
    plain.add_edge([1, "1"], idx=1)
    plain.add_edge([], idx="empty")
    directed = xgi.DiHypergraph()
    directed.add_node("alone", c=None)
    directed.add_edge(([1, 2], [2, 3]), idx=0, w=1.5)
    directed.add_edge(([], [3]), idx="half")
    simplicial = xgi.SimplicialComplex([[1, 2, 3], [3, 4]])
    simplicial.add_node(9, free=True)
    return [plain, directed, simplicial, xgi.Hypergraph(), xgi.DiHypergraph(), xgi.SimplicialComplex()]


def test_xgi_networks_come_back_equal() -> None:
    for network in xgi_networks():
        assert xgi_said(xgi_from_structures(structures_from_xgi(network))) == xgi_said(network)


def test_weights_of_incidences_are_not_lost_in_xgi_without_a_word() -> None:
    pytest.importorskip("xgi")
    structures = structures_from_hif({"incidences": [{"edge": 1, "node": 2, "weight": 3}]})

    with pytest.raises(SchemaError, match="weights and attributes, which XGI has none of"):
        xgi_from_structures(structures)


# -- HyperNetX -------------------------------------------------------------------------------------------------------


def test_a_hypernetx_hypergraph_comes_back() -> None:
    hypernetx = pytest.importorskip("hypernetx")
    hypergraph = hypernetx.Hypergraph(
        {"e1": {7: {"weight": 0.5, "k": [1]}, "x": {}}, "e2": {7: {}}},
        node_properties={7: {"weight": 2, "a": True, "n": None}, "isolated": {"c": 1}},
        edge_properties={"e1": {"weight": 3.5, "b": "q"}, "empty": {"z": 1}},
    )

    structures = structures_from_hypernetx(hypergraph, name="h")
    document = hif_from_structures(structures)
    found = hypernetx_from_structures(structures)

    assert {"node": 7, "weight": 2, "attrs": {"a": True, "n": None}} in document["nodes"]
    assert {"node": "isolated", "weight": 1, "attrs": {"c": 1}} in document["nodes"]
    assert {"edge": "empty", "weight": 1.0, "attrs": {"z": 1}} in document["edges"]
    assert {"edge": "e1", "node": 7, "weight": 0.5, "attrs": {"k": [1]}} in document["incidences"]
    assert hif_from_structures(structures_from_hypernetx(found, name="h")) == document
