"""Triples to JSON-LD in expanded form: no context, every value an object, literals as exact strings."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from lisdata.contents import Content, decode_text
from lisdata.exporters.rdf_statements import RdfWriter, Statements, export_rdf
from lisdata.exporters.rdf_terms import Quad, iter_quads
from lisdata.registry import ExportReport
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.json_text import STYLES

_quote = STYLES["compact"].quote


@dataclass(slots=True)
class _Node:
    """A node object in the making: the values of each predicate."""

    subject: Content
    graph: Content | None
    values: dict[str, list[str]] = field(default_factory=dict)
    last: str | None = None

    def takes(self, subject: Content, predicate: str, graph: Content | None) -> bool:
        """Tell whether a statement can be added and keep its place."""
        if self.subject != subject or self.graph != graph:
            return False
        return predicate == self.last or predicate not in self.values

    def text(self) -> str:
        """Return the node object."""
        members = [f'"@id":{_quote(_name(self.subject))}']
        members += [f"{_quote(name)}:[{','.join(values)}]" for name, values in self.values.items()]
        return "{" + ",".join(members) + "}"


class _JsonldWriter(RdfWriter):
    """Writes a node object for the statements in a row that have one subject; graphs around those of named graphs."""

    has_graphs = True

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self._node: _Node | None = None
        self._graph: Content | None = None
        self._separator = "["

    def write(self, statements: Statements) -> None:
        """Write the nodes that are complete."""
        for quad in iter_quads(statements):
            self._add(quad)

    def end(self) -> None:
        """Write the last node and close what is open."""
        self._write_node()
        closing = "]}" if self._graph is not None else ""
        self._put(("[" if self._separator == "[" else "") + closing + "]\n")

    def _add(self, quad: Quad) -> None:
        subject, predicate, object_, graph = quad
        if object_.kind == ContentKind.INSTANCE:
            self.losses["triples of triple terms"] += 1
            return
        name = _name(predicate)
        if self._node is None or not self._node.takes(subject, name, graph):
            self._write_node()
            self._node = _Node(subject, graph)
        self._node.values.setdefault(name, []).append(self._value(object_))
        self._node.last = name

    def _value(self, content: Content) -> str:
        if content.kind != ContentKind.LITERAL:
            return f'{{"@id":{_quote(_name(content))}}}'
        value = f'{{"@value":{_quote(decode_text(content.lexical))}'
        if content.language is not None:
            tag, mark, direction = content.language.partition("--")
            tagged = f'{value},"@language":{_quote(tag)}'
            return f'{tagged},"@direction":{_quote(direction)}}}' if mark else tagged + "}"
        return value + "}" if content.datatype is None else f'{value},"@type":{_quote(content.datatype)}}}'

    def _write_node(self) -> None:
        node, self._node = self._node, None
        if node is None:
            return
        opening = ""
        if node.graph != self._graph:
            if self._graph is not None:
                self._put("]}")
            self._graph = node.graph
            if node.graph is not None:
                opening = f'{{"@id":{_quote(_name(node.graph))},"@graph":[\n'
        self._put(f"{self._separator}\n" if not opening else f"{self._separator}\n{opening}")
        self._put(node.text())
        self._separator = ","

    def _put(self, text: str) -> None:
        self.stream.write(text.encode(errors="surrogatepass"))


def _name(content: Content) -> str:
    """Return an IRI, or a blank node with its mark."""
    return ("_:" if content.kind == ContentKind.BNODE else "") + decode_text(content.lexical)


@dataclass(frozen=True, slots=True)
class JsonldExporter:
    """Writes JSON-LD 1.1 in expanded form.

    Blank nodes keep their labels, language tags their case, literals their exact strings (so "01" stays, and no number
    of JSON is written). Contexts are not kept. Triple terms, structures of other kinds and facts that are no triple of
    RDF terms are losses.
    """

    name: str = "jsonld"
    summary: str = "RDF datasets in JSON-LD 1.1, expanded"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the statements that came from `files`."""
        return export_rdf(dataset, target, files, lambda stream, _: _JsonldWriter(stream))


JSONLD = JsonldExporter()
