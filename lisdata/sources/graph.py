"""Graph files (GML, GraphML, node-link JSON, lists): a structure a node and an edge, one of the graph itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lisdata.contents import Content, Role
from lisdata.errors import BadRecordError, Place
from lisdata.inputs import InputSlice
from lisdata.records import FactRecords
from lisdata.registry import Reject
from lisdata.schema import NO_ROW, ContentKind
from lisdata.sources.fact_columns import FactColumns
from lisdata.sources.graph_facts import EDGES_NAME, GraphFact, iter_graph_facts
from lisdata.sources.graph_forms import GraphError, parse_graph
from lisdata.sources.graph_layout import SUFFIXES, GraphForm, GraphOptions, form_of
from lisdata.sources.node_link import EDGES, parse_node_link
from lisdata.sources.whole_documents import read_document
from lisdata.sources.xml_text import XmlError


@dataclass(frozen=True, slots=True)
class GraphSource:
    """Reads a graph, a file whole, through networkx; the file is one record, good or rejected.

    Its facts are those of `lisdata.structures_from_networkx`: "graph" with the graph's type and attributes, "node" for
    each node, "edge" for each edge, with the ends in roles edge#source and edge#target, or edge#member twice. Node-link
    JSON whose edges are called "links" says so in graph#edges-name.
    """

    name: str = "graph"
    summary: str = "Graphs in GML, GraphML, node-link JSON, edge lists, adjacency lists"
    suffixes: tuple[str, ...] = tuple(SUFFIXES)
    converter: str = "facts"
    exporter: str = "graph"
    splits: bool = False
    options_type: type[GraphOptions] = GraphOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: GraphOptions) -> int:
        """Raise ValueError: a graph is never cut."""
        raise ValueError(f"a graph is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: GraphOptions, reject: Reject) -> Iterator[FactRecords]:
        """Yield the facts of the graph; a file that is none, or that would not come back whole, is a bad record."""
        data = read_document(piece, options.max_document_bytes, reject)
        if data is None:
            return
        form = form_of(piece.file.name, options)
        if form is None:
            expected = f"a name that ends in {', '.join(SUFFIXES)} (or an option form)"
            place = Place(piece.file.name, offset=0)
            reject(BadRecordError(place, expected=expected, found="another name", begin=0, end=len(data)))
            return
        try:
            facts = _read_facts(data, form, options)
        except (UnicodeDecodeError, XmlError, GraphError, ValueError) as error:
            at, expected, found = _explain(error, data)
            reject(BadRecordError(piece.place(at), expected=expected, found=found, begin=0, end=len(data)))
            return
        yield _to_columns(facts, len(data)).to_records(piece.file, num_records=1)


def _read_facts(data: bytes, form: GraphForm, options: GraphOptions) -> list[GraphFact]:
    if form != "node-link":
        return list(iter_graph_facts(parse_graph(data, form, options)))
    graph, edges_name = parse_node_link(data)
    first, *others = iter_graph_facts(graph)
    if edges_name != EDGES:
        written = (EDGES_NAME, 0, Content(ContentKind.TEXT, edges_name.encode()))
        first = GraphFact(first.label, (*first.participants, written))
    return [first, *others]


def _explain(error: ValueError, data: bytes) -> tuple[int, str, str]:
    """Return the byte where a file is wrong, what was expected there and what found."""
    if isinstance(error, UnicodeDecodeError):
        return error.start, "UTF-8", f"byte 0x{error.object[error.start]:02x} ({error.reason})"
    if isinstance(error, XmlError):
        return error.at, error.expected, error.found
    if isinstance(error, GraphError):
        return len(data.decode(errors="replace")[: error.at].encode()), error.expected, error.found
    return 0, "values that come back exactly", str(error)


def _to_columns(facts: list[GraphFact], size: int) -> FactColumns:
    columns = FactColumns()
    for number, fact in enumerate(facts):
        columns.add_fact(fact.label, NO_ROW, number)
        for side, position, content in fact.participants:
            columns.add_participant(Role(fact.label, side), columns.contents.add_content(content), position)
        columns.end_structure(0, size)
    return columns


GRAPH = GraphSource()
