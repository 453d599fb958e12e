from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from wikibase_oracle import FLAVOURS, NOT_IN_AN_ENTITY, Flavour, difference, export_rdf, triples, unpack_oracle

from lisdata.exporters.wikidata_dates import JULIAN, to_date_time
from lisdata.exporters.wikidata_rdf import WIKIDATA_RDF
from lisdata.registry import load_exporter


@pytest.fixture(scope="module")
def oracle(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = shared / "data/kg/wikidata/wikibase_oracle.tar.gz"
    return unpack_oracle(archive, tmp_path_factory.mktemp("oracle"))


@pytest.mark.parametrize("flavour", FLAVOURS, ids=str)
def test_the_graph_is_wikibase_s_own(tmp_path: Path, oracle: Path, flavour: Flavour) -> None:
    assert difference(oracle, tmp_path / "walk", flavour) == (set(), set())


def test_each_file_of_wikibase_s_is_a_flavour_or_says_what_no_entity_does(oracle: Path) -> None:
    files = sorted(path.relative_to(oracle).with_suffix("").as_posix() for path in oracle.rglob("*.nt"))
    named = {name for flavour in FLAVOURS for name in flavour.files}
    named |= {name for names in NOT_IN_AN_ENTITY.values() for name in names.split()}

    assert len(files) == 46
    assert sorted(named) == files


def test_it_is_registered() -> None:
    assert load_exporter("wikidata-rdf") is WIKIDATA_RDF


STATEMENT = {"mainsnak": {"snaktype": "somevalue", "property": "P1", "hash": "x"}, "id": "Q1$A-b", "rank": "normal"}
LOST = [
    ({"sitelinks": {"enwiki": {"site": "enwiki", "title": "x", "badges": []}}}, {"links to pages": 1}),
    ({"pageid": 5}, {"members that RDF has not": 1}),
    ({"claims": {"P1": [STATEMENT]}}, {"hashes of snaks": 1}),
    (
        {"claims": {"P1": [{"mainsnak": STATEMENT["mainsnak"]}]}},
        {"statements without an id (but for their truthy triple)": 1},
    ),
]


@pytest.mark.parametrize(("members", "losses"), LOST)
def test_what_rdf_does_not_say_is_a_loss(tmp_path: Path, members: dict[str, Any], losses: dict[str, int]) -> None:
    entity = {"type": "item", "id": "Q1"} | members

    assert export_rdf(tmp_path, [json.dumps(entity).encode()])[1] == losses


def snak(kind: str, value: Any, datatype: str) -> dict[str, Any]:
    datavalue = {"type": kind, "value": value}
    return {"snaktype": "value", "property": "P1", "datavalue": datavalue, "datatype": datatype}


@pytest.mark.parametrize(
    ("mainsnak", "loss"),
    [
        (snak("string", "x^2", "math"), "formulas"),
        (snak("new", 5, "new"), "values of no known form"),
        (snak("time", {"time": "+1"}, "time"), "values of no known form"),
        (
            snak(
                "globecoordinate",
                {"latitude": 1, "longitude": 2, "altitude": 3, "precision": None, "globe": "x:y"},
                "x",
            ),
            "before, after and altitude of values",
        ),
    ],
)
def test_values_that_rdf_does_not_have_are_losses(tmp_path: Path, mainsnak: dict[str, Any], loss: str) -> None:
    entity = {"id": "Q1", "claims": {"P1": [{"mainsnak": mainsnak, "id": "Q1$1", "rank": "normal"}]}}

    found, losses = export_rdf(tmp_path, [json.dumps(entity).encode()])

    assert losses == {loss: 1}
    assert triples(found)


def test_a_lexeme_and_a_redirect_have_triples(tmp_path: Path, shared: Path) -> None:
    lexeme = (shared / "data/kg/wikidata/json/L3354.json").read_bytes()

    found, _ = export_rdf(tmp_path, [lexeme, b'{"entity": "Q4242", "redirect": "Q42"}'])

    wd, ontolex = "http://www.wikidata.org/entity/", "http://www.w3.org/ns/lemon/ontolex#"
    for line in (
        f"<{wd}L3354> <{ontolex}lexicalForm> <{wd}L3354-F2> .",
        f'<{wd}L3354-F2> <{ontolex}representation> "banks"@en .',
        f"<{wd}L3354-F2> <http://wikiba.se/ontology#grammaticalFeature> <{wd}Q146786> .",
        f'<{wd}L3354-S1> <http://www.w3.org/2004/02/skos/core#definition> "financial institution"@en .',
        f"<{wd}L3354> <http://purl.org/dc/terms/language> <{wd}Q1860> .",
        f"<{wd}Q4242> <http://www.w3.org/2002/07/owl#sameAs> <{wd}Q42> .",
    ):
        assert f"{line}\n".encode() in found


@pytest.mark.parametrize(
    ("time", "precision", "calendar", "expected"),
    [
        ("+1952-03-11T00:00:00Z", 11, "", "1952-03-11T00:00:00Z"),
        ("+1952-03-11T00:00:00Z", 10, "", "1952-03-01T00:00:00Z"),
        ("+1952-03-11T00:00:00Z", 9, "", "1952-01-01T00:00:00Z"),
        ("+1952-00-00T00:00:00Z", 11, "", "1952-01-01T00:00:00Z"),
        ("+2015-02-30T00:00:00Z", 11, "", "2015-02-28T00:00:00Z"),
        ("+2000-02-30T00:00:00Z", 11, "", "2000-02-29T00:00:00Z"),
        ("+2001-04-31T00:00:00Z", 11, "", "2001-04-30T00:00:00Z"),
        ("+2001-13-31T00:00:00Z", 11, "", "2001-12-31T00:00:00Z"),
        ("-0200-00-00T00:00:00Z", 9, "", "-0199-01-01T00:00:00Z"),
        ("-0001-02-29T00:00:00Z", 11, "", "0000-02-29T00:00:00Z"),
        ("-13798000000-00-00T00:00:00Z", 3, "", "-13798000000-01-01T00:00:00Z"),
        ("+1582-10-04T00:00:00Z", 11, JULIAN, "1582-10-14T00:00:00Z"),
        ("+1616-04-23T00:00:00Z", 11, JULIAN, "1616-05-03T00:00:00Z"),
        ("+1616-04-23T00:00:00Z", 10, JULIAN, "1616-04-01T00:00:00Z"),
        ("-0044-03-15T00:00:00Z", 11, JULIAN, "-0043-03-13T00:00:00Z"),
        ("-99999-03-15T00:00:00Z", 11, JULIAN, "-99998-03-15T00:00:00Z"),
        ("+0000-01-01T00:00:00Z", 11, "", None),
        ("yesterday", 11, "", None),
    ],
)
def test_times_become_dates_as_in_wikibase(time: str, precision: int, calendar: str, expected: str | None) -> None:
    assert to_date_time(time, precision, calendar) == expected


def test_julian_days_follow_one_another() -> None:
    days = [to_date_time(f"+1600-02-{day}T", 11, JULIAN) for day in (27, 28, 29)]

    assert [*days, to_date_time("+1600-03-01T", 11, JULIAN)] == [f"1600-03-{day}T" for day in ("08", "09", "10", "11")]
