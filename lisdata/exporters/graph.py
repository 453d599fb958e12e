"""Graphs back to the forms that source graph reads, each read again to see what did not come back."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisdata.contents import Content
from lisdata.errors import ExportError
from lisdata.exporters.gml_lines import iter_gml
from lisdata.exporters.graph_objects import structures_to_networkx
from lisdata.exporters.targets import memory_path, replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.graph_facts import EDGES_NAME, iter_graph_facts
from lisdata.sources.graph_forms import fault_text, networkx_faults, parse_graph
from lisdata.sources.graph_layout import SUFFIXES, GraphForm, GraphOptions, form_of
from lisdata.sources.node_link import EDGES

if TYPE_CHECKING:
    import networkx as nx

_GRAPHML_TYPES = (str, int, float, bool)
_Fact = tuple[str, frozenset[tuple[tuple[str, Content], int]]]


@dataclass(frozen=True, slots=True)
class GraphExporter:
    """Writes a file for each graph, in the form that it was read from; a graph of another source in that of the name.

    Nodes, edges, keys and attributes with their types come back. The file is read again before it is kept: facts that
    the form has no place for are counted as losses.
    """

    name: str = "graph"
    summary: str = "Graphs in GML, GraphML, node-link JSON, edge lists, adjacency lists"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the graphs that came from `files`; of a dataset made in memory, the one graph."""
        paths = target_paths(target, files, dataset.inputs) if files else [memory_path(target)]
        written: list[Path] = []
        losses: Counter[str] = Counter()
        for info, path in zip(files or (None,), paths, strict=True):
            rejected = 0 if info is None else info.records.get("rejected", 0)
            if rejected:
                losses["rejected records"] += rejected
                continue
            index = None if info is None else info.index
            graph = structures_to_networkx(dataset.iter_structures(index))
            form, options = _form(graph, info, path)
            data = _write(graph, form, options, path, _edges_name(dataset, index))
            losses[f"facts that {form} cannot hold"] += _num_lost(graph, data, form, options, path)
            with replacing(path) as stream:
                stream.write(data)
            written.append(path)
        return ExportReport(files=tuple(written), num_records=len(written), losses=dict(+losses))


def _form(graph: nx.Graph, info: InputInfo | None, path: Path) -> tuple[GraphForm, GraphOptions]:
    """Return the form of a file and how it is read."""
    options, name = GraphOptions(directed=graph.is_directed(), multigraph=graph.is_multigraph()), path.name
    if info is not None and info.source == GRAPH.name:
        read_with: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in info.options.items()}
        options, name = GraphOptions(**read_with), info.name
    form = form_of(name, options)
    if form is None:
        raise ExportError(f"{path}: expected a name that ends in {', '.join(SUFFIXES)}")
    return form, options


def _edges_name(dataset: IncidenceDataset, index: int | None) -> str:
    """Return how the file that a graph came from calls its edges, in node-link JSON."""
    first = next(dataset.iter_structures(index))
    named = [incidence for incidence in first.incidences if incidence.role.side == EDGES_NAME]
    return first.occurrences[named[0].occurrence].content.text if named else EDGES


def _write(graph: nx.Graph, form: GraphForm, options: GraphOptions, path: Path, edges_name: str) -> bytes:
    import networkx as nx

    separator = " " if options.delimiter is None else options.delimiter
    try:
        if form == "graphml":
            return _graphml(graph)
        if form == "node-link":
            return (json.dumps(nx.node_link_data(graph, edges=edges_name), allow_nan=False) + "\n").encode()
        if form == "gml":
            return _joined(iter_gml(graph))
        if form == "adjlist":
            return _joined(nx.generate_adjlist(graph, delimiter=separator))
        has_data = any(attributes for *_, attributes in graph.edges(data=True))
        data: Any = [name for name, _ in options.columns] or has_data
        return _joined(nx.generate_edgelist(graph, delimiter=separator, data=data))
    except networkx_faults() as error:
        raise ExportError(f"{path}: the graph has no form in {form}: {fault_text(error)}") from error


def _joined(lines: Iterator[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _graphml(graph: nx.Graph) -> bytes:
    """Return GraphML; values that it has no type for are left out, defaults are written whether used or not."""
    from networkx.readwrite.graphml import GraphMLWriter

    graph = graph.copy()
    defaults = {scope: graph.graph.pop(f"{scope}_default", {}) for scope in ("node", "edge")}
    odd = next((scope for scope, found in defaults.items() if not isinstance(found, dict)), None)
    if odd is not None:
        raise TypeError(f"its attribute {odd}_default is no dict, and GraphML has defaults by that name")
    for attributes in _all_attributes(graph):
        for name in [name for name, value in attributes.items() if type(value) not in _GRAPHML_TYPES]:
            del attributes[name]
    writer = GraphMLWriter()
    for scope, found in defaults.items():
        for name, value in found.items():
            writer.get_key(name, writer.get_xml_type(type(value)), scope, value)
    writer.add_graph_element(graph)
    stream = io.BytesIO()
    writer.dump(stream)
    # ElementTree leaves a carriage return in a text as it is, and whoever reads XML takes that for a line feed.
    return stream.getvalue().replace(b"\r", b"&#13;") + b"\n"


def _all_attributes(graph: nx.Graph) -> Iterator[dict[str, Any]]:
    yield graph.graph
    yield from (attributes for _, attributes in graph.nodes(data=True))
    yield from (attributes for *_, attributes in graph.edges(data=True))


def _num_lost(graph: nx.Graph, data: bytes, form: GraphForm, options: GraphOptions, path: Path) -> int:
    """Return how many of the graph's facts are not among those of the file."""
    try:
        again = parse_graph(data, form, options)
    except networkx_faults() as error:
        raise ExportError(f"{path}: the graph has no form in {form}: {fault_text(error)}") from error
    return (_facts(graph) - _facts(again)).total()


def _facts(graph: nx.Graph) -> Counter[_Fact]:
    """Return the facts of a graph; which end of an edge without direction comes first does not matter."""
    return Counter(
        (fact.label, frozenset(Counter((side, content) for side, _, content in fact.participants).items()))
        for fact in iter_graph_facts(graph)
    )


GRAPH = GraphExporter()
