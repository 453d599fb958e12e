"""The lines of a graph in GML, with the ids and the whole numbers that networkx's own writer changes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx as nx

_KEY = re.compile(r"[A-Za-z][0-9A-Za-z_]*")
_ESCAPED = re.compile('[^ -~]|[&"]')
_LIST = "_networkx_list_start"  # how networkx tells a list of one from its item


def iter_gml(graph: nx.Graph) -> Iterator[str]:
    """Yield the lines; an attribute that GML has no form for (no name of letters, no value) is left out.

    A node that is a string is its label, with attribute id for an id if all are different; another is its id.
    """
    numbers = _ids(graph)
    has_labels = all(type(node) is str for node in graph)
    yield "graph ["
    for name, is_set in (("directed", graph.is_directed()), ("multigraph", graph.is_multigraph())):
        if is_set:
            yield f"  {name} 1"
    yield from _lines(graph.graph, "  ", {"directed", "multigraph", "node", "edge"})
    for node, attributes in graph.nodes(data=True):
        yield "  node ["
        yield from _value("id", numbers[node], "    ")
        if has_labels:
            yield from _value("label", node, "    ")
        yield from _lines(attributes, "    ", {"id", "label"} if has_labels else {"id"})
        yield "  ]"
    is_multi = graph.is_multigraph()
    for source, target, *key, attributes in graph.edges(data=True, **({"keys": True} if is_multi else {})):
        yield "  edge ["
        yield from _value("source", numbers[source], "    ")
        yield from _value("target", numbers[target], "    ")
        if key:
            yield from _value("key", key[0], "    ")
        yield from _lines(attributes, "    ", {"source", "target", "key"} if is_multi else {"source", "target"})
        yield "  ]"
    yield "]"


def _ids(graph: nx.Graph) -> dict[Any, Any]:
    """Return what each node is called in the file."""
    if not all(type(node) is str for node in graph):
        return {node: node for node in graph}
    kept = [attributes.get("id") for _, attributes in graph.nodes(data=True)]
    has_ids = all(type(found) in (int, float, str) for found in kept) and len(set(map(str, kept))) == len(kept)
    return dict(zip(graph, kept if has_ids else range(len(kept)), strict=True))


def _lines(attributes: dict[Any, Any], indent: str, taken: set[str] | None = None) -> Iterator[str]:
    for name, value in attributes.items():
        if name not in (taken or ()) and _KEY.fullmatch(name):
            yield from _value(name, value, indent)


def _value(name: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield f"{indent}{name} ["
        yield from _lines(value, f"{indent}  ")
        yield f"{indent}]"
    elif isinstance(value, list):
        if not value:
            yield f'{indent}{name} "[]"'
        if len(value) == 1:
            yield f'{indent}{name} "{_LIST}"'
        for item in value:
            yield from _value(name, item, indent)
    elif isinstance(value, int):
        yield f"{indent}{name} {int(value)}"
    elif isinstance(value, float):
        yield f"{indent}{name} {_real(value)}"
    elif isinstance(value, str):
        yield f'{indent}{name} "{_ESCAPED.sub(lambda match: f"&#{ord(match[0])};", value)}"'


def _real(value: float) -> str:
    """Return a number with a point, or INF with a sign, as GML wants them."""
    text = repr(value).upper()
    if text == "INF":
        return "+INF"
    mantissa, mark, exponent = text.partition("E")
    return f"{mantissa}.{mark}{exponent}" if mark and "." not in mantissa else text
