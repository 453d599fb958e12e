"""Wikibase's own fixtures: entities and the N-Triples that it makes of them, a file a flavour; which of them we equal.

Wikibase names the nodes of values by hashes of its own (PHP), so they are compared as blank nodes. A flavour is a part
of the graph, so ours is compared as far as its select function goes. What no entity says is left out by name.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyoxigraph import BlankNode, CanonicalizationAlgorithm, Dataset, NamedNode, Quad, RdfFormat, Triple, parse

import lisdata

ACME = "http://acme.test/"
IRIS = {"entity_iri": ACME, "reference_iri": f"{ACME}reference/"}
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
Select = Callable[[Triple], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavour:
    """The files of a flavour (the union of them), the entities that they are about, and which triples are theirs."""

    entities: str
    files: tuple[str, ...]
    select: Select
    language: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join(self.files)


def unpack_oracle(archive: Path, folder: Path) -> Path:
    """Unpack the fixtures and return their folder."""
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return folder


def triples(data: bytes) -> set[Triple]:
    """Return the triples of N-Triples."""
    return {quad.triple for quad in parse(data, format=RdfFormat.N_TRIPLES, lenient=True)}


def canonical(found: set[Triple]) -> set[str]:
    """Return the graph up to the names of blank nodes, and of values and references."""

    def unnamed(term: Any) -> Any:
        is_node = isinstance(term, NamedNode) and term.value.startswith((f"{ACME}value/", f"{ACME}reference/"))
        return BlankNode(term.value.replace("/", "").replace(":", "").replace(".", "")) if is_node else term

    dataset = Dataset(Quad(unnamed(t.subject), t.predicate, unnamed(t.object)) for t in found)
    dataset.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return {str(quad) for quad in dataset}


def is_class(triple: Triple) -> bool:
    """Tell whether a triple gives a class of Wikibase's."""
    return triple.predicate.value == TYPE and str(triple.object).startswith("<http://wikiba.se/ontology#")


def is_term(*names: str) -> Select:
    """Return a function that selects by the last part of the predicate."""
    return lambda triple: triple.predicate.value.rsplit("/")[-1].rsplit("#")[-1] in names


def is_direct(triple: Triple) -> bool:
    """Tell whether a triple is a truthy statement."""
    is_none = str(triple.object).startswith(f"<{ACME}prop/novalue/") and str(triple.subject).startswith(f"<{ACME}Q")
    return is_none or triple.predicate.value.startswith(f"{ACME}prop/direct/")


def is_about_statement(triple: Triple) -> bool:
    """Tell whether a triple is of a statement, but for its full values and references."""
    is_full = "/value/" not in triple.predicate.value and "Value" not in str(triple)
    return is_full and not is_direct(triple) and f"<{ACME}statement/" in str(triple) and "prov#" not in str(triple)


def is_about_reference(triple: Triple) -> bool:
    """Tell whether a triple is of a reference, but for its full values."""
    return str(triple.subject).startswith(f"<{ACME}reference/") and "/value/" not in triple.predicate.value


def is_whole(triple: Triple) -> bool:
    """Tell whether a triple is none that gives the class of an entity."""
    return not (is_class(triple) and str(triple.subject).startswith((f"<{ACME}Q", f"<{ACME}P")))


def is_any(triple: Triple) -> bool:
    """Select every triple."""
    return True


def is_stub(triple: Triple) -> bool:
    """Tell whether a triple is a label or a description."""
    return is_whole(triple) and not is_term("altLabel")(triple)


LABELS = is_term("label", "prefLabel", "name")
FLAVOURS = tuple(
    Flavour(entities=entities, files=tuple(files.split()), select=select, language=language)
    for entities, files, select, language in (
        ("Q2", "TermsRdfBuilder/Q2_terms", is_whole, ()),
        ("Q2", "TermsRdfBuilder/Q2_terms_ru", is_whole, ("ru",)),
        ("Q2", "TermsRdfBuilder/Q2_terms_labels", LABELS, ()),
        ("Q2", "TermsRdfBuilder/Q2_terms_labels_ru", LABELS, ("ru",)),
        ("Q2", "TermsRdfBuilder/Q2_terms_descriptions", is_term("description"), ()),
        ("Q2", "TermsRdfBuilder/Q2_terms_descriptions_ru", is_term("description"), ("ru",)),
        ("Q2", "TermsRdfBuilder/Q2_terms_aliases", is_term("altLabel"), ()),
        ("Q2", "TermsRdfBuilder/Q2_terms_aliases_ru", is_term("altLabel"), ("ru",)),
        ("Q2", "TermsRdfBuilder/Q2_terms_stubs", is_stub, ()),
        ("Q2", "TermsRdfBuilder/Q2_terms_stubs_ru", is_stub, ("ru",)),
        ("Q2", "RdfBuilder/Q2_aliases", is_term("altLabel"), ()),
        ("Q2", "RdfBuilder/Q2_stub", lambda triple: not is_term("altLabel")(triple), ()),
        ("Q2", "RdfBuilder/Q2_stub_request_languages", lambda t: not is_term("altLabel")(t), ("en",)),
        ("Q4", "RdfBuilder/Q4_direct", is_direct, ()),
        ("Q4", "RdfBuilder/Q4_statements", is_about_statement, ()),
        ("Q4", "RdfBuilder/Q4_direct RdfBuilder/Q4_statements RdfBuilder/Q4_values", is_whole, ()),
        ("Q7", "RdfBuilder/Q7_references", is_about_reference, ()),
        (
            "Q7",
            "RdfBuilder/Q7_statements RdfBuilder/Q7_references RdfBuilder/Q7_reference_refs RdfBuilder/Q7_values",
            is_whole,
            (),
        ),
        ("Q7 Q9", "RdfBuilder/Q7_Q9_dedup", is_any, ()),
        ("P2", "PropertyRdfBuilder/P2_all PropertyRdfBuilder/P2_terms", is_stub, ()),
    )
)

NOT_IN_AN_ENTITY = {
    "revision, date, licence and version of a page": "RdfBuilder/Q1_info RdfBuilder/Q2_meta RdfBuilder/Q2_version "
    "RdfBuilder/Q3_meta RdfBuilder/Q3_version RdfBuilder/Q4_meta RdfBuilder/Q4_version RdfBuilder/Q7_meta "
    "RdfBuilder/Q7_version RdfBuilder/dumpheader",
    "addresses, languages and groups of the wikis that pages are on": "RdfBuilder/Q3_sitelinks RdfBuilder/Q5_badges "
    "SiteLinksRdfBuilder/Q3_sitelinks SiteLinksRdfBuilder/Q3_sitelinks_ruwiki",
    "counts that a page's properties hold": "RdfBuilder/prop1 RdfBuilder/prop2 RdfBuilder/prop3 RdfBuilder/prop4",
    "definitions and labels of entities that are mentioned, and where redirects lead": "RdfBuilder/Q4_props "
    "RdfBuilder/Q4_referenced RdfBuilder/Q10_redirect",
    "predicates for labels other than Wikidata's, which a test sets": "TermsRdfBuilder/predicate.Q2_terms_labels "
    "TermsRdfBuilder/predicate.Q2_terms_labels_ru",
}
"""What an entity's JSON does not say -> the files that are about it."""


def export_rdf(folder: Path, data: list[bytes], **options: Any) -> tuple[bytes, dict[str, int]]:
    """Return the triples of entity files and the losses that the export tells."""
    (folder / "in").mkdir(parents=True)
    (folder / "out").mkdir()
    for number, entity in enumerate(data):
        (folder / f"in/{number}.json").write_bytes(entity)
    lisdata.convert("wikidata", folder / "in", folder / "data", options=options)
    (report,) = lisdata.export(folder / "data", folder / "out", format="wikidata-rdf")
    return b"".join(path.read_bytes() for path in report.files), report.losses


def difference(oracle: Path, folder: Path, flavour: Flavour) -> tuple[set[str], set[str]]:
    """Return the triples that ours lacks and those that it has beyond, of a flavour; `folder` is for the conversion."""
    read = [json.loads((oracle / f"entities/{name}.json").read_bytes()) for name in flavour.entities.split()]
    options: dict[str, Any] = IRIS | ({"language": flavour.language} if flavour.language else {})
    found, _ = export_rdf(folder, ["\n".join(map(json.dumps, read)).encode()], **options)
    expected = set().union(*(triples((oracle / f"{name}.nt").read_bytes()) for name in flavour.files))
    ours, theirs = canonical(set(filter(flavour.select, triples(found)))), canonical(expected)
    return theirs - ours, ours - theirs


def iter_differences(oracle: Path, folder: Path) -> Iterator[tuple[Flavour, set[str], set[str]]]:
    """Yield each flavour with what ours lacks and has beyond."""
    for number, flavour in enumerate(FLAVOURS):
        yield flavour, *difference(oracle, folder / str(number), flavour)
