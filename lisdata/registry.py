"""Names of sources, converters and exporters; a third party adds its own by entry point, loaded when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from lisdata.errors import BadRecordError
    from lisdata.inputs import InputFile, InputSlice
    from lisdata.records import ParsedDocument, Records
    from lisdata.shards import IncidenceDataset, InputInfo
    from lisdata.structure_batch import StructureBatch

Reject = Callable[["BadRecordError"], None]


class Source(Protocol):
    """Knows one format and nothing of structures.

    `options_type` is a frozen, keyword-only dataclass whose fields carry `metadata={"help": ...}`: each becomes an
    option of `lisdata convert NAME` and a key of a recipe. `splits` says that a file may be cut into units: then
    `find_cut` moves a wanted cut to the begin of a record.
    """

    name: str
    summary: str
    suffixes: tuple[str, ...]
    converter: str
    exporter: str
    splits: bool
    options_type: type[Any]

    def find_cut(self, piece: InputSlice, wanted: int, options: Any) -> int:
        """Return the first offset >= `wanted` (or the slice's end) where a unit may begin, from the bytes alone."""

    def read(self, piece: InputSlice, options: Any, reject: Reject) -> Iterator[Records]:
        """Yield the records of `piece`; a bad one goes to `reject`, which raises under `--on-error stop`."""


@runtime_checkable
class DocumentSource(Source, Protocol):
    """A source of files that are whole documents, of which small ones share a table: each table costs its time."""

    def is_document(self, file: InputFile, options: Any) -> bool:
        """Tell whether a file is one document, for `read_document`; else `read` gives its records."""

    def read_document(self, piece: InputSlice, options: Any, reject: Reject) -> ParsedDocument | None:
        """Return the document that `piece` is; None, and it goes to `reject`, when it is bad."""

    def to_records(self, documents: list[ParsedDocument]) -> Iterator[Records]:
        """Yield the records of documents, in their order."""


class Converter(Protocol):
    """Turns the records of one kind into structures: a pure function of a batch, knowing nothing of files."""

    name: str
    options_type: type[Any]

    def convert(self, records: Any, options: Any) -> StructureBatch:
        """Return the structures of one batch of records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What an export wrote, and each field it could not bring back with how often (empty when lossless)."""

    files: tuple[Path, ...]
    num_records: int
    losses: dict[str, int]


class Exporter(Protocol):
    """Writes a dataset (or one source's part of it) back in one format."""

    name: str
    summary: str

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the structures that came from `files` to `target`: a file when there is one, else a folder."""


@runtime_checkable
class TellingExporter(Exporter, Protocol):
    """An exporter of files whose layout a source tells from their bytes, which it may not from those of an export."""

    def found_options(self, dataset: IncidenceDataset, info: InputInfo) -> dict[str, Any]:
        """Return options of the source of `info` by which its export is read as the input was."""


# name -> module:attribute; adding one touches this line and the new file.
SOURCES = {
    "arrow": "lisdata.sources.arrow:ARROW",
    "brackets": "lisdata.sources.brackets:BRACKETS",
    "code": "lisdata.sources.code:CODE",
    "conllu": "lisdata.sources.conllu:CONLLU",
    "csv": "lisdata.sources.delimited:CSV",
    "excel": "lisdata.sources.excel:EXCEL",
    "fact-text": "lisdata.sources.fact_text:FACT_TEXT",
    "graph": "lisdata.sources.graph:GRAPH",
    "hext": "lisdata.sources.hext:HEXT",
    "hif": "lisdata.sources.hif:HIF",
    "html": "lisdata.sources.html:HTML",
    "image": "lisdata.sources.images:IMAGE",
    "json": "lisdata.sources.json_document:JSON",
    "jsonl": "lisdata.sources.jsonl:JSONL",
    "jsonld": "lisdata.sources.jsonld:JSONLD",
    "kgtk": "lisdata.sources.kgtk:KGTK",
    "markdown": "lisdata.sources.markdown:MARKDOWN",
    "n3": "lisdata.sources.rdf:N3",
    "nary": "lisdata.sources.nary:NARY",
    "npy": "lisdata.sources.arrays:NPY",
    "npz": "lisdata.sources.npz:NPZ",
    "nquads": "lisdata.sources.ntriples:NQUADS",
    "ntriples": "lisdata.sources.ntriples:NTRIPLES",
    "parquet": "lisdata.sources.parquet:PARQUET",
    "parsed": "lisdata.sources.parsed_text:PARSED",
    "rdfxml": "lisdata.sources.rdf:RDFXML",
    "sql": "lisdata.sources.sql:SQL",
    "text": "lisdata.sources.text:TEXT",
    "trig": "lisdata.sources.rdf:TRIG",
    "turtle": "lisdata.sources.rdf:TURTLE",
    "wikidata": "lisdata.sources.wikidata:WIKIDATA",
    "xml": "lisdata.sources.xml:XML",
}
CONVERTERS = {
    "fact-text": "lisdata.converters.mixed:FACT_TEXT",
    "documents": "lisdata.converters.documents:DOCUMENTS",
    "facts": "lisdata.converters.facts:FACTS",
    "grids": "lisdata.converters.grids:GRIDS",
    "sentences": "lisdata.converters.sentences:SENTENCES",
    "tables": "lisdata.converters.tables:TABLES",
    "text": "lisdata.converters.text:TEXT",
    "trees": "lisdata.converters.trees:TREES",
    "triples": "lisdata.converters.triples:TRIPLES",
}
EXPORTERS = {
    "arrow": "lisdata.exporters.arrow:ARROW",
    "brackets": "lisdata.exporters.brackets:BRACKETS",
    "code": "lisdata.exporters.kept_documents:CODE",
    "conllu": "lisdata.exporters.conllu:CONLLU",
    "conllu-plain": "lisdata.exporters.conllu:CONLLU_PLAIN",
    "csv": "lisdata.exporters.delimited:CSV",
    "fact-text": "lisdata.exporters.fact_text:FACT_TEXT",
    "graph": "lisdata.exporters.graph:GRAPH",
    "hext": "lisdata.exporters.hext:HEXT",
    "hif": "lisdata.exporters.hif:HIF",
    "html": "lisdata.exporters.html:HTML",
    "image": "lisdata.exporters.images:IMAGE",
    "json": "lisdata.exporters.json:JSON",
    "jsonl": "lisdata.exporters.jsonl:JSONL",
    "markdown": "lisdata.exporters.kept_documents:MARKDOWN",
    "npy": "lisdata.exporters.arrays:NPY",
    "npz": "lisdata.exporters.npz:NPZ",
    "jsonld": "lisdata.exporters.jsonld:JSONLD",
    "kgtk": "lisdata.exporters.kgtk:KGTK",
    "nary": "lisdata.exporters.nary:NARY",
    "nquads": "lisdata.exporters.ntriples:NQUADS",
    "ntriples": "lisdata.exporters.ntriples:NTRIPLES",
    "rdfxml": "lisdata.exporters.rdfxml:RDFXML",
    "parquet": "lisdata.exporters.parquet:PARQUET",
    "sqlite": "lisdata.exporters.sqlite:SQLITE",
    "structures": "lisdata.exporters.structures:STRUCTURES",
    "text": "lisdata.exporters.text:TEXT",
    "trig": "lisdata.exporters.turtle:TRIG",
    "turtle": "lisdata.exporters.turtle:TURTLE",
    "wikidata": "lisdata.exporters.wikidata:WIKIDATA",
    "wikidata-rdf": "lisdata.exporters.wikidata_rdf:WIKIDATA_RDF",
    "xml": "lisdata.exporters.xml:XML",
}
_MOST_SIMILAR, _LIKENESS = 3, 0.7
_GROUPS = {"sources": SOURCES, "converters": CONVERTERS, "exporters": EXPORTERS}


@cache
def names(group: str) -> tuple[str, ...]:
    """Return the sorted names of `group` ("sources", "converters" or "exporters"), entry points included."""
    return tuple(sorted({*_GROUPS[group], *(e.name for e in entry_points(group=f"lisdata.{group}"))}))


def _load(group: str, name: str) -> Any:
    target = _GROUPS[group].get(name)
    if target is not None:
        module, attribute = target.split(":")
        return getattr(import_module(module), attribute)
    for entry in entry_points(group=f"lisdata.{group}"):
        if entry.name == name:
            return entry.load()
    guess = f"did you mean {' or '.join(near)}? There are" if (near := find_similar(group, name)) else "expected one of"
    raise ValueError(f"no {group.removesuffix('s')} is called {name!r}: {guess} {', '.join(names(group))}")


def find_similar(group: str, name: str) -> tuple[str, ...]:
    """Return the names of `group` that someone who wrote `name` may mean: those spelled like it, and of its suffix."""
    known, suffix = names(group), "." + name.lower().rpartition(".")[2]
    by_suffix = [source for source in names("sources") if source in known and suffix in load_source(source).suffixes]
    alike = [] if "." in name else get_close_matches(name.lower(), known, _MOST_SIMILAR, _LIKENESS)
    return tuple(dict.fromkeys([*alike, *by_suffix]))[:_MOST_SIMILAR]


def load_source(name: str) -> Source:
    """Return the source called `name`."""
    source: Source = _load("sources", name)
    return source


def load_converter(name: str) -> Converter:
    """Return the converter called `name`."""
    converter: Converter = _load("converters", name)
    return converter


def load_exporter(name: str) -> Exporter:
    """Return the exporter called `name`."""
    exporter: Exporter = _load("exporters", name)
    return exporter
