"""How Wikidata's entities stand in contents and roles: the grammar that the source writes and the exporter reads."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from lisdata.schema import ContentKind
from lisdata.sources.percent_encoding import percent_decode, percent_encode

WIKIBASE = "http://wikiba.se/ontology#"
TIME, MATH = f"{WIKIBASE}Time", f"{WIKIBASE}Math"
DECIMAL = "http://www.w3.org/2001/XMLSchema#decimal"
ANY_URI = "http://www.w3.org/2001/XMLSchema#anyURI"
POINT = "http://www.opengis.net/ont/geosparql#wktLiteral"
EARTH = "http://www.wikidata.org/entity/Q2"
COMMONS_FILE = "http://commons.wikimedia.org/wiki/Special:FilePath/"
COMMONS_DATA = "http://commons.wikimedia.org/data/main/"

# -- instances and the roles in them; a statement's instance is called by the IRI of its property ---------------------

ENTITY, REFERENCE, SITELINK, DOCUMENT = "entity", "reference", "sitelink", "document"
STATEMENT = "statement"  # the relation of roles that every statement may have
SUBJECT, OBJECT, VALUE, QUALIFIER = "subject", "object", "value", "qualifier"
RANK, TYPE, EXTRA, ORDER = "rank", "type", "extra", "order"
MEMBER, MEMBERS, LAYOUT, DROPPED, KEY, FORM = "member:", "members", "layout", "dropped", "key", "form"
SITE, TITLE, BADGE, BADGES, URL = "site", "title", "badge", "badges", "url"

TERMS = {
    "labels": "http://www.w3.org/2000/01/rdf-schema#label",
    "descriptions": "http://schema.org/description",
    "aliases": "http://www.w3.org/2004/02/skos/core#altLabel",
    "lemmas": f"{WIKIBASE}lemma",
    "representations": "http://www.w3.org/ns/lemon/ontolex#representation",
    "glosses": "http://www.w3.org/2004/02/skos/core#definition",
}
"""Members that map languages to texts, and the relations that these are in with their entity, as in RDF."""

LINKS = {
    "lexicalCategory": f"{WIKIBASE}lexicalCategory",
    "language": "http://purl.org/dc/terms/language",
    "grammaticalFeatures": f"{WIKIBASE}grammaticalFeature",
    "forms": "http://www.w3.org/ns/lemon/ontolex#lexicalForm",
    "senses": "http://www.w3.org/ns/lemon/ontolex#sense",
}
"""Members that name other entities: one, a list of ids, or a list of entities that stand inside this one."""

SINGLE_LINKS = ("lexicalCategory", "language")
PARTS = ("forms", "senses")
SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"
STATEMENT_MAPS = ("claims", "statements")

SHAPES = {
    **dict.fromkeys((*TERMS, "sitelinks", *STATEMENT_MAPS), dict),
    **dict.fromkeys((*PARTS, "grammaticalFeatures"), list),
}
"""What members are when they are empty, but for a map that is written as []."""

# -- details of a value: the side of its role is the side of the value's, a dot, and one of these ---------------------

DATATYPE, HASH = "datatype", "hash"
PRECISION, CALENDAR, TIMEZONE, BEFORE, AFTER = "precision", "calendar", "timezone", "before", "after"
UNIT, UPPER, LOWER = "unit", "upper", "lower"
GLOBE, ALTITUDE = "globe", "altitude"
ID, NUMERIC_ID = "id", "numeric-id"

DATATYPES = {  # of a property whose values are entities, by the type of entity
    "item": "wikibase-item",
    "property": "wikibase-property",
    "lexeme": "wikibase-lexeme",
    "form": "wikibase-form",
    "sense": "wikibase-sense",
    "entity-schema": "entity-schema",
}
_TYPES_BY_LETTERS = {
    "Q": "item", "P": "property", "L": "lexeme", "LF": "form", "LS": "sense", "E": "entity-schema", "M": "mediainfo",
}  # fmt: skip
LETTERS_BY_TYPE = {name: letters for letters, name in _TYPES_BY_LETTERS.items()}
_ENTITY_ID = re.compile(r"([A-Z])[1-9][0-9]*(?:-([A-Z])[1-9][0-9]*)?")
_PLAIN_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")
STRING_IRIS = ("url", "commonsMedia", "geo-shape", "tabular-data")
"""Datatypes whose values are strings that RDF has IRIs for."""
_UNESCAPED = ";@$!*(),/~:"  # by MediaWiki's way to write titles in URLs


@dataclass(frozen=True, slots=True, kw_only=True)
class WikidataOptions:
    """Options of source wikidata."""

    group: Literal["entity", "statement"] = field(
        default="entity",
        metadata={"help": "What one structure holds: all facts of an entity, or one statement and its references."},
    )
    labels: bool = field(default=True, metadata={"help": "Keep labels (also lemmas, representations of forms)."})
    descriptions: bool = field(default=True, metadata={"help": "Keep descriptions (also glosses of senses)."})
    aliases: bool = field(default=True, metadata={"help": "Keep aliases."})
    sitelinks: bool = field(default=True, metadata={"help": "Keep links to pages of Wikipedia and its sisters."})
    hashes: bool = field(default=True, metadata={"help": "Keep the hashes of snaks, which say nothing new."})
    truthy: bool = field(
        default=False,
        metadata={"help": "Keep only each property's best statements, and of these subject and value alone."},
    )
    language: tuple[str, ...] = field(
        default=(), metadata={"help": "Keep labels, descriptions, aliases and the like in these languages only."}
    )
    property: tuple[str, ...] = field(default=(), metadata={"help": "Keep statements of these properties only."})
    entity_iri: str = field(
        default="http://www.wikidata.org/entity/", metadata={"help": "What an entity's id is put behind to name it."}
    )
    reference_iri: str = field(
        default="http://www.wikidata.org/reference/",
        metadata={"help": "What a reference's hash is put behind to name it."},
    )
    max_document_bytes: int = field(
        default=1 << 28, metadata={"help": "Refuse a longer record, which would have to be held in memory whole."}
    )

    def __post_init__(self) -> None:
        for name in ("entity_iri", "reference_iri"):
            if not _PLAIN_IRI.fullmatch(getattr(self, name)):
                raise ValueError(f"expected {name} to be an IRI, got {getattr(self, name)!r}")
        if self.max_document_bytes < 1:
            raise ValueError(f"expected a limit of at least 1 byte, got {self.max_document_bytes=}")
        wrong = [name for name in self.property if not is_property_id(name)]
        if wrong:
            raise ValueError(f"expected properties such as P31, got {', '.join(wrong)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityLayout:
    """How an entity is written beyond what it says; the defaults are what most entities have.

    `empty` names members that are there without an entry, `lists` those that are [] where a map is meant. `statements`
    is the name of the member that holds the statements. `no_statements` names properties with an empty list of them.
    """

    empty: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    statements: str = "claims"
    no_statements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ValueShape:
    """What a content alone says about the value that it stands for: its property's datatype."""

    entity_iri: str

    def datatype(self, kind: ContentKind, lexical: str, literal_datatype: str | None, language: str | None) -> str:
        """Return the datatype that a snak with this value usually has; "" where nothing can be said."""
        if kind == ContentKind.ENTITY:
            return self._datatype_of_iri(lexical)
        if kind != ContentKind.LITERAL:
            return ""
        if language is not None:
            return "monolingualtext"
        return _LITERAL_DATATYPES.get(literal_datatype, "")

    def _datatype_of_iri(self, iri: str) -> str:
        if iri.startswith(self.entity_iri) and (name := type_of_id(iri[len(self.entity_iri) :])):
            return DATATYPES.get(name, "")
        if iri.startswith(COMMONS_FILE):
            return "commonsMedia"
        if iri.startswith(COMMONS_DATA):
            return "tabular-data" if iri.endswith(".tab") else "geo-shape"
        return "url"


_LITERAL_DATATYPES = {
    None: "external-id", TIME: "time", DECIMAL: "quantity", POINT: "globe-coordinate", ANY_URI: "url", MATH: "math",
}  # fmt: skip


def is_utf8(text: str) -> bool:
    """Tell whether UTF-8 can hold `text`: whether it has no lone surrogates."""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def is_entity_id(name: str) -> bool:
    """Tell whether `name` has the form of an entity's id, as Q42 and L3-F1 have."""
    return _ENTITY_ID.fullmatch(name) is not None


def is_property_id(name: object) -> bool:
    """Tell whether `name` is the id of a property."""
    return isinstance(name, str) and name.startswith("P") and name.isascii() and name[1:].isdigit()


def type_of_id(name: str) -> str:
    """Return the type of entity that an id names; "" for one that is not known, or no id."""
    match = _ENTITY_ID.fullmatch(name)
    return "" if match is None else _TYPES_BY_LETTERS.get("".join(filter(None, match.groups())), "")


def has_numeric_id(entity_type: str) -> bool:
    """Tell whether the ids of this type of entity are a letter and a number."""
    return len(LETTERS_BY_TYPE.get(entity_type, "")) == 1 and entity_type != "entity-schema"


def iri_of_string(datatype: str, text: str) -> str | None:
    """Return the IRI that RDF has for a value of type string; None where it has none that `text` comes back from."""
    if not is_utf8(text):
        return None
    if datatype == "url":
        return text if _PLAIN_IRI.fullmatch(text) else None
    if datatype == "commonsMedia":
        return COMMONS_FILE + percent_encode(text)
    iri = COMMONS_DATA + percent_encode(text.replace(" ", "_"), _UNESCAPED)
    return iri if string_of_iri(datatype, iri) == text else None


def string_of_iri(datatype: str, iri: str) -> str:
    """Undo `iri_of_string`."""
    if datatype == "url":
        return iri
    if datatype == "commonsMedia":
        return percent_decode(iri.removeprefix(COMMONS_FILE))
    return percent_decode(iri.removeprefix(COMMONS_DATA)).replace("_", " ")
