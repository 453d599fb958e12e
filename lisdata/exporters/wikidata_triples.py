"""The triples that Wikibase makes of an entity, from its JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

import xxhash

from lisdata.exporters.wikidata_terms import READERS, Json, iri, literal, url
from lisdata.sources.json_text import write_json
from lisdata.sources.wikidata_layout import (
    LETTERS_BY_TYPE,
    LINKS,
    PARTS,
    SAME_AS,
    STATEMENT_MAPS,
    STRING_IRIS,
    TERMS,
    WIKIBASE,
    WikidataOptions,
    iri_of_string,
    type_of_id,
)

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
OWL = "http://www.w3.org/2002/07/owl#"
ONTOLEX = "http://www.w3.org/ns/lemon/ontolex#"
DERIVED_FROM = "http://www.w3.org/ns/prov#wasDerivedFrom"
_LABEL = TERMS["labels"]
_LABELS = (_LABEL, "http://www.w3.org/2004/02/skos/core#prefLabel", "http://schema.org/name")
_PREDICATES = {
    **{member: (iri,) for member, iri in TERMS.items()},
    "labels": _LABELS,
    **{member: (_LABEL, TERMS[member]) for member in ("lemmas", "representations", "glosses")},
}
_CLASSES = {
    "item": (f"{WIKIBASE}Item",),
    "property": (f"{WIKIBASE}Property",),
    "lexeme": (f"{WIKIBASE}Lexeme", f"{ONTOLEX}LexicalEntry"),
    "form": (f"{WIKIBASE}Form", f"{ONTOLEX}Form"),
    "sense": (f"{WIKIBASE}Sense", f"{ONTOLEX}LexicalSense"),
    "mediainfo": (f"{WIKIBASE}Mediainfo",),
}
_OBJECT_TYPES = (
    *STRING_IRIS,
    "wikibase-item",
    "wikibase-property",
    "wikibase-lexeme",
    "wikibase-form",
    "wikibase-sense",
)
_NOT_IN_NAMES = re.compile(r"[^\w-]", re.ASCII)


class EntityTriples:
    """Makes N-Triples of one entity after another; what RDF cannot say is counted in `losses`."""

    def __init__(self, options: WikidataOptions, losses: Counter[str]) -> None:
        base = options.entity_iri.removesuffix("entity/")
        self._entity, self._reference = options.entity_iri, options.reference_iri
        self._statement, self._property, self._value = (
            f"{options.entity_iri}statement/",
            f"{base}prop/",
            f"{base}value/",
        )
        self._losses = losses
        self._lines: dict[bytes, None] = {}  # those of the entity in hand, each once
        self._blanks = self._own_blanks = blank_nodes("b")

    def lines(self, entity: Json) -> bytes:
        """Return the triples of an entity or redirect, a line each."""
        self._lines.clear()
        if "redirect" in entity:
            self._add(iri(self._entity + entity["entity"]), SAME_AS, iri(self._entity + entity["redirect"]))
        else:
            self._add_entity(entity)
        return b"".join(self._lines)

    def _add(self, subject: bytes, predicate: str, object_: bytes) -> None:
        self._lines[b"%b %b %b .\n" % (subject, iri(predicate), object_)] = None

    def _add_entity(self, entity: Json) -> None:
        name = entity["id"]
        subject = iri(self._entity + name)
        for class_ in _CLASSES.get(type_of_id(name), ()):
            self._add(subject, f"{RDF}type", iri(class_))
        if name.startswith("P") and "datatype" in entity:
            self._add_property(subject, name, entity["datatype"])
        for member, value in entity.items():
            if member in TERMS:
                self._add_terms(subject, member, value)
            elif member in PARTS:
                for part in value:
                    self._add(subject, LINKS[member], iri(self._entity + part["id"]))
                    self._add_entity(part)
            elif member in LINKS:
                for target in [value] if isinstance(value, str) else value:
                    self._add(subject, LINKS[member], iri(self._entity + target))
            elif member in STATEMENT_MAPS and isinstance(value, dict):
                for listed in value.values():
                    self._add_statements(subject, listed)
            elif member == "redirects":
                self._add(iri(self._entity + value["from"]), SAME_AS, iri(self._entity + value["to"]))
            elif member == "sitelinks":
                self._losses["links to pages"] += len(value)
            elif member not in ("id", "type", "datatype", *STATEMENT_MAPS):
                self._losses["members that RDF has not"] += 1

    def _add_terms(self, subject: bytes, member: str, terms: Any) -> None:
        for found in terms.values() if isinstance(terms, dict) else ():
            for term in found if isinstance(found, list) else [found]:
                for predicate in _PREDICATES[member]:
                    self._add(subject, predicate, literal(term["value"], language=term["language"]))

    def _add_property(self, subject: bytes, name: str, datatype: str) -> None:
        """Add the predicates that a property is used with."""
        type_name = "".join(part[:1].upper() + part[1:] for part in datatype.split("-"))
        self._add(subject, f"{WIKIBASE}propertyType", iri(WIKIBASE + type_name))
        usual = "ObjectProperty" if datatype in _OBJECT_TYPES else "DatatypeProperty"
        for use, namespace, kind in _USES:
            predicate = self._property + namespace + name
            self._add(subject, WIKIBASE + use, iri(predicate))
            self._add(iri(predicate), f"{RDF}type", iri(OWL + (kind or usual)))
        blank = next(self._blanks)
        self._add(iri(f"{self._property}novalue/{name}"), f"{OWL}complementOf", blank)
        self._add(blank, f"{RDF}type", iri(f"{OWL}Restriction"))
        self._add(blank, f"{OWL}onProperty", iri(f"{self._property}direct/{name}"))
        self._add(blank, f"{OWL}someValuesFrom", iri(f"{OWL}Thing"))

    # -- statements --------------------------------------------------------------------------------------------------

    def _add_statements(self, subject: bytes, listed: list[Json]) -> None:
        ranks = [statement.get("rank", "normal") for statement in listed]
        best = "preferred" if "preferred" in ranks else "normal"
        for statement, rank in zip(listed, ranks, strict=True):
            snak = statement["mainsnak"]
            if rank == best:
                self._add_snak(subject, snak, "direct/", has_node=False)
            if "id" in statement:
                self._add_statement(subject, statement, snak, rank, is_best=rank == best)
            else:
                self._losses["statements without an id (but for their truthy triple)"] += 1

    def _add_statement(self, subject: bytes, statement: Json, snak: Json, rank: str, *, is_best: bool) -> None:
        node = iri(self._statement + _NOT_IN_NAMES.sub("-", statement["id"]))
        self._add(subject, self._property + snak["property"], node)
        self._add(node, f"{RDF}type", iri(f"{WIKIBASE}Statement"))
        if is_best:
            self._add(node, f"{RDF}type", iri(f"{WIKIBASE}BestRank"))
        self._add(node, f"{WIKIBASE}rank", iri(f"{WIKIBASE}{rank.capitalize()}Rank"))
        self._add_snak(node, snak, "statement/")
        for qualifiers in (statement.get("qualifiers") or {}).values():
            for qualifier in qualifiers:
                self._add_snak(node, qualifier, "qualifier/")
        for reference in statement.get("references", ()):
            self._add_reference(node, reference)

    def _add_reference(self, statement: bytes, reference: Json) -> None:
        name = reference.get("hash") or xxhash.xxh3_128_hexdigest(write_json(reference["snaks"]).encode())
        target = iri(self._reference + name)
        self._add(statement, DERIVED_FROM, target)
        self._add(target, f"{RDF}type", iri(f"{WIKIBASE}Reference"))
        self._blanks = blank_nodes("r" + xxhash.xxh3_128_hexdigest(name.encode()) + "n")  # the same each time
        for snaks in (reference["snaks"] or {}).values():
            for snak in snaks:
                self._add_snak(target, snak, "reference/")
        self._blanks = self._own_blanks

    def _add_snak(self, subject: bytes, snak: Json, namespace: str, *, has_node: bool = True) -> None:
        name, kind = snak["property"], snak["snaktype"]
        self._losses["hashes of snaks"] += "hash" in snak and has_node
        if kind == "novalue":
            self._add(subject, f"{RDF}type", iri(f"{self._property}novalue/{name}"))
        elif kind == "somevalue":
            self._add(subject, self._property + namespace + name, next(self._blanks))
        else:
            term, node = self._value_of(snak, has_node=has_node)
            if term is not None:
                self._add(subject, self._property + namespace + name, term)
            if node is not None:
                self._add(subject, f"{self._property}{namespace}value/{name}", node)

    # -- values ------------------------------------------------------------------------------------------------------

    def _value_of(self, snak: Json, *, has_node: bool) -> tuple[bytes | None, bytes | None]:
        """Return the term of a value and, for those with details, the node that has them all."""
        datavalue: Json = snak.get("datavalue") or {}
        kind, value = str(datavalue.get("type")), datavalue.get("value", {})
        read = READERS.get(kind) if len(datavalue) == 2 else None
        if kind == "wikibase-entityid" and (name := _entity_name(value)):
            return iri(self._entity + name), None
        if kind == "string" and len(datavalue) == 2:
            return self._string(value, snak.get("datatype"), has_node=has_node), None
        try:
            term, details = (None, {}) if read is None else read(value)
        except (KeyError, TypeError, ValueError):  # a value that lacks a member, or has another for it
            term, details = None, {}
        if term is None:
            self._losses["values of no known form"] += has_node
            return None, None
        if not details or not has_node:
            return term, None
        self._losses["before, after and altitude of values"] += _num_unsaid(value)
        return term, self._node(kind, value, details)

    def _node(self, kind: str, value: Json, details: dict[str, bytes]) -> bytes:
        name = xxhash.xxh3_128_hexdigest(write_json({"type": kind, "value": value}).encode())
        node = iri(self._value + name)
        self._add(node, f"{RDF}type", iri(f"{WIKIBASE}{kind.capitalize()}Value"))
        for predicate, term in details.items():
            self._add(node, WIKIBASE + predicate, term)
        return node

    def _string(self, value: str, datatype: str | None, *, has_node: bool) -> bytes | None:
        if datatype == "url":
            return url(value)
        if datatype in STRING_IRIS and (found := iri_of_string(str(datatype), value)):
            return iri(found)
        if datatype == "math":
            self._losses["formulas"] += has_node
            return None
        return literal(value)


_USES = (
    ("directClaim", "direct/", ""), ("claim", "", "ObjectProperty"), ("statementProperty", "statement/", ""),
    ("statementValue", "statement/value/", "ObjectProperty"), ("qualifier", "qualifier/", ""),
    ("qualifierValue", "qualifier/value/", "ObjectProperty"), ("reference", "reference/", ""),
    ("referenceValue", "reference/value/", "ObjectProperty"), ("novalue", "novalue/", "Class"),
)  # fmt: skip


def blank_nodes(prefix: str) -> Iterator[bytes]:
    """Yield blank nodes, numbered from 1."""
    return (b"_:%b%d" % (prefix.encode(), number) for number in count(1))


def _entity_name(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("id"), str):
        return str(value["id"])
    return LETTERS_BY_TYPE.get(value.get("entity-type", ""), "?") + str(value.get("numeric-id", ""))


def _num_unsaid(value: Json) -> int:
    unsaid = (value.get(member) for member in ("before", "after", "altitude"))
    return sum(number not in (None, "0") for number in unsaid)
