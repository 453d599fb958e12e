from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.utils import graphs_equal

from lisdata.errors import SchemaError
from lisdata.interop.networkx_graphs import networkx_from_structures, structures_from_networkx
from lisdata.shards import IncidenceDataset, write_structures
from lisdata.structure import Structure

NODES = (
    st.sampled_from(["a", "2", "", "é", "\ud800"]) | st.integers(-3, 3) | st.just(2**70) | st.sampled_from([0.5, -0.0])
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS.filter(lambda v: v not in (math.inf, -math.inf)),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["weight", "a#b", "x", "\ud800", "attr:x", "node", ""]), VALUES, max_size=3
)


@st.composite
def graphs(draw: st.DrawFn) -> Any:
    graph = draw(st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]))()
    graph.graph.update(draw(ATTRIBUTES))
    graph.add_nodes_from(draw(st.lists(st.tuples(NODES, ATTRIBUTES), max_size=5)))
    for source, target, attributes in draw(st.lists(st.tuples(NODES, NODES, ATTRIBUTES), max_size=8)):
        keys = draw(st.sampled_from([None, 0, 3, "k", 1.5])) if graph.is_multigraph() else None
        graph.add_edges_from([(source, target, attributes) if keys is None else (source, target, keys, attributes)])
    return graph


def exact(graph: Any) -> Any:
    """All that a graph says, types and order of nodes included."""
    keys = {"keys": True} if graph.is_multigraph() else {}
    nodes = [(repr(n), repr(d)) for n, d in graph.nodes(data=True)]
    return type(graph), repr(graph.graph), nodes, sorted(repr(e) for e in graph.edges(data=True, **keys))


@settings(max_examples=60, deadline=None)
@given(graph=graphs())
def test_any_graph_comes_back_equal_with_its_types(graph: Any) -> None:
    structures = structures_from_networkx(graph)

    found = networkx_from_structures(structures)

    assert graphs_equal(found, graph)
    assert exact(found)[:3] == exact(graph)[:3]


def test_a_graph_goes_through_a_dataset(tmp_path: Path) -> None:
    graph = nx.MultiDiGraph(name="tea", year=2026)
    graph.add_node("alone", grams=0.1 + 0.2, is_open=True, none=None)
    graph.add_edges_from([("a", "a", {"w": 1}), ("a", "b", "key", {"w": 1.0}), ("a", "b", 7, {}), (2, "2", {})])

    write_structures(tmp_path / "data", list(structures_from_networkx(graph)))
    found = networkx_from_structures(IncidenceDataset(tmp_path / "data", verify="full").iter_structures())

    assert graphs_equal(found, graph)
    assert exact(found) == exact(graph)


def test_a_graph_is_a_batch_too() -> None:
    graph = nx.path_graph(4)
    structures = structures_from_networkx(graph)
    batch = Structure.to_arrow(list(structures))

    found = networkx_from_structures(Structure.from_arrow(batch, row) for row in range(batch.structures.num_rows))

    assert graphs_equal(found, graph)


def test_infinity_and_nan_come_back() -> None:
    graph = nx.Graph()
    graph.add_node("a", most=math.inf, least=-math.inf, none=math.nan)

    found = networkx_from_structures(structures_from_networkx(graph)).nodes["a"]

    assert (found["most"], found["least"]) == (math.inf, -math.inf)
    assert math.isnan(found["none"])


def test_a_real_directed_graph_comes_back(shared: Path) -> None:
    graph = nx.read_edgelist(shared / "data/kg/graphs/hartford_drug.edgelist", create_using=nx.DiGraph)

    structures = structures_from_networkx(graph)

    assert graph.number_of_edges() == 337
    assert len(structures) == 1 + graph.number_of_nodes() + 337
    assert graphs_equal(networkx_from_structures(structures), graph)


def test_a_real_graph_with_attributes_comes_back(shared: Path) -> None:
    import zipfile

    with zipfile.ZipFile(shared / "data/kg/graphs/football.zip") as archive:
        lines = archive.read("football.gml").decode().split("\n")[1:]
    graph = nx.parse_gml(lines)

    assert graph.number_of_edges() == 613
    assert exact(networkx_from_structures(structures_from_networkx(graph))) == exact(graph)


@pytest.mark.parametrize(
    ("node", "attributes", "message"),
    [
        ((1, 2), {}, r"node \(1, 2\): expected a str, int, float or bool, found a tuple"),
        ("a", {"x": (1, 2)}, "attribute 'x' of node 'a': expected str, int, .* found a builtins.tuple"),
        ("a", {"x": np.float64(1)}, r"attribute 'x' of node 'a': .* found a numpy\.float64"),
        ("a", {"x": [math.nan]}, "attribute 'x' of node 'a': .* found nan"),
        ("a", {"x": {1: 2}}, "found a builtins.dict"),
        (np.int64(3), {}, r"node .*3.*: expected .*, found a int64"),
        (math.nan, {}, "node nan: expected a node that is equal to itself"),
        (10**5000, {}, r"node \(a large int\): expected an integer of at most 4300 digits, found one of 16610 bits"),
        ("a", {"x": [10**5000]}, "attribute 'x' of node 'a': expected an integer of at most 4300 digits"),
        ((10**5000,), {}, r"node \(a large tuple\): expected a str, int, float or bool, found a tuple"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_could_not_come_back_exactly_is_refused(node: Any, attributes: Any, message: str) -> None:
    graph = nx.Graph()
    graph.add_node(node, **attributes)

    with pytest.raises(ValueError, match=message):
        structures_from_networkx(graph)


def test_an_integer_of_the_most_digits_comes_back() -> None:
    graph = nx.MultiGraph()
    graph.add_edge(10**4299, -(10**4299), key=10**4299, weight=10**4299)

    assert exact(networkx_from_structures(structures_from_networkx(graph))) == exact(graph)


def test_an_edge_of_large_integers_is_named_all_the_same() -> None:
    graph = nx.MultiGraph()
    graph.add_edge("a", "b", key=10**5000)

    with pytest.raises(ValueError, match=r"key of edge \(a large tuple\): expected an integer of at most 4300 digits"):
        structures_from_networkx(graph)


def test_an_attribute_that_is_too_deep_is_refused() -> None:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    graph = nx.Graph(deep=value)

    with pytest.raises(ValueError, match="attribute 'deep' of the graph: expected at most 200 levels"):
        structures_from_networkx(graph)


def test_other_keys_and_kinds_of_graphs_are_refused() -> None:
    keyed = nx.MultiGraph()
    keyed.add_edge("a", "b", key=("k",))

    with pytest.raises(ValueError, match=r"the key of edge \('a', 'b', \('k',\)\)"):
        structures_from_networkx(keyed)
    with pytest.raises(ValueError, match=r"expected one of Graph, DiGraph, .* got a PlanarEmbedding"):
        structures_from_networkx(nx.PlanarEmbedding())
    with pytest.raises(ValueError, match="expected attributes named by str, found 5"):
        structures_from_networkx(_named_by_number())


def _named_by_number() -> Any:
    graph = nx.Graph()
    graph.graph[5] = 1
    return graph


def test_structures_of_something_else_are_refused() -> None:
    structures = structures_from_networkx(nx.path_graph(2))

    with pytest.raises(SchemaError, match="expected the structure of a graph first, found 'node'"):
        networkx_from_structures(structures[1:])
    with pytest.raises(SchemaError, match="found none"):
        networkx_from_structures([])
