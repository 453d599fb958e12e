"""Triples to RDF/XML: an element a statement, the statements of one subject together, in the source's order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lisdata.contents import Content, decode_text
from lisdata.exporters.rdf_prefixes import RDF, Prefixes, PrefixFinder
from lisdata.exporters.rdf_statements import RdfWriter, Statements, export_rdf
from lisdata.exporters.rdf_terms import iter_quads
from lisdata.registry import ExportReport
from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset, InputInfo

_XML, _XMLNS = "http://www.w3.org/XML/1998/namespace", "http://www.w3.org/2000/xmlns/"
# Words of the syntax, which are no names of properties.
_SYNTAX = {
    RDF + name
    for name in (
        "RDF", "ID", "about", "parseType", "resource", "nodeID", "datatype", "Description", "li", "aboutEach",
        "aboutEachPrefix", "bagID", "annotation", "annotationNodeID", "version",
    )
}  # fmt: skip

_START = (
    r"A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
)
_START += r"\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
_NAME = rf"[{_START}][{_START}\-.0-9\u00b7\u0300-\u036f\u203f-\u2040]*"
_LOCAL = re.compile(_NAME + r"\Z")
_LABEL = re.compile(_NAME)
_OTHER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPECIAL = re.compile('[&<>"\t\n\r]')
_RENAMED = "renamed-"


class _XmlWriter(RdfWriter):
    """Writes a description for the statements in a row that have one subject."""

    def __init__(self, stream: BinaryIO, prefixes: Prefixes) -> None:
        super().__init__(stream)
        self._subject: Content | None = None
        self._prefixes = prefixes.by_iri
        declared = {"rdf": RDF} | {name: iri for iri, name in prefixes.by_iri.items()}
        names = "".join(f' xmlns{name and f":{name}"}="{_escape(iri)}"' for name, iri in declared.items())
        self._put(f'<?xml version="1.0" encoding="UTF-8"?>\n<rdf:RDF{names}>\n')

    def write(self, statements: Statements) -> None:
        """Write the statements."""
        for subject, predicate, object_, _ in iter_quads(statements):
            element = self._element(predicate, object_)
            about = self._reference(subject, "about")
            if element is None or about is None:
                continue
            if subject != self._subject:
                self._close()
                self._put(f"<rdf:Description {about}>\n")
                self._subject = subject
            self._put(element)

    def end(self) -> None:
        """Close what is open."""
        self._close()
        self._put("</rdf:RDF>\n")

    def _close(self) -> None:
        if self._subject is not None:
            self._put("</rdf:Description>\n")

    def _element(self, predicate: Content, object_: Content) -> str | None:
        """Return the element of a property, None (and a loss) where XML has none for it."""
        name = self._split(decode_text(predicate.lexical))
        if name is None:
            self.losses["triples whose predicate is no XML name"] += 1
            return None
        tag, namespace = name
        if object_.kind == ContentKind.INSTANCE:
            self.losses["triples of triple terms"] += 1
            return None
        if object_.kind != ContentKind.LITERAL:
            reference = self._reference(object_, "resource")
            return None if reference is None else f"  <{tag}{namespace} {reference}/>\n"
        text = self._escaped(decode_text(object_.lexical))
        if text is None:
            return None
        return f"  <{tag}{namespace}{self._attribute(object_)}>{text}</{tag}>\n"

    def _attribute(self, literal: Content) -> str:
        if literal.language is not None:
            tag, mark, _ = literal.language.partition("--")
            if mark:
                self.losses["directions of language tags"] += 1
            return f' xml:lang="{tag}"'
        return "" if literal.datatype is None else f' rdf:datatype="{_escape(literal.datatype)}"'

    def _reference(self, node: Content, attribute: str) -> str | None:
        text = decode_text(node.lexical)
        if node.kind == ContentKind.BNODE:
            return f'rdf:nodeID="{self._label(text)}"'
        escaped = self._escaped(text)
        return None if escaped is None else f'rdf:{attribute}="{escaped}"'

    def _label(self, label: str) -> str:
        """Return a label that XML allows; no two labels become one."""
        if _LABEL.fullmatch(label) and not label.startswith(_RENAMED):
            return label
        self.losses["labels of blank nodes"] += 1
        return _RENAMED + label.encode().hex()

    def _escaped(self, text: str) -> str | None:
        if _OTHER.search(text):
            self.losses["triples with characters that XML does not have"] += 1
            return None
        return _escape(text)

    def _split(self, iri: str) -> tuple[str, str] | None:
        """Return the tag of a property and, with a blank before it, what declares its namespace; None for no tag."""
        local = _LOCAL.search(iri)
        if local is None or not local.start() or iri in _SYNTAX or _OTHER.search(iri):
            return None
        namespace = iri[: local.start()]
        prefix = {RDF: "rdf", _XML: "xml"}.get(namespace) or self._prefixes.get(namespace)
        if prefix is not None:
            return f"{prefix}:{local[0]}" if prefix else local[0], ""
        return None if namespace == _XMLNS else (f"p:{local[0]}", f' xmlns:p="{_escape(namespace)}"')

    def _put(self, text: str) -> None:
        self.stream.write(text.encode())


def _escape(text: str) -> str:
    """Return text for an element or between double quotes, in which even line ends stay what they are."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", text)


@dataclass(frozen=True, slots=True)
class RdfxmlExporter:
    """Writes RDF/XML; namespaces of `prefixes` (NAME=IRI), the input's own and well-known ones are declared once.

    Language tags keep their case and blank nodes their labels, where these are names of XML. Graph names, triple terms,
    directions of language tags, predicates and characters that XML has no place for, structures of other kinds and
    facts that are no triple of RDF terms are losses.
    """

    name: str = "rdfxml"
    summary: str = "RDF graphs in RDF/XML"
    prefixes: tuple[str, ...] = ()

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the statements that came from `files`."""
        found = PrefixFinder(dataset, self.prefixes)
        return export_rdf(dataset, target, files, lambda stream, info: _XmlWriter(stream, found.prefixes_of(info)))


RDFXML = RdfxmlExporter()
