"""Values of Wikibase's JSON as RDF terms, and what the nodes of full values say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from lisdata.contents import encode_text
from lisdata.exporters.wikidata_dates import to_date_time
from lisdata.sources.ntriples_terms import escape_iri, escape_string
from lisdata.sources.percent_encoding import percent_encode
from lisdata.sources.wikidata_layout import DECIMAL, EARTH, POINT

XSD = "http://www.w3.org/2001/XMLSchema#"
ONE = "http://www.wikidata.org/entity/Q199"  # the unit of numbers without one
_NOT_IN_IRIS = re.compile(r"[\x00-\x20<>\"{}|\\^`]")
Json = dict[str, Any]
Details = dict[str, bytes]


def iri(text: str) -> bytes:
    """Return an IRI as a term."""
    return b"<" + escape_iri(encode_text(text)) + b">"


def literal(text: str, *, datatype: str = "", language: str = "") -> bytes:
    """Return a literal as a term."""
    quoted = b'"' + escape_string(encode_text(text)) + b'"'
    if language:
        return quoted + b"@" + language.encode()
    return quoted + b"^^" + iri(datatype) if datatype else quoted


def url(text: str) -> bytes:
    """Return a URL as a term, with escapes for what cannot stand in an IRI."""
    return iri(_NOT_IN_IRIS.sub(lambda match: percent_encode(match[0]), text))


def _text(value: Json) -> tuple[bytes, Details]:
    return literal(value["text"], language=value["language"]), {}


def _time(value: Json) -> tuple[bytes, Details]:
    cleaned = to_date_time(value["time"], int(value["precision"]), value["calendarmodel"])
    term = literal(value["time"]) if cleaned is None else literal(cleaned, datatype=f"{XSD}dateTime")
    return term, {
        "timeValue": term,
        "timePrecision": literal(value["precision"], datatype=f"{XSD}integer"),
        "timeTimezone": literal(value["timezone"], datatype=f"{XSD}integer"),
        "timeCalendarModel": iri(value["calendarmodel"]),
    }


def _quantity(value: Json) -> tuple[bytes, Details]:
    term = literal(value["amount"], datatype=DECIMAL)
    details = {"quantityAmount": term}
    for member, predicate in (("upperBound", "quantityUpperBound"), ("lowerBound", "quantityLowerBound")):
        if member in value:
            details[predicate] = literal(value[member], datatype=DECIMAL)
    return term, details | {"quantityUnit": iri(ONE if value["unit"] == "1" else value["unit"])}


def _coordinate(value: Json) -> tuple[bytes, Details]:
    globe, point = value["globe"], f"Point({value['longitude']} {value['latitude']})"
    details = {
        predicate: literal(value[member], datatype=f"{XSD}double")
        for member, predicate in (
            ("latitude", "geoLatitude"), ("longitude", "geoLongitude"), ("precision", "geoPrecision")
        )
        if value[member] is not None
    }  # fmt: skip
    term = literal(point if globe == EARTH else f"<{globe}> {point}", datatype=POINT)
    return term, details | {"geoGlobe": iri(globe)}


READERS: dict[str, Callable[[Json], tuple[bytes, Details]]] = {
    "monolingualtext": _text,
    "time": _time,
    "quantity": _quantity,
    "globecoordinate": _coordinate,
}
"""By the type of a value: its term, and what its node says, by the predicate's name in Wikibase's ontology."""
