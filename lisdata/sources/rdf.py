"""Turtle, TriG, RDF/XML and N3, read by pyoxigraph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lisdata.inputs import InputSlice
from lisdata.records import TripleRecords
from lisdata.registry import Reject
from lisdata.sources.rdf_depth import check_depth
from lisdata.sources.rdf_element_depth import ElementDepth
from lisdata.sources.rdf_entities import check_entities
from lisdata.sources.rdf_grouping import GROUP_BY, Grouping
from lisdata.sources.rdf_input import NamePatterns
from lisdata.sources.rdf_names import TURTLE_NAMES, XML_NAMES
from lisdata.sources.rdf_namespaces import root_namespaces
from lisdata.sources.rdf_parser import ParserSettings, read_rdf


@dataclass(frozen=True, slots=True, kw_only=True)
class RdfOptions:
    """Options of the RDF formats that are not one statement a line."""

    base_iri: str | None = field(
        default=None, metadata={"help": "IRI against which relative IRIs are resolved; without it they are errors."}
    )
    lenient: bool = field(
        default=False, metadata={"help": "Accept IRIs and language tags that are not valid, as found in old dumps."}
    )
    group_by: str = field(default="subject", metadata=GROUP_BY)

    def __post_init__(self) -> None:
        Grouping(self.group_by)
        check_base_iri(self.base_iri)


def check_base_iri(base_iri: str | None) -> None:
    """Raise ValueError unless `base_iri` is None or an absolute IRI."""
    if base_iri is None:
        return
    import pyoxigraph

    try:
        list(pyoxigraph.parse(b"<> <a:p> <a:o> .", format=pyoxigraph.RdfFormat.TURTLE, base_iri=base_iri))
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"base_iri: expected an absolute IRI, got {base_iri!r} ({error})") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class RdfSource:
    """Reads RDF in the `format` of pyoxigraph, with RDF 1.2 where that has it; terms become what source nquads makes.

    A blank node without a name is called anon-DIGEST-N, by order of first appearance. A language tag is as it is
    written where the file writes it in one way only, else in lower case (a count in the manifest). The
    prefixes of a file (of RDF/XML, its first element's) are kept with the input. The bytes of a structure are bounds of
    where it stands; ordinals and record ids are numbers of triples.
    """

    name: str
    summary: str
    suffixes: tuple[str, ...]
    format: str
    title: str
    names: NamePatterns
    converter: str = "triples"
    exporter: str
    splits: bool = False
    options_type: type[RdfOptions] = RdfOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: RdfOptions) -> int:
        """Return where `piece` begins: its statements need the prefixes above them."""
        return piece.begin

    def read(self, piece: InputSlice, options: RdfOptions, reject: Reject) -> Iterator[TripleRecords]:
        """Yield the statements in batches that cut no run; lines that are not valid are rejected."""
        check, prefixes = None, {}
        if self.format == "RDF_XML":
            check_entities(piece)
            check, prefixes = ElementDepth(piece).check, root_namespaces(piece)
        else:
            check_depth(piece)
        settings = ParserSettings(
            format=self.format,
            title=self.title,
            base_iri=options.base_iri,
            lenient=options.lenient,
            names=self.names,
            goes_on=self.format != "RDF_XML",
            by_line=self.format == "N3",
            prefixes=prefixes,
        )
        yield from read_rdf(piece, piece.file.open, settings, Grouping(options.group_by), reject, check)


TURTLE = RdfSource(
    name="turtle",
    summary="RDF graphs in Turtle",
    suffixes=(".ttl", ".turtle"),
    format="TURTLE",
    title="Turtle",
    names=TURTLE_NAMES,
    exporter="turtle",
)
TRIG = RdfSource(
    name="trig",
    summary="RDF datasets in TriG: Turtle with named graphs",
    suffixes=(".trig",),
    format="TRIG",
    title="TriG",
    names=TURTLE_NAMES,
    exporter="trig",
)
RDFXML = RdfSource(
    name="rdfxml",
    summary="RDF graphs in RDF/XML",
    suffixes=(".rdf", ".owl", ".xml"),
    format="RDF_XML",
    title="RDF/XML",
    names=XML_NAMES,
    exporter="rdfxml",
)
N3 = RdfSource(
    name="n3",
    summary="RDF in N3: statements, and formulas as graphs",
    suffixes=(".n3",),
    format="N3",
    title="N3 without variables",
    names=TURTLE_NAMES,
    exporter="trig",
)
