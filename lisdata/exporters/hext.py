"""Triples to Hextuples (.hext): a JSON array of six strings a statement, spelled as rdflib spells them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import orjson

from lisdata.contents import Content, decode_text
from lisdata.exporters.rdf_statements import RdfWriter, Statements, export_rdf
from lisdata.exporters.rdf_terms import iter_quads
from lisdata.registry import ExportReport
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.hext_layout import GLOBAL, LANG_STRING, LOCAL
from lisdata.sources.ntriples_terms import XSD_STRING


class _HextWriter(RdfWriter):
    """Writes a line a statement."""

    has_graphs = True

    def write(self, statements: Statements) -> None:
        """Write the lines, but of statements about triple terms."""
        objects: dict[Content, list[str]] = {}
        for subject, predicate, object_, graph in iter_quads(statements):
            if object_.kind == ContentKind.INSTANCE:
                self.losses["triples of triple terms"] += 1
                continue
            described = objects.get(object_)
            if described is None:
                described = objects[object_] = _describe(object_)
            if object_.language is not None and "--" in object_.language:
                self.losses["directions of language tags"] += 1
            line = [_name(subject), _name(predicate), *described, "" if graph is None else _name(graph)]
            self.stream.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def _describe(content: Content) -> list[str]:
    """Return value, datatype and language."""
    if content.kind != ContentKind.LITERAL:
        return [_name(content), LOCAL if content.kind == ContentKind.BNODE else GLOBAL, ""]
    value = decode_text(content.lexical)
    if content.language is not None:
        return [value, LANG_STRING, content.language.partition("--")[0]]
    return [value, content.datatype or XSD_STRING, ""]


def _name(content: Content) -> str:
    """Return an IRI, or a blank node with its mark."""
    return ("_:" if content.kind == ContentKind.BNODE else "") + decode_text(content.lexical)


@dataclass(frozen=True, slots=True)
class HextExporter:
    """Writes Hextuples, which rdflib reads.

    Blank nodes keep their labels, language tags their case, statements their order and number. Triple terms, directions
    of language tags, structures of other kinds and facts that are no triple of RDF terms are losses.
    """

    name: str = "hext"
    summary: str = "RDF datasets in Hextuples: a JSON array of six strings a line"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the statements that came from `files`."""
        return export_rdf(dataset, target, files, lambda stream, _: _HextWriter(stream))


HEXT = HextExporter()
