"""Values and snaks of Wikibase's JSON from the participants of facts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lisdata.contents import Content, decode_text
from lisdata.exporters.wikidata_facts import Participant
from lisdata.schema import ContentKind
from lisdata.sources.json_text import NumberText, read_json
from lisdata.sources.wikidata_layout import (
    AFTER,
    ALTITUDE,
    BEFORE,
    CALENDAR,
    DATATYPE,
    DECIMAL,
    EARTH,
    EXTRA,
    GLOBE,
    HASH,
    ID,
    LOWER,
    NUMERIC_ID,
    POINT,
    PRECISION,
    STRING_IRIS,
    TIME,
    TIMEZONE,
    UNIT,
    UPPER,
    ValueShape,
    has_numeric_id,
    string_of_iri,
    type_of_id,
)

Details = dict[str, Content]


class SnakReader:
    """Makes snaks from a value and its details."""

    def __init__(self, entity_iri: str) -> None:
        self._entity_iri = entity_iri
        self._shape = ValueShape(entity_iri)

    def snaks(self, participants: Iterable[Participant], side: str) -> list[tuple[str, dict[str, Any]]]:
        """Return (property, snak) for each value in roles of `side`, in order of first appearance and of position."""
        values: dict[str, dict[int, Details]] = {}
        for participant in participants:
            base, _, detail = participant.side.partition(".")
            if base == side and participant.relation.startswith(self._entity_iri):
                places = values.setdefault(participant.relation[len(self._entity_iri) :], {})
                places.setdefault(participant.position, {})[detail] = participant.content
        return [
            (name, self._snak(name, places[position]))
            for name, places in values.items()
            for position in sorted(places)
            if "" in places[position]
        ]

    def _snak(self, name: str, details: Details) -> dict[str, Any]:
        value = details[""]
        snak: dict[str, Any] = {"snaktype": "value", "property": name}
        if HASH in details:
            snak["hash"] = decode_text(details[HASH].lexical)
        text = decode_text(value.lexical)
        usual = self._shape.datatype(value.kind, text, value.datatype, value.language)
        named = (usual or None) if DATATYPE not in details else _name(details[DATATYPE])
        if value.kind == ContentKind.SOMEVALUE:
            snak["snaktype"] = "somevalue"
        elif value.kind == ContentKind.NOVALUE:
            snak["snaktype"] = "novalue"
        elif value.kind != ContentKind.NULL:
            snak["datavalue"] = self._datavalue(value, text, named, details)
        if named is not None:
            snak["datatype"] = named
        if EXTRA in details:
            snak |= read_json(decode_text(details[EXTRA].lexical))
        return snak

    def _datavalue(self, value: Content, text: str, datatype: str | None, details: Details) -> Any:
        if value.kind == ContentKind.JSON:
            return read_json(text)
        if value.kind == ContentKind.ENTITY:
            if datatype in STRING_IRIS:
                return {"value": string_of_iri(datatype, text), "type": "string"}
            return {"value": self._entity(text.removeprefix(self._entity_iri), details), "type": "wikibase-entityid"}
        if value.language is not None:
            return {"value": {"text": text, "language": value.language}, "type": "monolingualtext"}
        if value.datatype == TIME:
            return {"value": _time(text, details), "type": "time"}
        if value.datatype == DECIMAL:
            return {"value": _quantity(text, details), "type": "quantity"}
        if value.datatype == POINT:
            return {"value": _coordinate(text, details), "type": "globecoordinate"}
        return {"value": text, "type": "string"}

    def _entity(self, name: str, details: Details) -> dict[str, Any]:
        kind = type_of_id(name)
        value: dict[str, Any] = {"entity-type": kind}
        if has_numeric_id(kind) and NUMERIC_ID not in details:
            value["numeric-id"] = NumberText(name[1:])
        if ID not in details:
            value["id"] = name
        return value


def _name(content: Content) -> str | None:
    """Return a name, None for null."""
    return decode_text(content.lexical) if content.kind == ContentKind.NAME else None


def _number(content: Content | None, default: str | None = None) -> NumberText | None:
    """Return a number, None for null (or where there is neither)."""
    if content is None:
        return None if default is None else NumberText(default)
    return None if content.kind == ContentKind.NULL else NumberText(content.lexical.decode())


def _text(content: Content | None, default: str = "") -> str:
    return default if content is None else decode_text(content.lexical)


def _time(text: str, details: Details) -> dict[str, Any]:
    return {
        "time": text,
        "timezone": _number(details.get(TIMEZONE), "0"),
        "before": _number(details.get(BEFORE), "0"),
        "after": _number(details.get(AFTER), "0"),
        "precision": _number(details.get(PRECISION)),
        "calendarmodel": _text(details.get(CALENDAR)),
    }


def _quantity(text: str, details: Details) -> dict[str, Any]:
    value = {"amount": text, "unit": _text(details.get(UNIT), "1")}
    for detail, member in ((UPPER, "upperBound"), (LOWER, "lowerBound")):
        if detail in details:
            value[member] = _text(details[detail])
    return value


def _coordinate(text: str, details: Details) -> dict[str, Any]:
    globe = _text(details.get(GLOBE), EARTH)
    longitude, latitude = text.removeprefix(f"<{globe}> ").removeprefix("Point(").removesuffix(")").split(" ")
    value: dict[str, Any] = {"latitude": NumberText(latitude), "longitude": NumberText(longitude)}
    if ALTITUDE in details:
        value["altitude"] = _number(details[ALTITUDE])
    return value | {"precision": _number(details.get(PRECISION)), "globe": globe}
