"""GraphML read by networkx once it is known that there are no entities, and nothing that networkx would leave out."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from lisdata.sources.graph_forms import GraphError, fault_text, networkx_faults
from lisdata.sources.xml_text import XmlError, decode_xml
from lisdata.sources.xml_tree import XmlReader

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
_ATTRIBUTES = {
    "key": ("id", "for", "attr.name", "attr.type"),
    "graph": ("id", "edgedefault"),
    "node": ("id",),
    "edge": ("id", "source", "target", "directed"),
    "data": ("key",),
}
_SCHEMA = "{http://www.w3.org/2001/XMLSchema-instance}schemaLocation"
_VALUES = {"edgedefault": ("directed", "undirected"), "directed": ("true", "false")}
_SHOWN = 80
_DEFAULTS = ("node_default", "edge_default")
_REQUIRED = {"key": ("id", "attr.name"), "node": ("id",), "edge": ("source", "target"), "data": ("key",)}


class _ElementError(GraphError):
    """An element says what the graph would not hold."""

    def __init__(self, element: ElementTree.Element, expected: str, found: str) -> None:
        self.element = element
        super().__init__(expected, found)


class _Starts(XmlReader):
    """Notes the bytes where elements begin, in the order of the document."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        super().__init__()

    def opened(self, number: int, name: str) -> None:
        """Note where an element begins."""
        self.starts.append(self.at)


def parse_graphml(data: bytes) -> nx.Graph:
    """Return the one graph of a document; XmlError for no XML, entities, or an element that says more than the graph
    would hold, GraphError for no such graph.

    Descriptions, comments and hints for parsers (attributes parse.nodes and so on) are no part of the graph; its id is
    an attribute of it.
    """
    text, reader = decode_xml(data), _Starts()
    reader.feed(text.data, final=True)  # refuses what could refer to other files, or expand
    document = text.data.decode()
    try:
        root = ElementTree.fromstring(document)
        return _to_graph(document, root)
    except _ElementError as error:
        places = dict(zip(root.iter(), reader.starts, strict=True))
        raise XmlError(text.offset(places[error.element]), error.expected, error.found) from error
    except GraphError:
        raise
    except ElementTree.ParseError as error:
        raise GraphError("a graph in GraphML", fault_text(error)) from error
    except networkx_faults() as error:
        raise GraphError("a graph in GraphML", fault_text(error)) from error


def _to_graph(document: str, root: ElementTree.Element) -> nx.Graph:
    import networkx as nx

    _check(root)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a key without a type is a string
        graph: nx.Graph = nx.parse_graphml(document, edge_key_type=_edge_key)
    counts = Counter(_name(element) for element in root.iter())
    for name, found in (("node", graph.number_of_nodes()), ("edge", graph.number_of_edges())):
        if counts[name] != found:
            raise GraphError(f"each {name} declared once", f"{counts[name]} elements for {found} {name}s")
    _keep_ids(root, graph)
    return graph


def _check(root: ElementTree.Element) -> None:
    """Raise GraphError for what networkx would leave out without a word, or make something else of."""
    if _name(root) != "graphml":
        raise _ElementError(root, "an element graphml", _name(root))
    if sum(_name(child) == "graph" for child in root) != 1:
        raise _ElementError(root, "one graph", f"{sum(_name(child) == 'graph' for child in root)}")
    keys = _find_keys(root)
    for element in root.iter():
        _check_attributes(element)
        _check_inside(element)
        _check_data(element, keys)


def _find_keys(root: ElementTree.Element) -> dict[str | None, str]:
    """Return the names of attributes by the ids of their keys, of which each may give one default."""
    names: dict[str | None, str] = {}
    defaults: set[tuple[str | None, str]] = set()
    for key in root:
        if _name(key) != "key":
            continue
        identifier, name, scope = key.get("id"), key.get("attr.name", ""), key.get("for")
        if identifier in names:
            raise _ElementError(key, "keys of different ids", f"{identifier!r} again")
        names[identifier] = name
        if any(_name(child) == "default" for child in key):
            if scope not in ("node", "edge"):
                raise _ElementError(key, "a default for node or edge", f"one for {scope}")
            if (scope, name) in defaults:
                raise _ElementError(key, f"one default for each attribute of a {scope}", f"{name!r} again")
            defaults.add((scope, name))
    return names


def _check_attributes(element: ElementTree.Element) -> None:
    name = _name(element)
    missing = [attribute for attribute in _REQUIRED.get(name, ()) if attribute not in element.attrib]
    if missing:
        raise _ElementError(element, f"a {name} with {missing[0]}", f"{element.attrib}")
    for attribute, value in element.attrib.items():
        if name == "desc" or attribute.startswith("parse.") or attribute == _SCHEMA:
            continue
        known = _ATTRIBUTES.get(name, ())
        if attribute not in known:
            raise _ElementError(
                element, f"{' or '.join(known) or 'nothing'} as attributes of a {name}", f"{attribute}={value!r}"
            )
        if value not in _VALUES.get(attribute, (value,)) or (name, attribute, value) == ("edge", "id", ""):
            raise _ElementError(element, f"a value of {attribute} in a {name}", f"{value!r}")


def _check_inside(element: ElementTree.Element) -> None:
    name = _name(element)
    allowed = _CHILDREN.get(name, ())
    for child in element:
        if _name(child) not in allowed:
            raise _ElementError(element, f"{' or '.join(allowed) or 'text'} in a {name}", f"an element {_name(child)}")
    if name == "default" and not element.text:
        raise _ElementError(element, "a default with a text", "an empty one")
    texts = [element.text if allowed else None, *(child.tail for child in element)]
    stray = next((text.strip() for text in texts if text and text.strip()), None)
    if stray is not None:
        raise _ElementError(element, f"{' or '.join(allowed)} in a {name}", f"the text {stray[:_SHOWN]!r}")


def _check_data(element: ElementTree.Element, keys: dict[str | None, str]) -> None:
    """Raise GraphError where two values of an element would be one attribute of the graph."""
    name = _name(element)
    found = Counter(keys.get(child.get("key")) for child in element if _name(child) == "data")
    if name == "graph":
        taken = next((attribute for attribute in _DEFAULTS if attribute in found), None)
        if taken is not None:
            raise _ElementError(element, f"no attribute of the graph called {taken}", "one, where its defaults stand")
        found.update(["id"] if "id" in element.attrib else [])
    again = next((attribute for attribute, count in found.items() if attribute is not None and count > 1), None)
    if again is not None:
        raise _ElementError(element, f"each attribute of a {name} once", f"{again!r} again")


def _keep_ids(root: ElementTree.Element, graph: nx.Graph) -> None:
    """Make the id of the graph its attribute, as networkx writes it; GraphError where an edge would have two ids.

    A plain graph has the ids of its edges as attributes, one of parallel edges as their keys.
    """
    (element,) = (child for child in root if _name(child) == "graph")
    if "id" in element.attrib:
        graph.graph["id"] = element.attrib["id"]
    keys = {key for key, name in _find_keys(root).items() if name == "id"}
    for edge in element if keys and not graph.is_multigraph() else ():
        if _name(edge) == "edge" and "id" in edge.attrib and any(child.get("key") in keys for child in edge):
            raise _ElementError(
                edge, "each attribute of an edge once", f"data called id in the edge with id {edge.get('id')!r}"
            )


def _name(element: ElementTree.Element) -> str:
    return element.tag.removeprefix(_NAMESPACE)


def _edge_key(text: str) -> int | str:
    """Return the number that an edge's id is, if it is written so, as the key of the edge."""
    return int(text) if text.isdecimal() and str(int(text)) == text else text
