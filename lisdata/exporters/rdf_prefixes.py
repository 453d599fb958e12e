"""Prefixes of IRIs in RDF that people read: those that are asked for, and well-known ones that the data uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lisdata.schema import ContentKind
from lisdata.shards import IncidenceDataset, InputInfo, Part

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
WELL_KNOWN = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": RDF,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "https://schema.org/",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "vann": "http://purl.org/vocab/vann/",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_NAME = re.compile("[A-Za-z][A-Za-z0-9_-]*")
_NO_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_LOCAL_END = re.compile("[A-Za-z0-9_-]$")
_LOCAL = re.compile(rb"[A-Za-z0-9_][A-Za-z0-9_-]*>\Z")
_TYPE = f"<{RDF}type>".encode()
_PREFIX = "a prefix NAME=IRI (the NAME of ASCII letters, not xml...)"


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Prefixes by their IRIs, in the order in which they are declared."""

    by_iri: Mapping[str, str]

    def shorten_terms(self, terms: pa.LargeBinaryArray, *, are_predicates: bool = False) -> pa.LargeBinaryArray:
        """Return terms of N-Triples as Turtle may write them: IRIs and datatypes by their prefixes, rdf:type as a."""
        if not self.by_iri and not are_predicates:
            return terms
        encoded = terms.dictionary_encode()
        by_iri = {iri.encode(): prefix.encode() for iri, prefix in self.by_iri.items()}
        known: dict[bytes | None, bytes] = {_TYPE: b"a"} if are_predicates else {}
        values = encoded.dictionary.to_pylist()
        shortened = [known[value] if value in known else _shorten(value, by_iri) for value in values]
        return pa.array(shortened, pa.large_binary()).take(encoded.indices)


def _shorten(term: bytes, by_iri: Mapping[bytes, bytes]) -> bytes:
    if term.startswith(b'"'):
        literal, mark, datatype = term.rpartition(b"^^")
        return literal + mark + _shorten(datatype, by_iri) if mark and datatype.startswith(b"<") else term
    local = _LOCAL.search(term)
    if local is None or not term.startswith(b"<") or term.startswith(b"<<"):
        return term
    prefix = by_iri.get(term[1 : local.start()])
    return term if prefix is None else prefix + b":" + local[0][:-1]


def parse_prefixes(texts: Iterable[str]) -> dict[str, str]:
    """Return IRIs by prefix from texts NAME=IRI; ValueError for what cannot be one, or is there already.

    An IRI ends where local names begin, mostly in / or #.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, _, iri = text.partition("=")
        expected = _why_not(name, iri) if name else _PREFIX
        if expected is not None:
            raise ValueError(f"expected {expected}, got {text!r}")
        if name in found or iri in found.values():
            raise ValueError(f"expected each prefix and IRI once, got {text!r} again")
        found[name] = iri
    return found


def _why_not(name: str, iri: str) -> str | None:
    """Return what is expected of a prefix (its name may be empty) that is not written, None for one that is."""
    if (name and not _NAME.fullmatch(name)) or name.lower().startswith("xml") or not iri or _NO_IRI.search(iri):
        return _PREFIX
    if _LOCAL_END.search(iri):
        return "the IRI of a prefix to end in what no local name has, as / or #"
    return f"prefix rdf for {RDF} and for nothing else" if (name == "rdf") != (iri == RDF) else None


class PrefixFinder:
    """Finds the prefixes for the inputs of a dataset, each name and each IRI once.

    First come those that are `asked` for (NAME=IRI), then the input's own that can be written, and well-known ones
    whose IRIs begin a term of the dataset's.
    """

    def __init__(self, dataset: IncidenceDataset, asked: Iterable[str]) -> None:
        self._asked = parse_prefixes(asked)
        self._used = {
            name: iri for name, iri in WELL_KNOWN.items() if any(_has_term(part, iri) for part in dataset.parts)
        }

    def prefixes_of(self, info: InputInfo | None) -> Prefixes:
        """Return the prefixes for an input, or for what was made in memory."""
        chosen = dict(self._asked)
        own = {} if info is None else info.prefixes
        writable = {name: iri for name, iri in own.items() if _why_not(name, iri) is None}
        for name, iri in (*writable.items(), *self._used.items()):
            if name not in chosen and iri not in chosen.values():
                chosen[name] = iri
        return Prefixes({iri: name for name, iri in chosen.items()})


def _has_term(part: Part, iri: str) -> bool:
    """Tell whether a label of a part (predicates and datatypes are such) or an entity begins with `iri`."""
    labels = part.labels
    for column in ("label", "relation"):
        if pc.any(pc.starts_with(labels[column], iri)).as_py():
            return True
    entities = pc.equal(part.contents["kind"], pa.scalar(ContentKind.ENTITY, pa.uint8()))
    return bool(pc.any(pc.and_(pc.starts_with(part.contents["lexical"], iri.encode()), entities)).as_py())
