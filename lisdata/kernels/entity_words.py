"""The words of Wikibase's JSON, and how kernels number groups of contents and labels of entities."""

from __future__ import annotations

_WORDS: list[str] = []


def _words(*words: str) -> range:
    """Number further words."""
    first = len(_WORDS)
    _WORDS.extend(words)
    return range(first, len(_WORDS))


GENERAL = _words("\n")[0]  # the symbol of labels that have none: what no name without escapes spells

# -- names of members; those of an entity come first -----------------------------------------------------------------

ID, TYPE, DATATYPE = _words("id", "type", "datatype")
LABELS, DESCRIPTIONS, ALIASES = _words("labels", "descriptions", "aliases")
SITELINKS, CLAIMS, STATEMENTS = _words("sitelinks", "claims", "statements")
FIRST_LEFT_TO_OTHERS = len(_WORDS)  # members of entities that kernels do not read
_words("redirect", "redirects", "lemmas", "lexicalCategory", "language", "forms", "senses", "grammaticalFeatures")
_words("representations", "glosses")
FIRST_INNER = len(_WORDS)
LANGUAGE = _WORDS.index("language")
MAINSNAK, RANK, QUALIFIERS, QUALIFIERS_ORDER, REFERENCES = _words(
    "mainsnak", "rank", "qualifiers", "qualifiers-order", "references"
)
HASH, SNAKS, SNAKS_ORDER = _words("hash", "snaks", "snaks-order")
SNAKTYPE, PROPERTY, DATAVALUE, VALUE = _words("snaktype", "property", "datavalue", "value")
ENTITY_TYPE, NUMERIC_ID, TEXT = _words("entity-type", "numeric-id", "text")
TIME, TIMEZONE, BEFORE, AFTER, PRECISION, CALENDARMODEL = _words(
    "time", "timezone", "before", "after", "precision", "calendarmodel"
)
AMOUNT, UNIT, UPPER_BOUND, LOWER_BOUND = _words("amount", "unit", "upperBound", "lowerBound")
GLOBE, LATITUDE, LONGITUDE, ALTITUDE = _words("globe", "latitude", "longitude", "altitude")
SITE, TITLE, BADGES, URL = _words("site", "title", "badges", "url")
NUM_NAMES = len(_WORDS)  # below 63: a set of names is the bits of a number

# -- values ----------------------------------------------------------------------------------------------------------

STATEMENT, SOMEVALUE, NOVALUE = _words("statement", "somevalue", "novalue")
A_STRING, AN_ENTITY, A_TEXT, A_QUANTITY, A_COORDINATE = _words(
    "string", "wikibase-entityid", "monolingualtext", "quantity", "globecoordinate"
)
ITEM, LEXEME = _words("item", "lexeme")
OF_ITEM, OF_PROPERTY, OF_LEXEME, OF_STRING, OF_COORDINATE = _words(
    "wikibase-item", "wikibase-property", "wikibase-lexeme", "external-id", "globe-coordinate"
)
MEDIA, GEO_SHAPE, TABULAR_DATA, MATH = _words("commonsMedia", "geo-shape", "tabular-data", "math")
ONE, NULL, TABLE, EARTH = _words("1", "null", ".tab", "http://www.wikidata.org/entity/Q2")
FILE_IRI, DATA_IRI = _words(
    "http://commons.wikimedia.org/wiki/Special:FilePath/", "http://commons.wikimedia.org/data/main/"
)
POINT, MARKED_IRI, MARKED_IRI_END = _words("Point(", "<", "> ")
SPACE, CLOSED, PERCENT, HYPHEN = _words(" ", ")", "%", "-")
LAYOUT_BEGIN, LAYOUT_END, LIST_END, AND, MARK = _words("{", "}", "]", ", ", '"')
LAYOUT_EMPTY, LAYOUT_LISTS, LAYOUT_STATEMENTS = _words('"empty": [', '"lists": [', '"statements": "statements"')
WORDS = tuple(_WORDS)
ENTITY_IRI = len(WORDS)  # the word behind them, which an option gives

# -- groups of contents, by name; those of texts in a language follow, by the row of the label that tells so ----------

GROUPS = (
    "entities", "iris", "names", "nulls", "strings", "times", "decimals", "points", "any_uris", "maths", "numbers",
    "json", "handles", "references", "unknowns", "novalues", "texts", "json_strings", "json_integers", "booleans",
)  # fmt: skip
(
    ENTITIES, IRIS, NAMES, NULLS, STRINGS, TIMES, DECIMALS, POINTS, ANY_URIS, MATHS, NUMBERS,
    JSON, HANDLES, OWN_REFERENCES, UNKNOWNS, NOVALUES, TEXTS, JSON_STRINGS, JSON_INTEGERS, BOOLEANS,
) = range(len(GROUPS))  # fmt: skip
FIRST_LANGUAGE = len(GROUPS)

# -- labels: numbers of those of a symbol (a property, a member, a language), and those of symbol GENERAL ------------

INSTANCE_OF, SUBJECT_OF, MEMBER_OF, GROUP_OF = range(4)  # the last is no label: the group of texts in a language
FIRST_DETAIL = 4
DETAILS = (
    "", "precision", "calendar", "timezone", "before", "after", "unit", "upper", "lower", "globe", "altitude",
    "datatype", "hash",
)  # fmt: skip
(
    ITS_VALUE, ITS_PRECISION, ITS_CALENDAR, ITS_TIMEZONE, ITS_BEFORE, ITS_AFTER, ITS_UNIT, ITS_UPPER, ITS_LOWER,
    ITS_GLOBE, ITS_ALTITUDE, ITS_DATATYPE, ITS_HASH,
) = range(len(DETAILS))  # fmt: skip
SIDES = ("value", "qualifier", "reference")
AS_VALUE, AS_QUALIFIER, AS_REFERENCE = range(len(SIDES))

(
    STATEMENT_RANK, STATEMENT_REFERENCE, A_REFERENCE, THE_ENTITY, ENTITY_SUBJECT, ENTITY_TYPED, ENTITY_DATATYPE,
    ENTITY_LAYOUT, A_SITELINK, SITELINK_SUBJECT, SITELINK_SITE, SITELINK_TITLE, SITELINK_URL, SITELINK_BADGE,
    FIRST_OF_TERMS,
) = range(15)  # fmt: skip
SOME_TERMS, TERMS_SUBJECT, TERMS_OBJECT = range(3)  # from FIRST_OF_TERMS on, for labels, descriptions and aliases
LABELS_A_SYMBOL = FIRST_DETAIL + len(SIDES) * len(DETAILS)
