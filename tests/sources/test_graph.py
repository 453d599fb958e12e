from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from graph_reading import graph_content

from lisdata.converters.facts import FACTS, FactOptions
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.interop.networkx_graphs import networkx_from_structures, structures_from_networkx
from lisdata.registry import load_source
from lisdata.sources.graph import GRAPH
from lisdata.sources.graph_layout import GraphOptions
from lisdata.structure import Structure

GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}<graph edgedefault="directed">{}</graph></graphml>'


def stop(error: BadRecordError) -> None:
    raise error


def read(path: Path, **options: Any) -> list[Structure]:
    (file,) = find_inputs([str(path)], suffixes=GRAPH.suffixes)
    (records,) = GRAPH.read(InputSlice(file=file), GraphOptions(**options), stop)
    assert records.num_records == 1
    batch = FACTS.convert(records, FactOptions())
    return [Structure.from_arrow(batch, row) for row in range(batch.structures.num_rows)]


@pytest.fixture
def graph(tmp_path: Path) -> Any:
    def run(name: str, text: str | bytes, **options: Any) -> Any:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return networkx_from_structures(read(tmp_path / name, **options))

    return run


def test_it_is_registered() -> None:
    assert load_source("graph") is GRAPH


@pytest.mark.parametrize("name", ["harbour.gml", "ferries.graphml", "signals.edgelist", "channels.adjlist"])
def test_a_file_has_the_facts_that_its_networkx_graph_has(name: str, root: Path) -> None:
    found = read(root / "sample_data" / "graph" / name)

    expected = structures_from_networkx(networkx_from_structures(found))

    assert [(s.occurrences, s.incidences, s.instances[0].label) for s in found] == [
        (s.occurrences, s.incidences, s.instances[0].label) for s in expected
    ]
    assert [s.instances[0].ordinal for s in found] == list(range(len(found)))


def test_nodes_of_gml_are_called_by_their_labels_and_keep_ids_that_are_not_their_numbers(root: Path) -> None:
    found = networkx_from_structures(read(root / "sample_data/graph/harbour.gml"))

    assert dict(found.nodes(data=True)) == {
        "North Pier": {"id": 10, "depth": 4.5, "lamps": 2},
        "Fish Quay": {"id": 20, "depth": 3.0},
        "Slipway": {"id": 30},
    }
    assert found.graph == {"name": "berths of a harbour"}


@pytest.mark.parametrize("labels", [("a", "a"), (1, 2), (None, "b")])
def test_where_labels_do_not_tell_nodes_apart_ids_do(graph: Any, labels: tuple[Any, ...]) -> None:
    shown = ["" if x is None else f'label "{x}"' if isinstance(x, str) else f"label {x}" for x in labels]
    nodes = "".join(f"node [ id {7 + number} {text} ]\n" for number, text in enumerate(shown))

    assert set(graph("a.gml", f"graph [ {nodes} ]")) == {7, 8}


def test_line_ends_in_strings_of_gml_stay_and_comments_are_none_of_the_graph(graph: Any) -> None:
    text = 'Creator "a # hand"\n# it says "\ngraph [ node [ id 0 label "a" note "one\ntwo # three\r\n" ] ]'

    assert graph("a.gml", text).nodes["a"] == {"note": "one\ntwo # three\r\n"}


def test_parallel_edges_of_graphml_are_told_apart_by_their_ids(root: Path) -> None:
    found = networkx_from_structures(read(root / "sample_data/graph/ferries.graphml"))

    assert type(found) is nx.MultiDiGraph
    assert list(found.edges(keys=True, data=True)) == [
        ("Harwich", "Hook of Holland", "day", {"minutes": 420, "carries_cars": True}),
        ("Harwich", "Hook of Holland", "night", {"minutes": 540}),
    ]
    assert found.graph["node_default"] == {"country": "unknown"}


def test_ids_of_edges_that_only_look_like_numbers_stay_apart(graph: Any) -> None:
    edges = '<edge id="1" source="a" target="a"/><edge id="01" source="a" target="a"/>'

    found = graph("a.graphml", GRAPHML.format("", f'<node id="a"/>{edges}'))

    assert [key for *_, key in found.edges(keys=True)] == [1, "01"]


def test_lists_are_what_the_options_say(graph: Any) -> None:
    assert type(graph("a.edges", "a b\n\n# b a\n")) is nx.Graph
    assert graph("a.edges", "a b\nb a # again\n", directed=True).number_of_edges() == 2
    assert graph("a.edges", "a b\na b\n", multigraph=True).number_of_edges() == 2
    found = graph("a.txt", "a,3,b c\n", form="edgelist", delimiter=",", column=("what=str",))
    assert list(found.edges(data=True)) == [("a", "3", {"what": "b c"})]
    assert set(graph("a.adjlist", "\ufeffa b\r\nc\r\n")) == {"a", "b", "c"}


def test_a_compressed_file_is_known_by_the_name_inside(tmp_path: Path) -> None:
    import gzip

    (tmp_path / "a.GML.gz").write_bytes(gzip.compress(b"graph [ directed 1 ]"))

    assert graph_content(networkx_from_structures(read(tmp_path / "a.GML.gz"))) == graph_content(nx.DiGraph())


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.gml", "graph [\n node [ id 1 ]\n ?", {}, r":3:2: expected a graph in GML, found cannot tokenize \?"),
        ("a.gml", "graph 5", {}, "expected a graph in GML"),
        ("a.gml", 'graph [ x "()" ]', {}, "values that come back exactly, .* found a builtins.tuple"),
        ("a.edges", "a b\nc d 5\n", {}, ":2:1: expected an edge, .* Failed to convert edge data"),
        ("a.edges", "a b 5\na b 6 7\n", {"column": ("n=int",)}, ":2:1: expected an edge"),
        ("a.edges", "a b c\n", {"column": ("n=int",)}, ":1:1: expected an edge, .* Failed to convert"),
        ("a.edges", "a b {'x': (1, 2)}\n", {}, "values that come back exactly, .* found a builtins.tuple"),
        (
            "a.edges",
            "a b {'w': 1}\nc d {'w': 1, 'w': 2}\n",
            {},
            ":2:1: expected each attribute .* once, found 'w'",
        ),
        ("a.edges", "a b {'x': {1: 1, True: 2}}\n", {}, ":1:1: expected each attribute of an edge once, found True"),
        ("a.edges", "a b {'w': 1}\nc d {'w': [-1e999]}\n", {}, ":2:1: expected numbers that Python writes"),
        ("a.edges", "a b {'w': 1e999j}\n", {}, ":1:1: expected numbers that Python writes"),
        ("a.edges", "a b [('w', 1), ('w', 2)]\n", {}, ":1:1: expected attributes {'name': value, ...}"),
        ("a.edges", "a;b;{'x': 'c;d'}\n", {"delimiter": ";"}, "with the delimiter in no text"),
        ("a.edges", "a b {'x': 'c  d'}\n", {}, "with the delimiter in no text"),
        ("a.adjlist", "a b\nb c a\n", {}, ":2:1: expected each edge once .*, found again 'b c a'"),
        ("a.adjlist", "a b b\n", {}, ":1:1: expected each edge once"),
    ],
)
def test_what_is_no_graph_or_would_not_come_back_whole_is_refused(
    graph: Any, name: str, text: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadRecordError, match=message):
        graph(name, text, **options)


@pytest.mark.parametrize(
    ("keys", "inner", "message"),
    [
        ("", '<node id="a"/><node id="a"/>', "each node declared once, found 2 elements for 1 nodes"),
        ("", '<node id="a"/><edge source="a" target="b"/>', "each node declared once, found 1 elements for 2 nodes"),
        ("", '<node id="a"><graph edgedefault="directed"/></node>', "data or desc in a node, found an element graph"),
        ("", '<node id="a"><port name="p"/></node>', "data or desc in a node, found an element port"),
        ("", '<node id="a"><data key="k"/></node>', "a graph in GraphML, found 'Bad GraphML data: no key k'|no key k"),
        ("", "<node/>", "a node with id"),
        ('<key id="k" for="node" attr.name="n" attr.type="int"/>', '<node id="a"><data key="k">x</data></node>', "int"),
        ('<key id="k" for="node" attr.name="n"><default/></key>', "", "a default with a text, found an empty one"),
        (
            '<key id="k" for="node" attr.name="n"/>',
            '<node id="a"><data key="k">1</data><data key="k">2</data></node>',
            "each attribute of a node once, found 'n' again",
        ),
        (
            '<key id="k" for="node" attr.name="n"/>',
            '<node id="a"><data key="k"><shape/></data></node>',
            "text in a data, found an element shape",
        ),
        ("", '</graph><graph edgedefault="directed">', "one graph, found 2"),
        ("", '<edge source="a" target="a" directed="false"/>', "directed=false edge found in directed graph"),
        ("", "<node>", "the end tag of the open element"),
        ("", '<node id="a" foo="1"/>', "id as attributes of a node, found foo='1'"),
        ("", '<edge source="a" target="a" weight="3"/>', "as attributes of a edge, found weight='3'"),
        ("", '<edge id="" source="a" target="a"/>', "a value of id in a edge, found ''"),
        ("", '<edge source="a" target="a" directed="maybe"/>', "a value of directed in a edge, found 'maybe'"),
        ("", '<node id="a">text</node>', "data or desc in a node, found the text 'text'"),
        ("", '<node id="a"/>text', "node or edge or data or desc in a graph, found the text 'text'"),
        (
            '<key id="k" attr.name="y" attr.type="int"/><key id="l" attr.name="y"/>',
            '<node id="a"><data key="k">1</data><data key="l">two</data></node>',
            "each attribute of a node once, found 'y' again",
        ),
        (
            '<key id="k" attr.name="id"/>',
            '<node id="a"/><edge id="e1" source="a" target="a"><data key="k">x</data></edge>',
            "each attribute of an edge once, found data called id in the edge with id 'e1'",
        ),
        ('<key id="k" attr.name="x"/><key id="k" attr.name="y"/>', "", "keys of different ids, found 'k' again"),
        (
            '<key id="k" attr.name="x"><default>1</default></key>',
            "",
            "a default for node or edge, found one for None",
        ),
        (
            '<key id="k" for="node" attr.name="x"><default>1</default></key>'
            '<key id="l" for="node" attr.name="x"><default>2</default></key>',
            "",
            "one default for each attribute of a node, found 'x' again",
        ),
    ],
)
def test_what_networkx_would_leave_out_of_graphml_is_refused(graph: Any, keys: str, inner: str, message: str) -> None:
    with pytest.raises(BadRecordError, match=message):
        graph("a.graphml", GRAPHML.format(keys, inner))


def test_what_is_refused_in_graphml_is_found_by_line_and_column(graph: Any) -> None:
    text = GRAPHML.format("", '\n<node id="ä"/>\n  <node id="b" foo="1"/>')

    with pytest.raises(BadRecordError, match=r"a\.graphml:3:3: expected id as attributes of a node"):
        graph("a.graphml", text)
    with pytest.raises(BadRecordError) as caught:
        graph("a.graphml", text.encode("utf-16"))
    assert caught.value.place.offset == 2 + 2 * text.index('<node id="b"')


def test_the_id_of_a_graph_is_an_attribute_and_hints_for_parsers_are_none(graph: Any) -> None:
    inner = '<graph id="G" edgedefault="undirected" parse.nodes="1"><node id="a" parse.indegree="0"/></graph>'

    found = graph("a.graphml", f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{inner}</graphml>')

    assert found.graph == {"node_default": {}, "edge_default": {}, "id": "G"}
    assert dict(found.nodes(data=True)) == {"a": {}}


def test_parallel_edges_keep_an_attribute_called_id_beside_their_ids(graph: Any) -> None:
    edges = "".join(f'<edge id="{n}" source="a" target="a"><data key="k">x{n}</data></edge>' for n in range(2))

    found = graph("a.graphml", GRAPHML.format('<key id="k" attr.name="id"/>', f'<node id="a"/>{edges}'))

    assert list(found.edges(keys=True, data="id")) == [("a", "a", 0, "x0"), ("a", "a", 1, "x1")]


def test_other_documents_are_no_graphml(graph: Any) -> None:
    with pytest.raises(BadRecordError, match="expected an element graphml, found html"):
        graph("a.graphml", "<html/>")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_document_bytes": 0}, "at least 1 byte"),
        ({"delimiter": ""}, "a delimiter of at least one character"),
        ({"column": ("n",)}, "expected a column NAME=TYPE"),
        ({"column": ("n=date",)}, "TYPE one of str, int, float"),
        ({"column": ("n=int", "n=str")}, "columns of different names"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GraphOptions(**options)


def test_a_graph_is_never_cut(tmp_path: Path) -> None:
    (tmp_path / "a.gml").write_bytes(b"graph [ ]")
    (file,) = find_inputs([str(tmp_path / "a.gml")], suffixes=GRAPH.suffixes)

    with pytest.raises(ValueError, match="no cut near byte 3"):
        GRAPH.find_cut(InputSlice(file=file), 3, GraphOptions())


@pytest.mark.parametrize("scope", ["node", "edge"])
def test_an_attribute_of_a_graphml_graph_that_stands_where_defaults_do_is_refused(graph: Any, scope: str) -> None:
    key = f'<key id="d" for="graph" attr.name="{scope}_default" attr.type="string"/>'

    with pytest.raises(BadRecordError, match=f"no attribute of the graph called {scope}_default"):
        graph("a.graphml", GRAPHML.format(key, '<data key="d">x</data><node id="a"/>'))


NODES = '{"directed": false, "multigraph": false, "graph": {}, "nodes": [{"id": "a"}, {"id": 2}], '


@pytest.mark.parametrize("name", ["edges", "links"])
def test_node_link_json_is_the_graph_that_networkx_reads(graph: Any, name: str) -> None:
    made = nx.MultiDiGraph(made="here", parts=[1, None, {"x": True}])
    made.add_node("alone", size=2.0)
    made.add_edges_from([("a", 7, "k", {"weight": 1}), ("a", 7, "l", {}), (7, "a", 0, {"key_of": "x"})])
    text = json.dumps(nx.node_link_data(made, edges=name))

    assert graph_content(graph("a.json", text)) == graph_content(nx.node_link_graph(json.loads(text), edges=name))


def test_node_link_json_that_says_no_type_is_what_networkx_takes_it_for(graph: Any) -> None:
    text = '\ufeff{"nodes": [{"id": "a"}], "links": [{"source": "a", "target": "a"}, {"source": "a", "target": "a"}]}'

    found = graph("a.json", text)

    assert (type(found).__name__, list(found.edges(keys=True))) == ("MultiGraph", [("a", "a", 0), ("a", "a", 1)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", r"1:1: expected an object with nodes and edges, found \[\]"),
        ('{"nodes": []}', r"1:1: expected nodes and either edges or links"),
        ('{"nodes": [], "edges": [], "links": []}', r"expected nodes and either edges or links"),
        ('{"nodes": [],\n "x": 1, "edges": []}', r"2:7: expected no member but directed"),
        ('{"nodes": {}, "edges": []}', r"1:11: expected an array, found \{\}"),
        ('{"directed": 1, "nodes": [], "edges": []}', r"1:14: expected true or false, found 1"),
        (NODES + '"edges": [{"source": "a"}]}', r"expected an object with target"),
        (NODES + '"edges": [7]}', r"expected an object with source, found 7"),
        (NODES + '"links": [{"source": "a", "target": 0}]}', r"expected the id of a node that nodes has, found 0"),
        (
            NODES + '"links": [{"source": "a", "target": 2}, {"source": 2, "target": "a"}]}',
            r"1:\d+: expected each edge once .*, found",
        ),
        ('{"nodes": [{"id": 1}, {"id": 1.0}], "edges": []}', r"expected each node once, found 1.0"),
        ('{"nodes": [{"name": "a"}], "edges": []}', r"expected an object with id"),
        ('{"nodes": [{"id": [1, 2]}], "edges": []}', r"expected a string, a number, true or false, found \[1, 2\]"),
        (
            '{"nodes": [{"id": 1}], "edges": [' + ", ".join(['{"source": 1, "target": 1, "key": 3}'] * 2) + "]}",
            r"expected each edge once \(or multigraph, and other keys\)",
        ),
        ('{"nodes": [], "nodes": [], "edges": []}', r"1:24: expected each member once"),
        ('{"nodes": [{"id": NaN}], "edges": []}', r"1:19: expected JSON, found"),
        ('{"nodes": [{"id": 1, "x": ' + "[" * 400 + "]" * 400 + '}], "edges": []}', r"expected"),
    ],
)
def test_what_is_no_node_link_graph_is_refused_with_its_place(graph: Any, text: str, message: str) -> None:
    with pytest.raises(BadRecordError, match=message):
        graph("a.json", text)
