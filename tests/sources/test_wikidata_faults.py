from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_entities import BORN, HUMAN, LINES, POINT, entity_ids, item, read_structures, snak, statement, whole

from lisdata.errors import BadRecordError


def bad(**changes: Any) -> dict[str, Any]:
    return item(statement(HUMAN)) | changes


def with_snak(**changes: Any) -> dict[str, Any]:
    return item(statement({k: v for k, v in (HUMAN | changes).items() if v != "absent"}))


def with_statement(**changes: Any) -> dict[str, Any]:
    return {"id": "Q42", "claims": {"P31": [{k: v for k, v in (statement(HUMAN) | changes).items() if v != "absent"}]}}


def with_value(kind: str, value: Any) -> dict[str, Any]:
    return item(statement(snak("P31", kind, value)))


MALFORMED = {
    "no json": (b'{"id": "Q1",,}', "JSON", '",}"'),
    "cut short": (b'{"id": "Q1", "labels": {', "JSON", "the end"),
    "no utf-8": (b'{"id": "Q1\xff"}', "UTF-8", "byte 0xff"),
    "a member twice": (b'{"id": "Q1", "claims": {"P1": [], "P1": []}}', "each member once", '"P1" again'),
    "no object": (b"[1]", "an object, an entity at $", "[1]"),
    "too deep": (
        b'{"id": "Q1", "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "JSON of fewer levels",
        "values too deep",
    ),
    "no id": ({"type": "item"}, "an object with a member id at $", '{"type": "item"}'),
    "a missing entity": ({"site": "dewiki", "missing": ""}, "an object with a member id at $", "missing"),
    "another id": (bad(id="42"), "the id of an entity, such as Q42 at $.id", '"42"'),
    "an id that is a number": (bad(id=42), "a string at $.id", "42"),
    "a type that is no string": (bad(type=1), "a string at $.type", "1"),
    "claims that are no map": (bad(claims="x"), "an object, a map at $.claims", '"x"'),
    "claims of no property": (bad(claims={"Q31": []}), "properties such as P31 for names at $.claims", '"Q31"'),
    "statements that are no list": (bad(claims={"P31": {}}), "an array at $.claims.P31", "{}"),
    "a statement that is no object": (bad(claims={"P31": [1]}), "an object, a statement at $.claims.P31[0]", "1"),
    "no main snak": (with_statement(mainsnak="absent"), "an object with a member mainsnak at $.claims.P31[0]", "{"),
    "an id of no text": (with_statement(id=7), "a string at $.claims.P31[0].id", "7"),
    "a rank of no text": (with_statement(rank=None), "a string at $.claims.P31[0].rank", "null"),
    "qualifiers that are no map": (
        with_statement(qualifiers=[1]),
        "an object, a map at $.claims.P31[0].qualifiers",
        "[1]",
    ),
    "a qualifier without snaks": (
        with_statement(qualifiers={"P1": []}),
        "at least one snak at $.claims.P31[0].qualifiers.P1",
        "[]",
    ),
    "references that are no list": (with_statement(references={"a": 1}), "an array at $.claims.P31[0].references", "{"),
    "a reference without snaks": (
        with_statement(references=[{}]),
        "an object with a member snaks at $.claims.P31[0].references[0]",
        "{}",
    ),
    "a hash of no text": (
        with_statement(references=[{"snaks": {}, "hash": 1}]),
        "a string at $.claims.P31[0].references[0].hash",
        "1",
    ),
    "another snak type": (
        with_snak(snaktype="x"),
        "value, somevalue or novalue at $.claims.P31[0].mainsnak.snaktype",
        '"x"',
    ),
    "no snak type": (with_snak(snaktype="absent"), "an object with a member snaktype at $.claims.P31[0].mainsnak", "{"),
    "another property": (
        {"id": "Q1", "claims": {"P1": [statement(HUMAN)]}},
        "P1, which this is listed under at $.claims.P1[0].mainsnak.property",
        '"P31"',
    ),
    "a value that is no object": (with_snak(datavalue=3), "an object, a value with its type at $.claims.P31[0]", "3"),
    "a value without type": (with_snak(datavalue={"value": 1}), "an object with a member type", "{"),
    "a string that is none": (with_value("string", 5), "a string at $.claims.P31[0].mainsnak.datavalue.value", "5"),
    "an entity type of no text": (with_value("wikibase-entityid", {"entity-type": 1}), "a string at $.claims", "1"),
    "a precision of no number": (
        with_value("time", BORN["datavalue"]["value"] | {"precision": "11"}),
        "a number at $.claims",
        '"11"',
    ),
    "a latitude of no number": (
        with_value("globecoordinate", POINT | {"latitude": "1"}),
        "a number at $.claims",
        '"1"',
    ),
    "an amount of no text": (with_value("quantity", {"amount": 1, "unit": "1"}), "a string at $.claims", "1"),
    "a language of no text": (with_value("monolingualtext", {"text": "a", "language": 1}), "a string at $.claims", "1"),
    "a language of no utf-8": (
        with_value("monolingualtext", {"text": "a", "language": "\ud800"}),
        "UTF-8 at $.claims",
        '"\\ud800"',
    ),
    "labels that are no map": (bad(labels=1), "an object, a map at $.labels", "1"),
    "a label that is no object": (bad(labels={"en": "x"}), "an object, a text in a language at $.labels.en", '"x"'),
    "a label without text": (bad(labels={"en": {"language": "en"}}), "an object with a member value", "{"),
    "a label of no text": (bad(labels={"en": {"language": "en", "value": 1}}), "a string at $.labels.en.value", "1"),
    "aliases that are no list": (bad(aliases={"en": {}}), "an array at $.aliases.en", "{}"),
    "a link without title": (
        bad(sitelinks={"x": {"site": "x"}}),
        "an object with a member title at $.sitelinks.x",
        "{",
    ),
    "a form that is no object": (bad(forms=[1]), "an object, an entity at $.forms[0]", "1"),
    "a form without id": (bad(forms=[{}]), "an object with a member id at $.forms[0]", "{}"),
    "a redirect to nothing": ({"entity": "Q1", "redirect": ""}, "the id of an entity, such as Q42 at $.redirect", '""'),
    "a redirect with more": (
        {"entity": "Q1", "redirect": "Q2", "x": 1},
        "no member but entity and redirect at $.x",
        "1",
    ),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_each_malformed_record_is_refused_with_its_place_and_the_others_stay(tmp_path: Path, kind: str) -> None:
    wrong, expected, found = MALFORMED[kind]
    line = wrong if isinstance(wrong, bytes) else json.dumps(wrong).encode()
    data = b"\n".join([LINES[0], line, LINES[1]])
    errors: list[BadRecordError] = []

    structures = read_structures(whole(tmp_path / "a.json", data), errors.append)

    assert entity_ids(structures) == ["Q1", "Q2"]
    (error,) = errors
    assert str(error.place).startswith("a.json:2:")
    assert error.expected.startswith(expected)
    assert found in error.found
    assert (error.data, data[error.begin : error.end]) == (line + b"\n",) * 2


def test_what_follows_the_end_of_an_array_is_refused(tmp_path: Path) -> None:
    piece = whole(tmp_path / "a.json", b"[\n" + b",\n".join(LINES) + b"\n]\n" + LINES[0])

    with pytest.raises(
        BadRecordError, match=r"^a.json:7:1: expected nothing behind the end of the array, found a further line"
    ):
        read_structures(piece)


def test_a_document_that_is_no_json_is_one_bad_record(tmp_path: Path) -> None:
    piece = whole(tmp_path / "a.json", b'[\n  {"id":\n  "Q1"')

    with pytest.raises(BadRecordError, match=r"^a.json:3:7: expected JSON, found the end") as caught:
        read_structures(piece)
    assert (caught.value.begin, caught.value.end) == (0, piece.file.size)


def test_a_bad_entity_of_an_answer_is_named_where_it_stands(tmp_path: Path) -> None:
    data = b'{"entities": {\n"Q1": {"id": "Q1"},\n"-1": {"missing": ""}}}'
    errors: list[BadRecordError] = []

    structures = read_structures(whole(tmp_path / "a.json", data), errors.append)

    assert entity_ids(structures) == ["Q1"]
    (error,) = errors
    assert str(error.place) == "a.json:3:7"
    assert data[error.begin : error.end] == error.data == b'{"missing": ""}'


@pytest.mark.parametrize("data", [b"\n".join(LINES), b'{\n  "id": "Q1"\n}'])
def test_a_record_longer_than_allowed_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(
        BadRecordError, match=r"expected a (entity|document) of at most 9 bytes \(max_document_bytes\), found \d+"
    ):
        read_structures(whole(tmp_path / "a.json", data), max_document_bytes=9)
