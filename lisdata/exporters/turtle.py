"""Triples to Turtle and TriG: prefixes at the top, the statements of one subject together, in the source's order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from lisdata.exporters.ntriples_lines import bytes_of
from lisdata.exporters.rdf_prefixes import Prefixes, PrefixFinder
from lisdata.exporters.rdf_statements import RdfWriter, Statements, export_rdf
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo

_BINARY = pa.large_binary()


class _TurtleWriter(RdfWriter):
    """Writes a line a statement; a subject, and around its statements a graph, where they change."""

    def __init__(self, stream: BinaryIO, prefixes: Prefixes, *, has_graphs: bool) -> None:
        super().__init__(stream)
        self.has_graphs = has_graphs
        self.prefixes = prefixes
        for iri, name in prefixes.by_iri.items():
            stream.write(f"@prefix {name}: <{iri}> .\n".encode())

    def write(self, statements: Statements) -> None:
        """Write the statements; what is open is closed behind the last one."""
        if not len(statements.subjects):
            return
        is_new = _differs(statements.subjects)
        before, after = _text(b""), _text(b"")
        if self.has_graphs:
            graphs = self.prefixes.shorten_terms(statements.graphs.fill_null(pa.scalar(b"", _BINARY)))
            is_new_graph = _differs(graphs)
            is_new = pc.or_(is_new, is_new_graph)
            is_named = pc.is_valid(statements.graphs)
            opening = pc.binary_join_element_wise(graphs, _text(b" {\n"), _text(b""))
            before = pc.if_else(pc.and_(is_new_graph, is_named), opening, _text(b""))
            after = pc.if_else(pc.and_(_is_last(is_new_graph), is_named), _text(b"}\n"), _text(b""))
        lines = pc.binary_join_element_wise(
            before,
            pc.if_else(is_new, self.prefixes.shorten_terms(statements.subjects), _text(b"   ")),
            _text(b" "),
            self.prefixes.shorten_terms(statements.predicates, are_predicates=True),
            _text(b" "),
            self.prefixes.shorten_terms(statements.objects),
            pc.if_else(_is_last(is_new), _text(b" .\n"), _text(b" ;\n")),
            after,
            _text(b""),
        )
        self.stream.write(bytes_of(lines))


def _differs(values: pa.LargeBinaryArray) -> pa.BooleanArray:
    """Tell for each value whether it is not that before it."""
    return pa.concat_arrays([pa.array([True]), pc.not_equal(values[1:], values[:-1])])


def _is_last(is_first: pa.BooleanArray) -> pa.BooleanArray:
    """Tell which values are the last of runs whose first ones are given."""
    return pa.concat_arrays([is_first[1:], pa.array([True])])


def _text(value: bytes) -> pa.Scalar:
    return pa.scalar(value, _BINARY)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurtleExporter:
    """Writes Turtle or TriG (RDF 1.2).

    Blank nodes keep their labels, language tags their case, statements their order and number. Prefixes are
    `prefixes` (NAME=IRI), the input's own, and well-known ones. Graph names (in Turtle), structures of other kinds
    and facts that are no triple of RDF terms are losses.
    """

    name: str
    summary: str
    has_graphs: bool
    prefixes: tuple[str, ...] = ()

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the statements that came from `files`."""
        found = PrefixFinder(dataset, self.prefixes)
        return export_rdf(
            dataset,
            target,
            files,
            lambda stream, info: _TurtleWriter(stream, found.prefixes_of(info), has_graphs=self.has_graphs),
        )


TURTLE = TurtleExporter(name="turtle", summary="RDF graphs in Turtle", has_graphs=False)
TRIG = TurtleExporter(name="trig", summary="RDF datasets in TriG", has_graphs=True)
