"""N-Triples: a compiled scanner for plain lines, pyoxigraph for all others, so that what is accepted equals it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lisdata.inputs import InputSlice
from lisdata.records import TripleRecords
from lisdata.registry import Reject
from lisdata.sources.ntriples_lines import read_lines
from lisdata.sources.ntriples_parser import LineParser
from lisdata.sources.ntriples_runs import find_run
from lisdata.sources.rdf_grouping import GROUP_BY, Grouping


@dataclass(frozen=True, slots=True, kw_only=True)
class NTriplesOptions:
    """Options of sources ntriples and nquads."""

    lenient: bool = field(
        default=False, metadata={"help": "Accept IRIs and language tags that are not valid, as found in old dumps."}
    )
    group_by: str = field(default="subject", metadata=GROUP_BY)

    def __post_init__(self) -> None:
        Grouping(self.group_by)


@dataclass(frozen=True, slots=True)
class NTriplesSource:
    """Reads N-Triples (RDF 1.1, and of RDF 1.2 triple terms and directions of language tags).

    IRIs are entities, blank nodes are scoped to their file, literals keep their exact string and their language tag as
    written ("en--ltr" with a direction); xsd:string is the datatype of a literal that names none. A triple term is a
    content of kind INSTANCE whose lexical form is its canonical text.
    """

    name: str = "ntriples"
    summary: str = "RDF graphs in N-Triples, checked as strictly as a parser does"
    suffixes: tuple[str, ...] = (".nt", ".ntriples")
    converter: str = "triples"
    exporter: str = "ntriples"
    splits: bool = True
    options_type: type[NTriplesOptions] = NTriplesOptions
    has_graphs: bool = False

    def find_cut(self, piece: InputSlice, wanted: int, options: NTriplesOptions) -> int:
        """Return the next begin of a line whose subject (or graph) is not that of the line before."""
        return find_run(piece, wanted, Grouping(options.group_by).key_of)

    def read(self, piece: InputSlice, options: NTriplesOptions, reject: Reject) -> Iterator[TripleRecords]:
        """Yield the statements in batches that cut no run; a line that is not valid is rejected."""
        parser = LineParser(scope=piece.file.scope, lenient=options.lenient, has_graphs=self.has_graphs)
        yield from read_lines(piece, parser, Grouping(options.group_by), reject)


NTRIPLES = NTriplesSource()
NQUADS = NTriplesSource(
    name="nquads",
    summary="RDF datasets in N-Quads: triples in the default graph and in named graphs",
    suffixes=(".nq", ".nquads"),
    exporter="nquads",
    has_graphs=True,
)
