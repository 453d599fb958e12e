"""Values of snaks as contents: one for the value, further ones for its details, and whatever is unusual exactly."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from lisdata.schema import ContentKind
from lisdata.sources.json_text import JsonPath, NumberText, write_json
from lisdata.sources.wikidata_columns import EntityColumns
from lisdata.sources.wikidata_layout import (
    AFTER,
    ALTITUDE,
    ANY_URI,
    BEFORE,
    CALENDAR,
    DATATYPES,
    DECIMAL,
    EARTH,
    GLOBE,
    ID,
    LETTERS_BY_TYPE,
    LOWER,
    MATH,
    NUMERIC_ID,
    POINT,
    PRECISION,
    STRING_IRIS,
    TIME,
    TIMEZONE,
    UNIT,
    UPPER,
    ValueShape,
    WikidataOptions,
    has_numeric_id,
    iri_of_string,
    type_of_id,
)

Value = tuple[tuple[int, ...], str, str]
"""The contents of a value and its details, the names of these (with spaces between), and the usual datatype."""

_LATITUDE = b'"latitude":'
_COORDINATE = re.compile(
    rb'"(?:latitude|longitude|altitude|precision)":\s*(-?[0-9]+(?=[.eE])(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?=[\s,}])'
)
_COORDINATE_BYTES = 300
_USUAL_LETTERS = {"item": "Q", "property": "P"}


class MalformedError(ValueError):
    """A record is no entity; `path` leads to the value that is wrong, from where it was found out."""

    def __init__(self, path: JsonPath, expected: str, found: Any) -> None:
        self.path, self.expected, self.found = path, expected, found
        super().__init__(expected)


class InexactError(ValueError):
    """A value was read by a parser that does not keep all of it: the record has to be read by the exact one."""


class FloatTexts:
    """How the floats of a record's coordinates are written, found when first asked for."""

    def __init__(self, data: bytes = b"") -> None:
        self._data = data
        self._texts: dict[float, list[str]] | None = None

    def __getitem__(self, value: float) -> str:
        """Return the text of a float, which is asked for as often as it stands there.

        InexactError where it was not found that often, or is written in several ways: an equal one that was not seen,
        since its name is escaped or stands elsewhere, may be written otherwise.
        """
        if self._texts is None:
            self._texts = _find_floats(self._data)
        texts = self._texts.get(value)
        if not texts or texts[0] != texts[-1]:
            raise InexactError
        return texts.pop()


def _find_floats(data: bytes) -> dict[float, list[str]]:
    """Return the texts of floats near the latitudes in `data`, sorted: an entry for each that stands there."""
    texts: dict[float, list[str]] = {}
    at, behind = data.find(_LATITUDE), 0
    while at >= 0:
        for match in _COORDINATE.finditer(data, max(behind, at - _COORDINATE_BYTES), at + _COORDINATE_BYTES):
            text = match[1].decode()
            texts.setdefault(float(text), []).append(text)
            behind = match.end()
        at = data.find(_LATITUDE, at + len(_LATITUDE))
    for written in texts.values():
        written.sort()
    return texts


class LanguageGroups(dict[str, int]):
    """The numbers of the groups of texts in a language."""

    __slots__ = ("_columns",)

    def __init__(self, columns: EntityColumns) -> None:
        super().__init__()
        self._columns = columns

    def __missing__(self, language: str) -> int:
        if type(language) is not str:
            raise MalformedError((), "a language", language)
        number = self[language] = self._columns.group(ContentKind.LITERAL, language=language).number
        return number


class ValueReader:
    """Gives the contents of values: `readers` by the type of value, each of the value and its property's datatype.

    For an unusual value a reader returns None, or raises KeyError where a member is missing: such a value is JSON.
    `floats` tells how the floats of coordinates in the record in hand are written. One that it does not know, any that
    stands elsewhere, and whatever else the fast parser does not keep exactly, is an InexactError unless `is_exact`:
    then the record comes from the parser that keeps numbers as they are written.
    """

    def __init__(self, columns: EntityColumns, options: WikidataOptions) -> None:
        self.columns = columns
        self.entities = columns.group(ContentKind.ENTITY, prefix=options.entity_iri)
        self.iris = columns.group(ContentKind.ENTITY)
        self.names = columns.group(ContentKind.NAME)
        self._nulls = columns.group(ContentKind.NULL)
        self.languages = LanguageGroups(columns)
        self.is_exact = False
        self.floats = FloatTexts()
        self._shape = ValueShape(options.entity_iri)
        self._strings = columns.group(ContentKind.LITERAL)
        types = (TIME, DECIMAL, POINT, ANY_URI, MATH)
        self._literals = {datatype: columns.group(ContentKind.LITERAL, datatype=datatype) for datatype in types}
        self._numbers = columns.group(ContentKind.NUMBER)
        self._json = columns.group(ContentKind.JSON)
        self._known_entities: dict[str | None, tuple[str, int, Value | None]] = {}
        self._known_time_shapes: dict[tuple[Any, ...], tuple[tuple[int, ...], str]] = {}
        self._known_iris: dict[tuple[str, str], Value] = {}
        self.readers: dict[str, Callable[[Any, str | None], Value | None]] = {
            "wikibase-entityid": self._entity,
            "string": self._string,
            "monolingualtext": self._text,
            "time": self._time,
            "quantity": self._quantity,
            "globecoordinate": self._coordinate,
        }

    def group_numbers(self) -> dict[str, int]:
        """Return the numbers of groups of contents, by the names that a compiled scan has for them."""
        literals = {"times": TIME, "decimals": DECIMAL, "points": POINT, "any_uris": ANY_URI, "maths": MATH}
        groups = {name: self._literals[datatype] for name, datatype in literals.items()}
        groups |= {"entities": self.entities, "iris": self.iris, "names": self.names, "nulls": self._nulls}
        groups |= {"strings": self._strings, "numbers": self._numbers}
        return {name: group.number for name, group in groups.items()}

    @property
    def null(self) -> int:
        """The content that is null."""
        return self._nulls["null"]

    def json(self, value: Any) -> int:
        """Return the content that is a JSON value as it is written."""
        if not self.is_exact:
            raise InexactError
        return self._json[write_json(value)]

    def number(self, value: Any) -> int:
        """Return the content that is a number as it is written, or null; MalformedError for anything else."""
        return self.null if value is None else self._numbers[self._digits(value)]

    def _digits(self, value: Any) -> str:
        kind = type(value)
        if kind is int or kind is NumberText:
            return str(value)
        if kind is not float:
            raise MalformedError((), "a number", value)
        raise InexactError

    def _coordinate_digits(self, value: Any) -> str:
        return self.floats[value] if type(value) is float else self._digits(value)

    def _coordinate_number(self, value: Any) -> int:
        return self.null if value is None else self._numbers[self._coordinate_digits(value)]

    def _entity(self, value: dict[str, Any], datatype: str | None) -> Value | None:
        number, known = value.get("numeric-id"), self._known_entities.get(value.get("id"))
        if (
            known is None
            or known[1] != number
            or type(number) is not int
            or known[0] != value["entity-type"]
            or len(value) != 3
        ):
            return self._new_entity(value, datatype)
        return None if datatype in STRING_IRIS else known[2]

    def _new_entity(self, value: dict[str, Any], datatype: str | None) -> Value | None:
        name, number, kind = value.get("id"), value.get("numeric-id"), value["entity-type"]
        if len(value) == 3 and type(number) is int and number > 0 and datatype not in STRING_IRIS:
            letter = _USUAL_LETTERS.get(kind)
            if letter is not None and name == f"{letter}{number}":
                usual: Value = (self.entities[name],), "", DATATYPES[kind]
                self._known_entities[name] = (kind, number, usual)
                return usual
        digits = None if number is None else self._digits(number)
        num_members = 1 + (name is not None) + (digits is not None)
        details: list[str] = []
        if name is None and digits is not None and has_numeric_id(kind):
            name = LETTERS_BY_TYPE[kind] + digits
            details.append(ID)
        if len(value) != num_members or name is None or type_of_id(name) != kind or datatype in STRING_IRIS:
            return None
        if has_numeric_id(kind) and digits is None:
            details.append(NUMERIC_ID)
        elif digits != (name[1:] if has_numeric_id(kind) else None):
            return None
        contents = (self.entities[name], *(self.null for _ in details))
        found: Value = (contents, " ".join(details), DATATYPES.get(kind, ""))
        if type(number) is int and not details:
            self._known_entities[name] = (kind, number, found)
        return found

    def _string(self, value: str, datatype: str | None) -> Value | None:
        if type(value) is not str:
            raise MalformedError((), "a string", value)
        if datatype in STRING_IRIS:
            known = self._known_iris.get((datatype, value))
            if known is None:
                known = self._known_iris[datatype, value] = self._string_iri(value, datatype)
            return known
        if datatype == "math":
            return (self._literals[MATH][value],), "", datatype
        return (self.columns.add(self._strings.number, value),), "", "external-id"

    def _string_iri(self, value: str, datatype: str) -> Value:
        iri = iri_of_string(datatype, value)
        if iri is not None:
            return (self.iris[iri],), "", self._shape.datatype(ContentKind.ENTITY, iri, None, None)
        if datatype == "url":
            return (self._literals[ANY_URI][value],), "", datatype
        return (self._strings[value],), "", "external-id"

    def _text(self, value: dict[str, Any], datatype: str | None) -> Value | None:
        text = value["text"]
        if type(text) is not str:
            raise MalformedError((), "a string", text)
        if len(value) != 2:
            return None
        return (self.columns.add(self.languages[value["language"]], text),), "", "monolingualtext"

    def _time(self, value: dict[str, Any], datatype: str | None) -> Value | None:
        time, timezone, before, after = value["time"], value["timezone"], value["before"], value["after"]
        precision = value["precision"]
        shape = (precision, value["calendarmodel"], timezone, before, after)
        if len(value) != 1 + len(shape):
            return None
        # True and 1.0 are equal to 1
        is_plain = type(precision) is type(timezone) is type(before) is type(after) is int
        known = self._known_time_shapes.get(shape) if is_plain else None
        content = self._literals[TIME][time]
        if known is None:
            known = self._time_shape(*shape)
            if is_plain:
                self._known_time_shapes[shape] = known
        return (content, *known[0]), known[1], "time"

    def _time_shape(self, precision: Any, calendar: str, *others: Any) -> tuple[tuple[int, ...], str]:
        """Return the contents and the names of a time's details, of which there are few: all times have one of them."""
        contents, details = [self.number(precision), self.iris[calendar]], [PRECISION, CALENDAR]
        for detail, number in zip((TIMEZONE, BEFORE, AFTER), others, strict=True):
            if number is None or self._digits(number) != "0":
                contents.append(self.number(number))
                details.append(detail)
        return tuple(contents), " ".join(details)

    def _quantity(self, value: dict[str, Any], datatype: str | None) -> Value | None:
        decimals, unit = self._literals[DECIMAL], value["unit"]
        contents, details = [decimals[value["amount"]]], []
        if unit != "1":
            contents.append(self.iris[unit])
            details.append(UNIT)
        for member, detail in (("upperBound", UPPER), ("lowerBound", LOWER)):
            if member in value:
                contents.append(decimals[value[member]])
                details.append(detail)
        if len(value) != len(contents) + (unit == "1"):
            return None
        return tuple(contents), " ".join(details), "quantity"

    def _coordinate(self, value: dict[str, Any], datatype: str | None) -> Value | None:
        globe, latitude, longitude = value["globe"], value["latitude"], value["longitude"]
        if latitude is None or longitude is None:
            return None
        point = f"Point({self._coordinate_digits(longitude)} {self._coordinate_digits(latitude)})"
        point = point if globe == EARTH else f"<{globe}> {point}"
        contents, details = [self._literals[POINT][point], self._coordinate_number(value["precision"])], [PRECISION]
        if "altitude" in value:
            contents.append(self._coordinate_number(value["altitude"]))
            details.append(ALTITUDE)
        contents.append(self.iris[globe])
        details.append(GLOBE)
        if len(value) != 1 + len(contents):
            return None
        return tuple(contents), " ".join(details), "globe-coordinate"
