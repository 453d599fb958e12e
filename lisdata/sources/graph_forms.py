"""Graph files as networkx reads them, in each of their forms; what it would leave out is refused."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lisdata.sources.graph_layout import COMMENTS, GraphForm, GraphOptions

if TYPE_CHECKING:
    import networkx as nx

_STRING_OR_COMMENT = re.compile(r'"[^"]*"|#[^\n]*')
_GML_PLACE = re.compile(r" at \((\d+), (\d+)\)")
_SHOWN = 80
_INFINITE = (float("inf"), complex(0, float("inf")))  # what a literal such as 1e999 stands for


class GraphError(ValueError):
    """Text is no graph of its form; `at` is the character where, when that is known."""

    def __init__(self, expected: str, found: str, *, at: int = 0) -> None:
        self.at, self.expected, self.found = at, expected, found
        super().__init__(f"expected {expected}, found {found}")


def parse_graph(data: bytes, form: GraphForm, options: GraphOptions) -> nx.Graph:
    """Return the graph that a file's bytes are.

    UnicodeDecodeError for no UTF-8, XmlError (for GraphML) or GraphError for no graph, and for one of which networkx
    would leave something out: a repeated edge of a plain graph, what hangs together by ports or hyperedges.
    """
    if form == "graphml":
        from lisdata.sources.graphml import parse_graphml

        return parse_graphml(data)
    if form == "node-link":
        from lisdata.sources.node_link import parse_node_link

        return parse_node_link(data)[0]
    text = data.decode()
    if text.startswith("\ufeff"):
        text = f" {text[1:]}"  # a byte order mark is allowed; offsets stay
    if form == "gml":
        return _parse_gml(text)
    return _parse_edges(text, options) if form == "edgelist" else _parse_neighbours(text, options)


def networkx_faults() -> tuple[type[Exception], ...]:
    """Return what networkx raises, on purpose or not, for a file that is wrong."""
    import networkx as nx

    return nx.NetworkXException, AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError


def fault_text(error: Exception) -> str:
    """Return what an error says, on one line and not too long."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _parse_gml(text: str) -> nx.Graph:
    """Return the graph: nodes called by their labels where these are all strings and different, else by their ids.

    With labels for names, ids that are not 0, 1, 2 ... are attributes. Line ends in strings are kept.
    """
    import networkx as nx

    lines = _STRING_OR_COMMENT.sub(_without_line_ends, text).split("\n")
    try:
        graph = nx.parse_gml(lines, label="id")
    except networkx_faults() as error:
        place = _GML_PLACE.search(str(error))
        at = 0
        if place is not None:
            row, column = int(place[1]) - 1, int(place[2]) - 1
            at = sum(len(line) + 1 for line in text.split("\n")[:row]) + column
        raise GraphError("a graph in GML", fault_text(error), at=min(at, len(text))) from error
    labels = {node: attributes.get("label") for node, attributes in graph.nodes(data=True)}
    if len(set(map(str, labels.values()))) < len(labels) or not all(type(label) is str for label in labels.values()):
        return graph
    has_usual_ids = [*labels] == [*range(len(labels))]
    for node, attributes in graph.nodes(data=True):
        del attributes["label"]
        if not has_usual_ids:
            attributes["id"] = node
    return nx.relabel_nodes(graph, labels)


def _without_line_ends(match: re.Match[str]) -> str:
    """Return a string with references for its line ends, which networkx makes spaces, and nothing for a comment.

    The line ends follow the string, so that lines keep their numbers.
    """
    text = match[0].replace("\n", "&#10;").replace("\r", "&#13;")
    return text + "\n" * match[0].count("\n") if text.startswith('"') else ""


def _parse_edges(text: str, options: GraphOptions) -> nx.Graph:
    """Return the graph of a list of edges; each line that is not blank is one."""
    import networkx as nx

    def parse(lines: Iterable[str], graph: nx.Graph) -> nx.Graph:
        data: Any = options.columns or True
        lines = list(lines)
        if not options.columns:
            for line in lines:
                _check_attributes(line, options.delimiter)
        return nx.parse_edgelist(
            lines, comments=COMMENTS, delimiter=options.delimiter, create_using=graph, data=data
        )  # fmt: skip

    expected = "an edge, NODE NODE and its attributes"
    return _parse_list(text, options, parse, lambda line: 1, expected)


def _check_attributes(line: str, delimiter: str | None) -> None:
    """Raise GraphError for attributes of an edge that say a name twice, or that networkx's split at spaces changes.

    What is no literal is left for networkx to refuse.
    """
    fields = line.split(delimiter, 2)
    fault = _attribute_fault(fields[2], delimiter) if len(fields) == 3 else None
    if fault is not None:
        raise GraphError(fault[0], f"{fault[1]}{line[:_SHOWN]!r}")


@lru_cache(maxsize=4096)  # most edges of a list have the attributes of another
def _attribute_fault(attributes: str, delimiter: str | None) -> tuple[str, str] | None:
    """Return what is expected of an edge's attributes, and how what is found begins; None where nothing is wrong."""
    try:
        tree = ast.parse(attributes.strip(), mode="eval").body
        joined = ("," if delimiter == "," else " ").join(attributes.split(delimiter))
        read = ast.parse(joined.strip(), mode="eval").body
        repeated = [key for part in ast.walk(tree) if isinstance(part, ast.Dict) for key in _repeated(part)]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    if repeated:
        return "each attribute of an edge once", f"{repeated[0]!r} again in "
    if any(isinstance(part, ast.Constant) and part.value in _INFINITE for part in ast.walk(tree)):
        return "numbers that Python writes as they are read, not infinite ones", ""
    if isinstance(tree, ast.List | ast.Tuple | ast.Set) or ast.dump(tree) != ast.dump(read):
        return "attributes {'name': value, ...} with the delimiter in no text", ""
    return None


def _repeated(mapping: ast.Dict) -> Iterator[Any]:
    seen = set()
    for key in mapping.keys:
        name = None if key is None else ast.literal_eval(key)
        if name in seen:
            yield name
        seen.add(name)


def _parse_neighbours(text: str, options: GraphOptions) -> nx.Graph:
    """Return the graph of lines of a node and its neighbours."""
    import networkx as nx

    def parse(lines: Iterable[str], graph: nx.Graph) -> nx.Graph:
        return nx.parse_adjlist(lines, comments=COMMENTS, delimiter=options.delimiter, create_using=graph)

    def num_neighbours(line: str) -> int:
        return len(line.split(options.delimiter)) - 1

    return _parse_list(text, options, parse, num_neighbours, "a node and its neighbours")


def _parse_list(
    text: str,
    options: GraphOptions,
    parse: Callable[[Iterable[str], Any], Any],
    num_edges: Callable[[str], int],
    expected: str,
) -> nx.Graph:
    """Return the graph of `text`, if each line adds as many edges as it says; else GraphError names the first."""
    import networkx as nx

    kind = getattr(nx, options.graph_type)
    rows = text.split("\n")
    lines = [line.split(COMMENTS, 1)[0].strip() for line in rows]
    try:
        graph = parse(filter(None, lines), kind())
    except networkx_faults():
        graph = None
    if graph is not None and graph.number_of_edges() == sum(num_edges(line) for line in lines if line):
        return graph
    again, at = kind(), 0
    for row, line in zip(rows, lines, strict=True):
        if line:
            try:
                found = parse([line], kind())
            except GraphError as error:
                raise GraphError(error.expected, error.found, at=at) from error
            except networkx_faults() as error:
                raise GraphError(expected, fault_text(error), at=at) from error
            edges = list(found.edges)
            if not edges and num_edges(line):
                raise GraphError(expected, repr(line[:_SHOWN]), at=at)
            is_repeated = not options.multigraph and any(again.has_edge(*edge) for edge in edges)
            if is_repeated or len(edges) != num_edges(line):
                raise GraphError("each edge once (or multigraph, or directed)", f"again {line[:_SHOWN]!r}", at=at)
            again.add_edges_from(edges)
        at += len(row) + 1
    raise GraphError(expected, "lines that are none")
