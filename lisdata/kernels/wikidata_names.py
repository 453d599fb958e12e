"""What kernels know of Wikibase's JSON: the names of members, and numbers for groups of contents and for labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from lisdata.kernels.compiled import inner
from lisdata.kernels.json_members import is_name, packed_names, take_members

_OBJECTS = (  # members in the order that Wikibase writes them in
    ("mainsnak", "type", "qualifiers", "qualifiers-order", "id", "rank", "references"),
    ("snaktype", "property", "hash", "datavalue", "datatype"),
    ("hash", "snaks", "snaks-order"),
    ("value", "type"),
    ("entity-type", "numeric-id", "id"),
    ("time", "timezone", "before", "after", "precision", "calendarmodel"),
    ("amount", "unit", "upperBound", "lowerBound"),
    ("latitude", "longitude", "altitude", "precision", "globe"),
    ("text", "language"),
    ("language", "value"),
    ("site", "title", "badges"),
)
(
    STATEMENT, SNAK, REFERENCE, DATAVALUE, ENTITY_VALUE, TIME_VALUE, QUANTITY_VALUE, COORDINATE_VALUE, TEXT_VALUE,
    TERM, SITELINK,
) = range(len(_OBJECTS))  # fmt: skip
_BOUNDS = np.cumsum([0, *map(len, _OBJECTS)])
NUM_MEMBERS = int(_BOUNDS[-1])
(
    MAINSNAK, STATEMENT_TYPE, QUALIFIERS, QUALIFIERS_ORDER, STATEMENT_ID, RANK, REFERENCES,
    SNAKTYPE, PROPERTY, SNAK_HASH, SNAK_DATAVALUE, DATATYPE,
    REFERENCE_HASH, SNAKS, SNAKS_ORDER,
    VALUE, VALUE_TYPE,
    ENTITY_TYPE, NUMERIC_ID, ENTITY_ID,
    TIME, TIMEZONE, BEFORE, AFTER, TIME_PRECISION, CALENDAR,
    AMOUNT, UNIT, UPPER, LOWER,
    LATITUDE, LONGITUDE, ALTITUDE, COORDINATE_PRECISION, GLOBE,
    TEXT, TEXT_LANGUAGE,
    TERM_LANGUAGE, TERM_TEXT,
    SITE, TITLE, BADGES,
) = range(NUM_MEMBERS)  # fmt: skip

_WORDS = (
    "statement", "value", "somevalue", "novalue", "1",
    "wikibase-entityid", "string", "monolingualtext", "time", "quantity", "globecoordinate",
    "item", "property", "lexeme", "mediainfo", "entity-schema", "form", "sense",
    "wikibase-item", "wikibase-property", "wikibase-lexeme", "", "entity-schema", "wikibase-form", "wikibase-sense",
    "external-id", "url", "commonsMedia", "geo-shape", "tabular-data", "math", "monolingualtext", "time", "quantity",
    "globe-coordinate", "http://www.wikidata.org/entity/Q2",
)  # fmt: skip
(
    WORD_STATEMENT, WORD_VALUE, WORD_SOMEVALUE, WORD_NOVALUE, WORD_ONE,
    TYPE_ENTITY, TYPE_STRING, TYPE_TEXT, TYPE_TIME, TYPE_QUANTITY, TYPE_COORDINATE,
    KIND_ITEM, KIND_PROPERTY, KIND_LEXEME, KIND_MEDIAINFO, KIND_SCHEMA, KIND_FORM, KIND_SENSE,
    OF_ITEM, OF_PROPERTY, OF_LEXEME, OF_MEDIAINFO, OF_SCHEMA, OF_FORM, OF_SENSE,
    OF_STRING, OF_URL, OF_FILE, OF_SHAPE, OF_TABLE, OF_MATH, OF_TEXT, OF_TIME, OF_QUANTITY,
    OF_COORDINATE, WORD_EARTH,
) = range(NUM_MEMBERS, NUM_MEMBERS + len(_WORDS))  # fmt: skip
REFUSED = -1
"""Instead of the datatype (OF_...) that a value usually has: the value is not one that kernels take."""

_SPELLED, _SIZES = packed_names((*(name for members in _OBJECTS for name in members), *_WORDS))

GROUPS = (
    "entities", "iris", "names", "nulls", "strings", "times", "decimals", "points", "uris", "formulas", "numbers",
    "novalues", "unknowns", "statements", "references", "titles",
)  # fmt: skip
(
    ENTITIES, IRIS, NAMES, NULLS, STRINGS, TIMES, DECIMALS, POINTS, URIS, FORMULAS, NUMBERS,
    NOVALUES, UNKNOWNS, STATEMENTS, REFERENCE_HASHES, TITLES,
) = range(len(GROUPS))  # fmt: skip
FIRST_LANGUAGE = len(GROUPS)
"""The group of texts in the language that is symbol 0; that of symbol s is s further."""

PIECES, PROPERTIES, LANGUAGES = range(3)
"""Groups of symbols: texts that others begin with, then properties and languages as they come."""

ENTITY_IRI, REFERENCE_IRI, FILE_IRI, TABLE_IRI, NULL_TEXT, POINT_TEXT = range(6)
"""The first symbols, which are given; labels of no property are those of symbol 0."""

DETAILS = (
    "", "precision", "calendar", "timezone", "before", "after", "unit", "upper", "lower", "globe", "altitude",
    "datatype", "hash",
)  # fmt: skip
(
    THE_VALUE, ITS_PRECISION, ITS_CALENDAR, ITS_TIMEZONE, ITS_BEFORE, ITS_AFTER, ITS_UNIT, ITS_UPPER, ITS_LOWER,
    ITS_GLOBE, ITS_ALTITUDE, ITS_DATATYPE, ITS_HASH,
) = range(len(DETAILS))  # fmt: skip
MAIN, OF_QUALIFIER, OF_REFERENCE = range(3)
"""Sides: the role of a detail of a side is label number side * len(DETAILS) + detail of the property."""
SUBJECT_OF, INSTANCE_OF = 3 * len(DETAILS), 3 * len(DETAILS) + 1
LABELS_A_SYMBOL = INSTANCE_OF + 1

GENERAL = ("rank", "reference", "references")
ITS_RANK, ITS_REFERENCE, A_REFERENCE, FIRST_MAP = range(len(GENERAL) + 1)
"""Labels of symbol 0: a statement's roles, the instance of a reference, and from FIRST_MAP on LABELS_A_MAP a map."""
MAPS = ("labels", "descriptions", "aliases", "lemmas", "representations", "glosses", "sitelinks")
ALIASES, SITELINKS, CLAIMS = 2, 6, 7
MAP_SUBJECT, MAP_INSTANCE, MAP_OBJECT, MAP_SITE, MAP_BADGE = 0, 1, 2, 3, 4
LABELS_A_MAP = 5
"""Of a map of texts: subject, instance, object; of sitelinks subject, instance, title, site, badge."""


@inner
def is_word(tokens: Any, token: Any, name: Any) -> Any:
    """Tell whether a token is the string that is one of the words above."""
    return is_name(tokens, token, _SPELLED, _SIZES, name)


@inner
def members_of(tokens: Any, token: Any, shape: Any, members: Any) -> Any:
    """Put the values of an object's members into `members`; tell whether it has the members of a shape (or fewer)."""
    return take_members(tokens, token, _SPELLED, _SIZES, _BOUNDS[shape], _BOUNDS[shape + 1], members)
