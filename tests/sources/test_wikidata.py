from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from drawn_entities import entities, plain_entities
from hypothesis import given, settings
from hypothesis import strategies as st
from small_entities import (
    BORN,
    HUMAN,
    LINES,
    POINT,
    WD,
    entity_ids,
    facts,
    item,
    read_structures,
    snak,
    statement,
    stop,
    whole,
)  # fmt: skip

from lisdata.content_invariants import check_labels
from lisdata.converters.facts import FACTS, FactOptions
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.invariants import check_structures
from lisdata.registry import load_source
from lisdata.sources import wikidata_json
from lisdata.sources.json_text import STYLES, write_json
from lisdata.sources.wikidata import WIKIDATA, WikidataOptions
from lisdata.structure import Structure

Read = Callable[..., list[Structure]]


@pytest.fixture
def structures(tmp_path: Path) -> Read:
    def run(*values: Any, **options: Any) -> list[Structure]:
        lines = [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]
        return read_structures(whole(tmp_path / "a.json", b"\n".join(lines)), **options)

    return run


def test_it_is_registered() -> None:
    assert load_source("wikidata") is WIKIDATA


# -- values ----------------------------------------------------------------------------------------------------------

SAID = [
    (HUMAN, [("value", "ENTITY", "Q5")]),
    (
        BORN,
        [
            ("value", "LITERAL", "+1952-03-11T00:00:00Z"), ("value.precision", "NUMBER", "11"),
            ("value.calendar", "ENTITY", "Q1985727"), ("value.after", "NUMBER", "1"),
        ],
    ),
    (
        snak("P2067", "quantity", {"amount": "+70.50", "unit": f"{WD}Q11570", "upperBound": "+71"}, "quantity"),
        [("value", "LITERAL", "+70.50"), ("value.unit", "ENTITY", "Q11570"), ("value.upper", "LITERAL", "+71")],
    ),
    (snak("P1082", "quantity", {"amount": "+7", "unit": "1"}, "quantity"), [("value", "LITERAL", "+7")]),
    (
        snak("P625", "globecoordinate", POINT, "globe-coordinate"),
        [
            ("value", "LITERAL", "Point(67.25 12.125)"), ("value.precision", "NUMBER", "0.0625"),
            ("value.altitude", "NULL", "null"), ("value.globe", "ENTITY", "Q2"),
        ],
    ),
    (
        snak("P18", "string", "A b/ü.jpg", "commonsMedia"),
        [("value", "ENTITY", "http://commons.wikimedia.org/wiki/Special:FilePath/A%20b%2F%C3%BC.jpg")],
    ),
    (
        snak("P3896", "string", "Data:Berlin.map", "geo-shape"),
        [("value", "ENTITY", "http://commons.wikimedia.org/data/main/Data:Berlin.map")],
    ),
    (snak("P856", "string", "https://example.org/a", "url"), [("value", "ENTITY", "https://example.org/a")]),
    (snak("P856", "string", "a b", "url"), [("value", "LITERAL", "a b")]),
    (snak("P214", "string", "0113230702", "external-id"), [("value", "LITERAL", "0113230702")]),
    (snak("P1449", "string", "x", "string"), [("value", "LITERAL", "x"), ("value.datatype", "NAME", "string")]),
    (snak("P2534", "string", "E = mc^2", "math"), [("value", "LITERAL", "E = mc^2")]),
    (
        snak("P6604", "string", "<<c d>>", "musical-notation"),
        [("value", "LITERAL", "<<c d>>"), ("value.datatype", "NAME", "musical-notation")],
    ),
    (
        snak("P5188", "wikibase-entityid", {"entity-type": "form", "id": "L3-F1"}, "wikibase-form"),
        [("value", "ENTITY", "L3-F1")],
    ),
    ({"snaktype": "novalue", "property": "P40", "datatype": "wikibase-item"},
     [("value", "NOVALUE", ""), ("value.datatype", "NAME", "wikibase-item")]),
    ({"snaktype": "somevalue", "property": "P22"}, [("value", "SOMEVALUE", "0-1"), ("value.datatype", "NULL", "null")]),
    ({"snaktype": "value", "property": "P22"}, [("value", "NULL", "null"), ("value.datatype", "NULL", "null")]),
    (snak("P9", "new", [1.50], "new"),
     [("value", "JSON", '{"value": [1.5], "type": "new"}'), ("value.datatype", "NAME", "new")]),
]  # fmt: skip


@pytest.mark.parametrize(("mainsnak", "said"), SAID, ids=lambda found: str(found)[:40])
def test_a_value_is_a_content_with_its_details_beside_it(
    structures: Read, mainsnak: dict[str, Any], said: list[tuple[str, str, str]]
) -> None:
    (structure,) = structures(item(statement(mainsnak)))

    found = facts(structure)[mainsnak["property"]]
    assert found[0] == ("subject", "ENTITY", "Q42")
    assert found[1:-1] == said
    assert found[-1] == ("statement#rank", "NAME", "normal")


def test_datatypes_and_languages_are_those_that_rdf_has(structures: Read) -> None:
    (structure,) = structures(
        item(
            *(
                statement(mainsnak)
                for mainsnak, _ in SAID
                if mainsnak.get("datatype") in ("quantity", "globe-coordinate")
            ),
            statement(snak("P1559", "monolingualtext", {"text": "Douglas", "language": "en-GB"}, "monolingualtext")),
        )
    )

    literals = {o.content.text: o.content for o in structure.occurrences if o.content.kind.name == "LITERAL"}
    assert literals["+70.50"].datatype == "http://www.w3.org/2001/XMLSchema#decimal"
    assert literals["Point(67.25 12.125)"].datatype == "http://www.opengis.net/ont/geosparql#wktLiteral"
    assert (literals["Douglas"].datatype, literals["Douglas"].language) == (None, "en-GB")


def test_true_is_not_taken_for_the_1_of_an_equal_time(structures: Read) -> None:
    usual = BORN["datavalue"]["value"]
    wrong = snak("P569", "time", {**usual, "after": True}, "time")

    with pytest.raises(BadRecordError, match=r"expected .* at .*after, found true"):
        structures(item(statement(BORN), statement(wrong)))


def test_unknown_values_are_kept_apart_but_in_one_reference(structures: Read) -> None:
    unknown = {"snaktype": "somevalue", "property": "P22"}
    reference = {"hash": "ab", "snaks": {"P22": [unknown, unknown]}, "snaks-order": ["P22"]}
    entity = item(statement(unknown, references=[reference]), statement(unknown))

    shown = [o.content for s in structures(entity, entity) for o in s.occurrences]

    second = len(json.dumps(entity)) + 1  # where the second record begins
    assert [c.text for c in shown if c.kind.name == "SOMEVALUE"] == [
        "0-1", "ab-1", "ab-2", "0-2", f"{second}-1", "ab-1", "ab-2", f"{second}-2",
    ]  # fmt: skip


# -- statements ------------------------------------------------------------------------------------------------------


def test_qualifiers_keep_their_order_and_their_repeats(structures: Read) -> None:
    plays = [snak("P161", "string", text, "external-id") for text in "aba"]
    when = snak("P580", "string", "c", "external-id")
    qualifiers = {"P580": [when], "P161": plays}

    (structure,) = structures(item(statement(HUMAN, qualifiers=qualifiers, **{"qualifiers-order": ["P161", "P580"]})))

    found = [
        (i.role.relation.removeprefix(WD), structure.occurrences[i.occurrence].content.text, i.position)
        for i in structure.incidences
        if i.role.side == "qualifier"
    ]
    assert found == [("P161", "a", 0), ("P161", "b", 1), ("P161", "a", 2), ("P580", "c", 0)]


def test_a_reference_stands_once_in_a_structure_and_is_named_by_its_hash(structures: Read) -> None:
    reference = {"hash": "a" * 40, "snaks": {"P248": [HUMAN | {"property": "P248"}]}, "snaks-order": ["P248"]}
    twice = [statement(HUMAN, references=[reference]), statement(HUMAN | {"property": "P21"}, references=[reference])]

    (structure,) = structures(item(*twice))

    labels = [instance.label for instance in structure.instances]
    assert labels.count("reference") == 1
    handle = structure.instances[labels.index("reference")].handle
    assert handle is not None
    assert (handle.text, handle.scope) == (f"http://www.wikidata.org/reference/{'a' * 40}", None)
    links = [
        structure.occurrences[i.occurrence].content
        for i in structure.incidences
        if i.role.label == "statement#reference"
    ]
    assert links == [handle, handle]


def test_by_statement_each_one_is_a_structure_with_its_references(structures: Read) -> None:
    reference = {"hash": "ab", "snaks": {}, "snaks-order": []}
    entity = item(*[statement(HUMAN, references=[reference])] * 2, labels={"en": {"language": "en", "value": "DA"}})

    first, second, header = structures(entity, group="statement")

    assert [i.label for i in first.instances] == [i.label for i in second.instances] == [f"{WD}P31", "reference"]
    assert [i.label for i in header.instances] == ["http://www.w3.org/2000/01/rdf-schema#label", "entity"]
    assert [s.record_id.rsplit(".")[-1] for s in (first, second, header)] == ["0", "1", "2"]
    assert [i.ordinal for s in (first, second, header) for i in s.instances] == list(range(6))


def test_truthy_keeps_the_best_statements_bare(structures: Read) -> None:
    best, other, worst = (
        statement(BORN, rank, qualifiers={"P1": [1]}) for rank in ("preferred", "normal", "deprecated")
    )

    (structure,) = structures(item(worst, best, other, statement(HUMAN)), truthy=True)

    found = facts(structure)
    assert [side for side, _, _ in found["P569"]].count("subject") == 1
    assert {side for side, _, _ in found["P569"]} == {
        "subject", "value", "value.precision", "value.calendar", "value.after",
    }  # fmt: skip
    assert found["P31"] == [("subject", "ENTITY", "Q42"), ("value", "ENTITY", "Q5")]
    dropped = next(text for side, _, text in found["entity"] if side == "dropped")
    assert json.loads(dropped) == {"ids": 2, "qualifiers": 1, "ranks": 2, "statements": 2}


# -- entities --------------------------------------------------------------------------------------------------------


def test_texts_are_literals_in_languages_and_links_are_pages(structures: Read) -> None:
    entity = item(
        labels={"en": {"language": "en", "value": "DA"}, "de": {"language": "de", "value": "DA"}},
        descriptions={"en": {"language": "en", "value": "writer"}},
        aliases={"en": [{"language": "en", "value": "D"}, {"language": "en", "value": "A"}]},
        sitelinks={"enwiki": {"site": "enwiki", "title": "Douglas Adams", "badges": ["Q17437796"]}},
    )

    found = facts(structures(entity)[0])

    assert [text for _, _, text in found["http://www.w3.org/2000/01/rdf-schema#label"]] == ["Q42", "DA", "DA"]
    assert found["http://schema.org/description"][1] == ("object", "LITERAL", "writer")
    assert [text for _, _, text in found["http://www.w3.org/2004/02/skos/core#altLabel"]] == ["Q42", "D", "A"]
    assert found["sitelink"] == [
        ("subject", "ENTITY", "Q42"),
        ("site", "NAME", "enwiki"),
        ("title", "TEXT", "Douglas Adams"),
        ("badge", "ENTITY", "Q17437796"),
    ]
    assert found["entity"] == [
        ("subject", "ENTITY", "Q42"),
        ("type", "NAME", "item"),
        ("layout", "JSON", '{"empty": ["claims"]}'),
    ]


def test_a_lexeme_s_forms_and_senses_are_entities_of_their_own(structures: Read, shared: Path) -> None:
    (structure,) = read_structures(InputSlice(file=_file(shared, "L3354.json")))

    found = facts(structure)
    assert [text for _, _, text in found["http://www.w3.org/ns/lemon/ontolex#lexicalForm"]] == [
        "L3354",
        "L3354-F1",
        "L3354-F2",
    ]
    assert [text for _, _, text in found["http://www.w3.org/ns/lemon/ontolex#representation"]] == [
        "L3354-F1", "bank", "L3354-F2", "banks",
    ]  # fmt: skip
    assert ("subject", "ENTITY", "L3354-S1") in found["P5137"]


def test_a_redirect_is_owl_same_as(structures: Read) -> None:
    (structure,) = structures({"entity": "Q4242", "redirect": "Q42"})

    assert facts(structure) == {
        "http://www.w3.org/2002/07/owl#sameAs": [("subject", "ENTITY", "Q4242"), ("object", "ENTITY", "Q42")]
    }


@pytest.mark.parametrize("flag", ["labels", "descriptions", "aliases", "sitelinks"])
def test_what_is_left_out_is_counted(shared: Path, flag: str) -> None:
    piece = InputSlice(file=_file(shared, "wdtk_item.json"))

    (records,) = WIKIDATA.read(piece, WikidataOptions(**{flag: False}), stop)

    ((name, number),) = records.counts.items()
    entity = json.loads(piece.read())
    assert name == f"{flag} left out"
    assert number == sum(len(texts) if flag == "aliases" else 1 for texts in entity[flag].values())


def test_hashes_may_be_left_out_but_for_those_of_references(structures: Read) -> None:
    reference = {"hash": "ab", "snaks": {"P248": [HUMAN | {"property": "P248", "hash": "x"}]}, "snaks-order": ["P248"]}
    entity = item(statement(HUMAN | {"hash": "y"}, references=[reference, reference]))

    (structure,) = structures(entity, hashes=False)

    assert not {"x", "y"} & {o.content.text for o in structure.occurrences}
    assert ("dropped", "JSON", '{"hashes": 2}') in facts(structure)["entity"]
    assert "http://www.wikidata.org/reference/ab" in {i.handle.text for i in structure.instances if i.handle}


def test_languages_and_properties_may_be_chosen(structures: Read) -> None:
    texts = {language: {"language": language, "value": language} for language in ("en", "de", "fr")}
    entity = item(statement(HUMAN), statement(BORN), labels=texts)

    found = facts(structures(entity, language=("de", "fr"), property=("P569",))[0])

    assert [text for _, _, text in found["http://www.w3.org/2000/01/rdf-schema#label"]] == ["Q42", "de", "fr"]
    assert "P31" not in found
    assert ("dropped", "JSON", '{"labels": 1, "statements": 1}') in found["entity"]


@pytest.mark.parametrize(
    "wrong", [{"property": ("Q5",)}, {"entity_iri": "no iri"}, {"reference_iri": ""}, {"max_document_bytes": 0}]
)
def test_options_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"expected .*, got "):
        WikidataOptions(**wrong)


# -- exactness -------------------------------------------------------------------------------------------------------


def _file(shared: Path, name: str) -> Any:
    (file,) = find_inputs([str(shared / "data/kg/wikidata/json" / name)], suffixes=WIKIDATA.suffixes)
    return file


@settings(max_examples=15, deadline=None)
@given(
    found=st.lists(entities() | plain_entities(), min_size=1, max_size=8),
    group=st.sampled_from(["entity", "statement"]),
    style=st.sampled_from(["spaced", "compact"]),
)
def test_what_the_fast_way_reads_equals_the_exact_one(
    tmp_path_factory: pytest.TempPathFactory, found: list[Any], group: str, style: str
) -> None:
    data = "\n".join(write_json(entity, STYLES[style]) for entity in found).encode()
    piece = whole(tmp_path_factory.mktemp("entities") / "a.json", data + b"\n\n")

    fast = read_structures(piece, group=group)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wikidata_json, "read_fast", lambda data: None)
        exact = read_structures(piece, group=group)

    assert fast == exact


def test_the_head_of_a_real_dump_needs_no_exact_reading(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wikidata_json, "read_exact", None)

    records = WIKIDATA.read(InputSlice(file=_file(shared, "dump_head.json")), WikidataOptions(), stop)
    assert sum(batch.num_records for batch in records) == 33


@pytest.mark.parametrize("text", ["12.50", "1e400", "1.0", "-0.0", "0.1000000000000000055511151231257827"])
def test_numbers_are_kept_as_they_are_written(structures: Read, text: str) -> None:
    point = json.dumps(POINT).replace("12.125", text)
    line = json.dumps(item(statement(snak("P625", "globecoordinate", "POINT", "globe-coordinate"))))

    (structure,) = structures(line.replace('"POINT"', point).encode())

    assert facts(structure)["P625"][1][2] == f"Point(67.25 {text})"


@pytest.mark.parametrize("written", [" -0", "-0", "\t-0", "18446744073709551617", "1.0", "0.00"])
def test_integers_are_kept_as_they_are_written(structures: Read, written: str) -> None:
    line = json.dumps(item(statement(BORN), pageid=1)).replace('"before": 0', f'"before":{written}')

    (structure,) = structures(line.replace('"pageid": 1', f'"pageid":{written}').encode())

    found = facts(structure)
    assert ("value.before", "NUMBER", written.strip()) in found["P569"]
    assert found["entity"][2][2] == written.strip()


def test_one_number_written_in_two_ways_stays_two(structures: Read) -> None:
    points = [snak("P625", "globecoordinate", POINT | {"latitude": n}, "globe-coordinate") for n in (1.25, 2.25)]
    line = json.dumps(item(*map(statement, points))).replace("2.25", "1.250")

    (structure,) = structures(line.encode())

    assert [text for side, _, text in facts(structure)["P625"] if side == "value"] == [
        "Point(67.25 1.25)", "Point(67.25 1.250)",
    ]  # fmt: skip


def test_structures_keep_the_invariants_and_have_no_content_that_nothing_shows(
    structures: Read, tmp_path: Path
) -> None:
    good, bad = item(statement(BORN)), b'{"id": "Q1", "claims": {"P1": [{"mainsnak": {"snaktype": "x"}}]}}'
    piece = whole(tmp_path / "a.json", b"\n".join([json.dumps(good).encode(), bad]))

    (records,) = WIKIDATA.read(piece, WikidataOptions(), lambda error: None)

    batch = FACTS.convert(records, FactOptions())
    tables = [pa.Table.from_batches([b]) for b in (batch.structures, batch.contents, batch.labels)]
    check_structures(*tables, "a.json")
    check_labels(tables[2], "a.json")
    shown = {*records.participant_content.tolist(), *records.fact_handle.tolist()} - {0xFFFF_FFFF}
    assert shown == set(range(batch.contents.num_rows))


# -- files -----------------------------------------------------------------------------------------------------------

FORMS = {
    "lines": b"\n".join(LINES),
    "lines that end in a newline": b"\n".join(LINES) + b"\n",
    "an array with an entity a line": b"[\n" + b",\n".join(LINES) + b"\n]\n",
    "an array whose brackets stand with entities": b"[" + b",\r\n".join(LINES) + b"]",
    "an array without an end": b"[\n" + b",\n".join(LINES) + b",\n",
    "an array on one line": b"[" + b",".join(LINES) + b"]",
    "an array over many lines": json.dumps([json.loads(line) for line in LINES], indent=2).encode(),
    "an answer of the API": json.dumps({"entities": {f"Q{n}": json.loads(LINES[n - 1]) for n in range(1, 5)}}).encode(),
    "a byte order mark": b"\xef\xbb\xbf" + b"\n".join(LINES),
    "a byte order mark before an array": b"\xef\xbb\xbf[" + b",".join(LINES) + b"]",
    "blank lines": b"\n\n" + b"\n \n".join(LINES),
}


@pytest.mark.parametrize("form", FORMS)
def test_entities_are_found_in_any_form_of_file(tmp_path: Path, form: str) -> None:
    assert entity_ids(read_structures(whole(tmp_path / "a.json", FORMS[form]))) == ["Q1", "Q2", "Q3", "Q4"]


@pytest.mark.parametrize(
    "compress",
    [
        lambda data: gzip.compress(data[:50]) + gzip.compress(data[50:]),
        lambda data: bz2.compress(data[:50]) + bz2.compress(data[50:]),
        lambda data: zstandard.compress(data[:50]) + zstandard.compress(data[50:]),
    ],
    ids=["gzip members", "bzip2 streams", "zstd frames"],
)
def test_all_members_of_a_compressed_dump_are_read(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    piece = whole(tmp_path / "a.json.x", compress(FORMS["an array with an entity a line"]))

    assert entity_ids(read_structures(piece)) == ["Q1", "Q2", "Q3", "Q4"]


def test_an_empty_file_and_an_empty_array_have_no_entity(tmp_path: Path) -> None:
    for data in (b"", b" \n", b"[]", b"[\n]\n"):
        assert entity_ids(read_structures(whole(tmp_path / "a.json", data))) == []


def test_cut_at_any_byte_the_units_give_the_same_entities(tmp_path: Path) -> None:
    data = FORMS["an array with an entity a line"]
    piece = whole(tmp_path / "a.json", data)
    whole_ids = entity_ids(read_structures(piece))

    for wanted in range(len(data) + 1):
        cut = WIKIDATA.find_cut(InputSlice(file=piece.file, begin=0, end=len(data)), wanted, WikidataOptions())
        first = InputSlice(file=piece.file, begin=0, end=cut)
        rest = InputSlice(file=piece.file, begin=cut, end=len(data))
        assert (
            entity_ids(read_structures(first)) + (entity_ids(read_structures(rest)) if cut < len(data) else [])
            == whole_ids
        )


@pytest.mark.parametrize("form", ["an array over many lines", "an array on one line", "an answer of the API"])
def test_a_file_that_is_one_value_is_not_cut(tmp_path: Path, form: str) -> None:
    piece = whole(tmp_path / "a.json", FORMS[form])

    assert (
        WIKIDATA.find_cut(InputSlice(file=piece.file, begin=0, end=piece.file.size), 30, WikidataOptions())
        == piece.file.size
    )


def test_an_array_that_is_not_closed_is_told(tmp_path: Path) -> None:
    open_, closed = (FORMS[f"an array {which}"] for which in ("without an end", "with an entity a line"))

    for data, wanted in ((open_, 1), (closed, 0)):
        records = list(WIKIDATA.read(whole(tmp_path / "a.json", data), WikidataOptions(), stop))
        assert sum(r.counts.get("arrays without an end", 0) for r in records) == wanted
        assert sum(r.num_records for r in records) == 4


def test_a_line_cut_short_is_the_one_bad_record(tmp_path: Path) -> None:
    data = FORMS["an array with an entity a line"][:-30]
    errors: list[BadRecordError] = []

    found = read_structures(whole(tmp_path / "a.json", data), errors.append)

    assert entity_ids(found) == ["Q1", "Q2", "Q3"]
    (error,) = errors
    assert str(error).startswith("a.json:5:")
    assert (error.data, error.end) == (data[error.begin :], len(data))
