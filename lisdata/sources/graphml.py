"""GraphML read by networkx once it is known that there are no entities, and nothing that networkx would leave out."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from lisdata.sources.graph_forms import GraphError, fault_text, networkx_faults
from lisdata.sources.xml_text import decode_xml
from lisdata.sources.xml_tree import parse_xml

if TYPE_CHECKING:
    import networkx as nx

_NAMESPACE = "{http://graphml.graphdrawing.org/xmlns}"
_CHILDREN = {
    "graphml": ("key", "graph", "desc"),
    "key": ("default", "desc"),
    "graph": ("node", "edge", "data", "desc"),
    "node": ("data", "desc"),
    "edge": ("data", "desc"),
}
_REQUIRED = {"key": ("id", "attr.name"), "node": ("id",), "edge": ("source", "target"), "data": ("key",)}


def parse_graphml(data: bytes) -> nx.Graph:
    """Return the one graph of a document; XmlError for no XML or entities, GraphError for no such graph.

    Descriptions and comments are no part of the graph.
    """
    import networkx as nx

    document = decode_xml(data).data
    parse_xml(document)  # refuses what could refer to other files, or expand
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a key without a type is a string
            root = ElementTree.fromstring(document.decode())
            _check(root)
            graph: nx.Graph = nx.parse_graphml(document.decode(), edge_key_type=_edge_key)
    except ElementTree.ParseError as error:
        raise GraphError("a graph in GraphML", fault_text(error)) from error
    except networkx_faults() as error:
        if isinstance(error, GraphError):
            raise
        raise GraphError("a graph in GraphML", fault_text(error)) from error
    counts = Counter(_name(element) for element in root.iter())
    for name, found in (("node", graph.number_of_nodes()), ("edge", graph.number_of_edges())):
        if counts[name] != found:
            raise GraphError(f"each {name} declared once", f"{counts[name]} elements for {found} {name}s")
    return graph


def _check(root: ElementTree.Element) -> None:
    """Raise GraphError for what networkx would leave out without a word, or make something else of."""
    if _name(root) != "graphml":
        raise GraphError("an element graphml", _name(root))
    if sum(_name(child) == "graph" for child in root) != 1:
        raise GraphError("one graph", f"{sum(_name(child) == 'graph' for child in root)}")
    for element in root.iter():
        name = _name(element)
        missing = [attribute for attribute in _REQUIRED.get(name, ()) if attribute not in element.attrib]
        if missing:
            raise GraphError(f"a {name} with {missing[0]}", f"{element.attrib}")
        if name == "default" and not element.text:
            raise GraphError("a default with a text", "an empty one")
        allowed = _CHILDREN.get(name, ())
        for child in element:
            if _name(child) not in allowed:
                raise GraphError(f"{' or '.join(allowed) or 'text'} in a {name}", f"an element {_name(child)}")
        keys = Counter(child.get("key") for child in element if _name(child) == "data")
        again = [key for key, count in keys.items() if count > 1]
        if again:
            raise GraphError(f"each key once in a {name}", f"{again[0]!r} again")


def _name(element: ElementTree.Element) -> str:
    return element.tag.removeprefix(_NAMESPACE)


def _edge_key(text: str) -> int | str:
    """Return the number that an edge's id is, if it is written so, as the key of the edge."""
    return int(text) if text.isdecimal() and str(int(text)) == text else text
