from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from graph_reading import graph_content, read_with_networkx
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.datasets import export
from lisdata.errors import ExportError
from lisdata.exporters.graph import GRAPH
from lisdata.interop.networkx_graphs import structures_from_networkx
from lisdata.registry import load_exporter
from lisdata.shards import write_structures

TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=4) | st.sampled_from(
    ['a"b', "&amp;", "#", "[]x"]
)
NAMES = st.sampled_from(["a", "b", "é", "two words", "&", '"', "7"])
KEYS = st.sampled_from(["weight", "x_1", "Colour", "type"])
REALS = st.floats(allow_nan=False)
WHOLE = st.integers(-(2**31), 2**31 - 1)
GML_VALUES = REALS | st.recursive(
    WHOLE | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.dictionaries(KEYS, inner, max_size=2) | st.lists(WHOLE | TEXTS, max_size=3),
    max_leaves=3,
)
GRAPHML_VALUES = st.integers() | REALS | st.booleans() | TEXTS
LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=3,
).filter(lambda value: "#" not in repr(value))
CLASSES = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)


@st.composite
def graphs(draw: st.DrawFn, values: st.SearchStrategy[Any] | None, kinds: Any = CLASSES) -> Any:
    graph = draw(st.sampled_from(kinds))()
    attributes = st.just({}) if values is None else st.dictionaries(KEYS, values, max_size=2)
    graph.graph.update(draw(attributes))
    graph.add_nodes_from(draw(st.lists(st.tuples(NAMES, attributes), max_size=4)))
    for source, target, found in draw(st.lists(st.tuples(NAMES, NAMES, attributes), max_size=5)):
        graph.add_edges_from([(source, target, found)])
    return graph


def graphml(graph: Any) -> bytes:
    stream = io.BytesIO()
    nx.write_graphml_xml(graph, stream)
    return stream.getvalue()


def edge_list(graph: Any) -> bytes:
    return "".join(f"{line}\n" for line in nx.generate_edgelist(graph)).encode()


def test_it_is_registered() -> None:
    assert load_exporter("graph") is GRAPH


@settings(max_examples=15, deadline=None)
@given(found=st.lists(graphs(GML_VALUES), min_size=1, max_size=6))
def test_any_graph_that_networkx_writes_as_gml_comes_back(round_trip: Any, found: list[Any]) -> None:
    files = ["".join(f"{line}\n" for line in nx.generate_gml(graph)).encode() for graph in found]

    back, report = round_trip("graph", files, ".gml")

    assert [graph_content(read_with_networkx(data, "gml")) for data in back] == [
        graph_content(read_with_networkx(data, "gml")) for data in files
    ]
    assert report.losses == {}


@settings(max_examples=15, deadline=None)
@given(found=st.lists(graphs(GRAPHML_VALUES), min_size=1, max_size=6))
def test_any_graph_that_networkx_writes_as_graphml_comes_back(round_trip: Any, found: list[Any]) -> None:
    files = list(map(graphml, found))

    back, report = round_trip("graph", files, ".graphml")

    assert [graph_content(read_with_networkx(data, "graphml")) for data in back] == [
        graph_content(read_with_networkx(data, "graphml")) for data in files
    ]
    assert report.losses == {}


@settings(max_examples=15, deadline=None)
@given(
    edges=st.lists(
        st.tuples(st.sampled_from("abcé7"), st.sampled_from("abcé7"), st.dictionaries(KEYS, LITERALS, max_size=2)),
        max_size=6,
        unique_by=lambda edge: edge[:2],
    )
)
def test_any_list_of_edges_comes_back(round_trip: Any, edges: list[Any]) -> None:
    graph = nx.DiGraph()
    graph.add_edges_from(edges)

    (back,), report = round_trip("graph", [edge_list(graph)], ".edgelist", directed=True)

    assert graph_content(read_with_networkx(back, "edgelist", "DiGraph")) == graph_content(graph)
    assert report.losses == {}


@settings(max_examples=10, deadline=None)
@given(graph=graphs(None, (nx.Graph, nx.MultiDiGraph)))
def test_any_list_of_neighbours_comes_back(round_trip: Any, graph: Any) -> None:
    graph = nx.relabel_nodes(graph, {"two words": "two_words"})
    data = "".join(f"{line}\n" for line in nx.generate_adjlist(graph)).encode()
    kind = type(graph).__name__
    listed = {"directed": graph.is_directed(), "multigraph": graph.is_multigraph()}

    (back,), report = round_trip("graph", [data], ".adjlist", **listed)

    assert graph_content(read_with_networkx(back, "adjlist", kind)) == graph_content(graph)
    assert report.losses == {}


@settings(max_examples=20, deadline=None)
@given(found=st.lists(graphs(LITERALS), min_size=1, max_size=6), name=st.sampled_from(["edges", "links"]))
def test_any_graph_that_networkx_writes_as_node_link_json_comes_back_byte_for_byte(
    round_trip: Any, found: list[Any], name: str
) -> None:
    files = [json.dumps(nx.node_link_data(graph, edges=name)).encode() + b"\n" for graph in found]

    back, report = round_trip("graph", files, ".json")

    assert back == files
    assert report.losses == {}


def test_the_samples_come_back(round_trip: Any, root: Path) -> None:
    samples = sorted((root / "sample_data/graph").iterdir())

    assert len(samples) == 4
    for path in samples:
        form = path.suffix[1:]
        (back,), report = round_trip("graph", [path.read_bytes()], path.suffix)
        before, after = (read_with_networkx(data, form) for data in (path.read_bytes(), back))
        assert graph_content(after) == graph_content(before)
        assert report.losses == {}


def test_ids_and_whole_numbers_that_networkx_would_change_come_back(round_trip: Any) -> None:
    data = b'graph [\n  node [\n    id 70\n    label "a"\n    size 9007199254740993\n    note "two&#10;lines"\n  ]\n]\n'

    (back,), _ = round_trip("graph", [data], ".gml")

    assert back == data


def test_nodes_without_labels_keep_their_ids(round_trip: Any) -> None:
    data = b"graph [\n  directed 1\n  node [\n    id 5\n    label 7\n  ]\n  node [\n    id 3\n    label 7\n  ]\n]\n"

    (back,), _ = round_trip("graph", [data], ".gml")

    assert back == data


def test_defaults_that_no_node_uses_come_back(round_trip: Any) -> None:
    data = (
        b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="w" for="edge" attr.name="weight" '
        b'attr.type="double"><default>1.0</default></key><graph edgedefault="directed"><node id="a"/></graph></graphml>'
    )

    (back,), report = round_trip("graph", [data], ".graphml")

    assert read_with_networkx(back, "graphml").graph == {"node_default": {}, "edge_default": {"weight": 1.0}}
    assert report.losses == {}


def test_carriage_returns_in_graphml_come_back_as_references(round_trip: Any) -> None:
    data = (
        b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="k" for="node" attr.name="a&#13;b" '
        b'attr.type="string"/><graph edgedefault="directed"><node id="a&#13;">'
        b'<data key="k">x&#13;\ny&#13;</data></node></graph></graphml>'
    )

    (back,), report = round_trip("graph", [data], ".graphml")

    assert b"\r" not in back
    assert graph_content(read_with_networkx(back, "graphml")) == graph_content(read_with_networkx(data, "graphml"))
    assert report.losses == {}


def test_columns_of_an_edge_list_come_back(round_trip: Any) -> None:
    data = b"a,b,3,x y\nb,c,4,z\n"

    (back,), report = round_trip("graph", [data], ".edges", column=["n=int", "what=str"], delimiter=",")

    assert back == data
    assert report.losses == {}


def test_a_graph_made_in_memory_goes_into_the_form_of_the_name_and_what_that_cannot_hold_is_told(
    tmp_path: Path,
) -> None:
    graph = nx.DiGraph(made="here")
    graph.add_node("alone")
    graph.add_edge("a", "b", weight=1, none=None, parts=[1, 2])
    write_structures(tmp_path / "data", list(structures_from_networkx(graph)))

    losses = {}
    for name in ("a.gml", "a.graphml", "a.edgelist", "a.adjlist", "a.json"):
        (report,) = export(tmp_path / "data", tmp_path / name, format="graph")
        losses[name] = report.losses

    assert losses == {
        "a.gml": {"facts that gml cannot hold": 1},
        "a.graphml": {"facts that graphml cannot hold": 2},
        "a.edgelist": {"facts that edgelist cannot hold": 2},
        "a.adjlist": {"facts that adjlist cannot hold": 2},
        "a.json": {},
    }
    with pytest.raises(ExportError, match=r"expected a name that ends in \.gml"):
        export(tmp_path / "data", tmp_path / "a.net", format="graph")


def test_a_graph_that_cannot_be_read_again_is_refused(tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_node("a", text="\x00")
    write_structures(tmp_path / "data", list(structures_from_networkx(graph)))

    with pytest.raises(ExportError, match="the graph has no form in graphml"):
        export(tmp_path / "data", tmp_path / "a.graphml", format="graph")
    assert list(tmp_path.iterdir()) == [tmp_path / "data"]


def test_a_rejected_file_is_a_loss_and_not_written(round_trip: Any) -> None:
    found, report = round_trip("graph", [b"graph [", b"graph [ ]"], ".gml", on_error="skip")

    assert found == [b"graph [\n]\n"]
    assert report.losses == {"rejected records": 1}


def test_the_id_of_a_graph_comes_back(round_trip: Any) -> None:
    data = b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph id="G" edgedefault="directed"/></graphml>'

    (back,), report = round_trip("graph", [data], ".graphml")

    assert b'id="G"' in back
    assert report.losses == {}


def test_defaults_that_are_no_dict_have_no_form_in_graphml(tmp_path: Path) -> None:
    write_structures(tmp_path / "data", structures_from_networkx(nx.Graph(node_default="x")))

    with pytest.raises(ExportError, match="no form in graphml: its attribute node_default is no dict"):
        export(tmp_path / "data", tmp_path / "a.graphml", format="graph")


def test_an_attribute_called_as_the_name_of_a_node_has_no_place_in_node_link_json(tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_nodes_from([("a", {"id": 7})])
    write_structures(tmp_path / "data", structures_from_networkx(graph))

    (report,) = export(tmp_path / "data", tmp_path / "a.json", format="graph")

    assert report.losses == {"facts that node-link cannot hold": 1}
