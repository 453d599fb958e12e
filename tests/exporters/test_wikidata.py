from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from drawn_entities import entities, plain_entities
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.exporters.wikidata import WIKIDATA
from lisdata.registry import load_exporter
from lisdata.sources.json_text import STYLES, JsonTextError, read_json, write_json

ENTITIES = st.lists(entities() | plain_entities(), min_size=1, max_size=8)


def model(data: bytes) -> Any:
    """The JSON value, numbers as they are written; a list where there is a value a line, even in an array left open."""
    text = data.decode()
    try:
        return read_json(text)
    except JsonTextError:
        lines = (line.strip().rstrip(",") for line in text.split("\n"))
        return [read_json(line) for line in lines if line not in ("", "[", "]")]


def test_it_is_registered() -> None:
    assert load_exporter("wikidata") is WIKIDATA


@settings(max_examples=15, deadline=None)
@given(
    found=ENTITIES, group=st.sampled_from(["entity", "statement"]), style=st.sampled_from(["compact", "spaced-ascii"])
)
def test_any_entities_come_back(round_trip: Any, found: list[Any], group: str, style: str) -> None:
    lines = "".join(f"{write_json(entity, STYLES[style])}\n" for entity in found).encode()

    (exported,), report = round_trip("wikidata", [lines], ".json", group=group)

    assert [read_json(line) for line in exported.decode().split("\n")[:-1]] == found
    assert report.losses == {}
    assert report.num_records == len(found)


@pytest.mark.parametrize("group", ["entity", "statement"])
def test_real_files_come_back(round_trip: Any, shared: Path, group: str) -> None:
    paths = [p for p in sorted((shared / "data/kg/wikidata/json").iterdir()) if p.name != "api_missing.json"]
    files = [gzip.decompress(p.read_bytes()) if p.suffix == ".gz" else p.read_bytes() for p in paths]

    found, report = round_trip("wikidata", files, ".json", group=group)

    assert len(files) == 10
    for path, exported, data in zip(paths, found, files, strict=True):
        assert model(exported) == model(data), path.name
    assert report.losses == {}


def test_the_sample_comes_back(round_trip: Any, root: Path) -> None:
    data = (root / "sample_data/wikidata/harbour.ndjson").read_bytes()

    (exported,), report = round_trip("wikidata", [data], ".ndjson")

    assert model(exported) == model(data)
    assert report.losses == {}


def test_an_entity_that_an_answer_misses_is_a_rejected_record(round_trip: Any, shared: Path) -> None:
    data = (shared / "data/kg/wikidata/json/api_missing.json").read_bytes()

    found, report = round_trip("wikidata", [data], ".json", on_error="skip")

    assert model(found[0]) == {"entities": {}, "success": model(b"1")}
    assert report.losses == {"rejected records": 1}


ANSWER = {"success": 1, "entities": {"Q1": {"id": "Q1"}, "Q4242": {"id": "Q42"}}, "float": 1.5}


@pytest.mark.parametrize("document", [[], [{"id": "Q1"}], [{"id": "Q1"}, {"id": "Q2"}], {"id": "Q1"}, ANSWER])
@pytest.mark.parametrize("indent", [None, 1])
def test_what_holds_the_entities_together_comes_back(round_trip: Any, document: Any, indent: int | None) -> None:
    data = json.dumps(document, indent=indent).encode()

    (exported,), report = round_trip("wikidata", [data], ".json")

    assert model(exported) == model(data)
    assert report.losses == {}


def test_what_was_left_out_is_a_loss_and_the_rest_comes_back(round_trip: Any, shared: Path) -> None:
    data = (shared / "data/kg/wikidata/json/wdtk_item.json").read_bytes()
    entity = model(data)

    (exported,), report = round_trip("wikidata", [data], ".json", labels=False, sitelinks=False, property=["P31"])

    left = {name: value for name, value in entity.items() if name not in ("labels", "sitelinks")}
    assert model(exported) == left | {"claims": {"P31": entity["claims"]["P31"]}}
    num_statements = sum(map(len, entity["claims"].values()))
    assert report.losses == {
        "labels left out": len(entity["labels"]),
        "sitelinks left out": len(entity["sitelinks"]),
        "statements left out": num_statements - len(entity["claims"]["P31"]),
    }


def test_truthy_statements_come_back_bare_with_the_losses_counted(round_trip: Any, shared: Path) -> None:
    data = (shared / "data/kg/wikidata/json/Q42.json").read_bytes()
    entity = model(data)

    (exported,), report = round_trip("wikidata", [data], ".json", truthy=True)

    found = model(exported)["claims"]
    every = [s for listed in entity["claims"].values() for s in listed]
    best = {
        name: [
            s
            for s in listed
            if s["rank"] == ("preferred" if any(o["rank"] == "preferred" for o in listed) else "normal")
        ]
        for name, listed in entity["claims"].items()
    }
    assert found == {
        name: [
            {"mainsnak": {k: v for k, v in s["mainsnak"].items() if k != "hash"}, "type": "statement"} for s in listed
        ]
        for name, listed in best.items()
        if listed
    }
    kept = [s for listed in best.values() for s in listed]
    assert report.losses["statements left out"] == len(every) - len(kept)
    assert report.losses["ids left out"] == report.losses["ranks left out"] == len(kept)
    assert report.losses["qualifiers left out"] == sum(len(q) for s in kept for q in s.get("qualifiers", {}).values())
    assert report.losses["references left out"] == sum(len(s.get("references", ())) for s in kept)


def test_another_wikibase_names_its_entities(round_trip: Any) -> None:
    data = b'{"id": "Q1", "sitelinks": {}, "labels": {"en": {"language": "en", "value": "x"}}}'
    iris = {"entity_iri": "http://acme.test/", "reference_iri": "http://acme.test/reference/"}

    (exported,), report = round_trip("wikidata", [data], ".json", **iris)

    assert (model(exported), report.losses) == (model(data), {})


def test_bad_records_are_losses(round_trip: Any) -> None:
    (exported,), report = round_trip("wikidata", [b'{"id": "Q1"}\n{"id": 5}\n{"id": "Q2"}\n'], ".json", on_error="skip")

    assert model(exported) == [{"id": "Q1"}, {"id": "Q2"}]
    assert report.losses == {"rejected records": 1}


@pytest.mark.parametrize("on_error", ["skip", "quarantine"])
def test_of_a_dump_that_is_cut_all_whole_lines_come_back(round_trip: Any, on_error: str) -> None:
    lines = [
        json.dumps({"id": f"Q{n}", "labels": {"en": {"language": "en", "value": str(n**9)}}}) for n in range(1, 500)
    ]
    whole = gzip.compress("\n".join(lines).encode())

    (exported,), report = round_trip("wikidata", [whole[: len(whole) // 2]], ".json", on_error=on_error)

    found = model(exported)
    assert found == [model(line.encode()) for line in lines[: len(found)]]
    assert 100 < len(found) < 400
    assert report.losses == {"rejected records": 1}


def test_other_structures_and_facts_are_losses(round_trip: Any) -> None:
    text = round_trip("text", [b"one\ntwo\n"], ".txt", as_format="wikidata", allow_losses=True)
    edges = round_trip(
        "hif", [b'{"incidences": [{"edge": 1, "node": "a"}]}'], ".json", as_format="wikidata", allow_losses=True
    )

    assert [report.losses for _, report in (text, edges)] == [
        {"structures of kind text": 2}, {"facts that are about no entity": 2},
    ]  # fmt: skip
    assert text[0] == edges[0] == [b""]


def test_a_float_outside_of_coordinates_is_not_spelled_as_one_inside(round_trip: Any) -> None:
    value = (
        '"value": {"latitude": 12.5, "precision": 12.5, "longitude": -3, "globe": "http://www.wikidata.org/entity/Q2"}'
    )
    time = '"value": {"time": "+1952-03-11T00:00:00Z", "timezone": 12.50, "before": 0, "after": 0, "precision": 11, '
    time += '"calendarmodel": "http://www.wikidata.org/entity/Q1985727"}'
    line = '{"id": "Q42", "claims": {"P31": [{"mainsnak": {"snaktype": "value", "property": "P31", "datavalue": {%s, '
    line += '"type": "globecoordinate"}, "datatype": "globe-coordinate"}}], "P1": [{"mainsnak": {"snaktype": "value", '
    line += '"property": "P1", "datavalue": {%s, "type": "time"}, "datatype": "time"}}]}}\n'

    ((exported,), _) = round_trip("wikidata", [(line % (value, time)).encode()], ".json")

    assert read_json(exported.decode()) == read_json(line % (value, time))
