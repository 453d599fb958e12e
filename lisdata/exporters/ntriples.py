"""Triples back to N-Triples and N-Quads: the same statements, in order and as often as they came."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lisdata.exporters.ntriples_lines import join_lines
from lisdata.exporters.rdf_statements import RdfWriter, Statements, export_rdf
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo


class _LineWriter(RdfWriter):
    """Writes a line a statement."""

    def __init__(self, stream: BinaryIO, *, has_graphs: bool) -> None:
        super().__init__(stream)
        self.has_graphs = has_graphs

    def write(self, statements: Statements) -> None:
        """Write the lines."""
        graphs = statements.graphs if self.has_graphs else None
        self.stream.write(join_lines(statements.subjects, statements.predicates, statements.objects, graphs))


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesExporter:
    """Writes canonical N-Triples or N-Quads (RDF 1.2): an input in this form comes back byte for byte.

    Blank nodes keep their labels and language tags their case. Graph names (in N-Triples), structures of other kinds
    and facts that are no triple of RDF terms are losses.
    """

    name: str
    summary: str
    has_graphs: bool

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the statements that came from `files`."""
        return export_rdf(dataset, target, files, lambda stream, _: _LineWriter(stream, has_graphs=self.has_graphs))


NTRIPLES = LinesExporter(name="ntriples", summary="RDF graphs in canonical N-Triples", has_graphs=False)
NQUADS = LinesExporter(name="nquads", summary="RDF datasets in canonical N-Quads", has_graphs=True)
