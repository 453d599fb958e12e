"""What is wrong with a record that is no entity: found out only where the quick way did not come through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lisdata.sources.json_text import JsonPath, NumberText
from lisdata.sources.wikidata_layout import (
    LINKS,
    PARTS,
    SINGLE_LINKS,
    STATEMENT_MAPS,
    TERMS,
    is_entity_id,
    is_property_id,
    is_utf8,
)
from lisdata.sources.wikidata_values import MalformedError

Check = Callable[[JsonPath, Any], None]


def check_entity(value: Any) -> None:
    """Raise MalformedError, with the path from the record, unless the value is an entity or a redirect.

    What is not known to Wikibase is let through, and so is what is not there; numbers are `NumberText`.
    """
    members = _object((), value, "an entity")
    if "redirect" in members:
        for name in ("entity", "redirect"):
            _entity_id((name,), _member((), members, name))
        if len(members) > 2:
            extra = next(name for name in members if name not in ("entity", "redirect"))
            raise MalformedError((extra,), "no member but entity and redirect", members[extra])
        return
    _check_parts((), members)


def _check_parts(path: JsonPath, members: dict[str, Any]) -> None:
    """Check an entity, or a form or sense that is a part of one."""
    _entity_id((*path, "id"), _member(path, members, "id"))
    for name in ("type", "datatype"):
        if name in members:
            _text((*path, name), members[name])
    for name, value in members.items():
        here = (*path, name)
        if name in STATEMENT_MAPS:
            _check_map(here, value, _check_statements)
        elif name in TERMS:
            _check_map(here, value, _check_aliases if name == "aliases" else _check_term)
        elif name == "sitelinks":
            _check_map(here, value, _check_sitelink)
        elif name == "redirects":
            for end in ("from", "to"):
                _text((*here, end), _member(here, _object(here, value, "a redirect"), end))
        elif name in SINGLE_LINKS:
            _text(here, value)
        elif name in LINKS:
            for number, item in enumerate(_array(here, value)):
                _check_link((*here, number), item, is_part=name in PARTS)


def _check_link(path: JsonPath, value: Any, *, is_part: bool) -> None:
    if is_part:
        _check_parts(path, _object(path, value, "an entity"))
    else:
        _text(path, value)


def _check_map(path: JsonPath, value: Any, check: Check) -> None:
    if value == [] and isinstance(value, list):
        return  # how Wikibase used to write an empty map
    for name, item in _object(path, value, "a map").items():
        check((*path, name), item)


def _check_term(path: JsonPath, value: Any) -> None:
    members = _object(path, value, "a text in a language")
    for name in ("language", "value"):
        _text((*path, name), _member(path, members, name))
    if not is_utf8(members["language"]):
        raise MalformedError((*path, "language"), "UTF-8", members["language"])


def _check_aliases(path: JsonPath, value: Any) -> None:
    for number, item in enumerate(_array(path, value)):
        _check_term((*path, number), item)


def _check_sitelink(path: JsonPath, value: Any) -> None:
    members = _object(path, value, "a link to a page")
    for name in ("site", "title"):
        _text((*path, name), _member(path, members, name))
    for number, badge in enumerate(_array((*path, "badges"), _member(path, members, "badges"))):
        _text((*path, "badges", number), badge)
    if "url" in members:
        _text((*path, "url"), members["url"])


# -- statements ------------------------------------------------------------------------------------------------------


def _check_statements(path: JsonPath, value: Any) -> None:
    _property_id(path)
    for number, item in enumerate(_array(path, value)):
        here = (*path, number)
        members = _object(here, item, "a statement")
        _check_snak((*here, "mainsnak"), _member(here, members, "mainsnak"), str(path[-1]))
        for name in ("id", "rank", "type"):
            if name in members:
                _text((*here, name), members[name])
        if members.get("qualifiers"):
            _check_snaks((*here, "qualifiers"), members["qualifiers"])
        if members.get("references"):
            for position, reference in enumerate(_array((*here, "references"), members["references"])):
                _check_reference((*here, "references", position), reference)


def _check_reference(path: JsonPath, value: Any) -> None:
    members = _object(path, value, "a reference")
    if "hash" in members:
        _text((*path, "hash"), members["hash"])
    snaks = _member(path, members, "snaks")
    if snaks != []:
        _check_snaks((*path, "snaks"), snaks)


def _check_snaks(path: JsonPath, value: Any) -> None:
    for name, listed in _object(path, value, "a map").items():
        here = (*path, name)
        _property_id(here)
        if not _array(here, listed):
            raise MalformedError(here, "at least one snak", listed)
        for position, snak in enumerate(listed):
            _check_snak((*here, position), snak, name)


def _check_snak(path: JsonPath, value: Any, name: str) -> None:
    members = _object(path, value, "a snak")
    kind = _member(path, members, "snaktype")
    if kind not in ("value", "somevalue", "novalue"):
        raise MalformedError((*path, "snaktype"), "value, somevalue or novalue", kind)
    if _member(path, members, "property") != name:
        raise MalformedError((*path, "property"), f"{name}, which this is listed under", members["property"])
    if "hash" in members:
        _text((*path, "hash"), members["hash"])
    if members.get("datatype") is not None:
        _text((*path, "datatype"), members["datatype"])
    if kind == "value" and "datavalue" in members:
        here = (*path, "datavalue")
        datavalue = _object(here, members["datavalue"], "a value with its type")
        kind, found = (_member(here, datavalue, member) for member in ("type", "value"))
        _text((*here, "type"), kind)
        _check_value((*here, "value"), found, kind)


_VALUE_MEMBERS: dict[str, dict[str, tuple[str, ...]]] = {
    "wikibase-entityid": {"text": ("entity-type", "id"), "number": ("numeric-id",)},
    "monolingualtext": {"text": ("language", "text")},
    "time": {"text": ("time", "calendarmodel"), "number": ("timezone", "before", "after", "precision")},
    "quantity": {"text": ("amount", "unit", "upperBound", "lowerBound")},
    "globecoordinate": {"text": ("globe",), "number": ("latitude", "longitude", "altitude", "precision")},
}


def _check_value(path: JsonPath, value: Any, kind: str) -> None:
    if kind == "string":
        _text(path, value)
    if kind not in _VALUE_MEMBERS:
        return
    members = _object(path, value, f"a value of type {kind}")
    for name in _VALUE_MEMBERS[kind].get("text", ()):
        if name in members:
            _text((*path, name), members[name])
    for name in _VALUE_MEMBERS[kind].get("number", ()):
        if members.get(name) is not None and not isinstance(members[name], NumberText):
            raise MalformedError((*path, name), "a number", members[name])
    if kind == "monolingualtext" and not is_utf8(members.get("language", "")):
        raise MalformedError((*path, "language"), "UTF-8", members["language"])


# -- shapes ----------------------------------------------------------------------------------------------------------


def _object(path: JsonPath, value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedError(path, f"an object, {what}", value)
    return value


def _array(path: JsonPath, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise MalformedError(path, "an array", value)
    return value


def _member(path: JsonPath, members: dict[str, Any], name: str) -> Any:
    if name not in members:
        raise MalformedError(path, f"an object with a member {name}", members)
    return members[name]


def _text(path: JsonPath, value: Any) -> None:
    if not isinstance(value, str) or isinstance(value, NumberText):
        raise MalformedError(path, "a string", value)


def _entity_id(path: JsonPath, value: Any) -> None:
    _text(path, value)
    if not is_entity_id(value):
        raise MalformedError(path, "the id of an entity, such as Q42", value)


def _property_id(path: JsonPath) -> None:
    if not is_property_id(path[-1]):
        raise MalformedError(path[:-1], "properties such as P31 for names", path[-1])
