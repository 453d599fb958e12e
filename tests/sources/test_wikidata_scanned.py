"""What the compiled scan takes is what the reader of all entities makes of it, and nothing that is no JSON is taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from drawn_entities import entities, plain_entities
from hypothesis import given, settings
from hypothesis import strategies as st
from small_entities import BORN, HUMAN, POINT, WD, item, snak, statement, whole

from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice
from lisdata.kernels import entity_words as words
from lisdata.kernels.entity_scanner import EntityScanner, ScannedWindow
from lisdata.kernels.entity_tables import WINDOW_BYTES
from lisdata.sources import wikidata
from lisdata.sources.json_text import STYLES, write_json
from lisdata.sources.lines import line_bounds
from lisdata.sources.wikidata import WIKIDATA, WikidataOptions
from lisdata.sources.wikidata_columns import EntityRecords
from lisdata.sources.wikidata_entities import EntityWriter
from lisdata.sources.wikidata_layout import COMMONS_DATA, COMMONS_FILE, EARTH, LINKS, PARTS, TERMS

COLUMNS = (
    "structure_offsets", "fact_label", "fact_handle", "fact_ordinal", "begin", "end", "participant_offsets",
    "participant_content", "participant_role", "participant_position",
)  # fmt: skip


def read(piece: InputSlice, options: WikidataOptions, *, scans: bool) -> tuple[list[EntityRecords], list[str]]:
    """Return the records of a file, and its bad ones; `scans`: whether the scan takes what it can."""
    bad: list[BadRecordError] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wikidata, "MIN_SCANNED_BYTES", 0 if scans else 1 << 62)
        records = list(WIKIDATA.read(piece, options, bad.append))
    return records, list(map(str, bad))


def check_equal(piece: InputSlice, **options: Any) -> None:
    (found, bad), (wanted, wanted_bad) = (read(piece, WikidataOptions(**options), scans=s) for s in (True, False))
    assert bad == wanted_bad
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert (one.num_records, one.counts) == (other.num_records, other.counts)
        assert one.contents.to_pylist() == other.contents.to_pylist()
        assert one.labels.to_pylist() == other.labels.to_pylist()
        for name in COLUMNS:
            ours, theirs = getattr(one, name), getattr(other, name)
            assert ours.dtype == theirs.dtype, name
            assert ours.tolist() == theirs.tolist(), name


def scan(data: bytes, max_bytes: int = 1 << 28) -> list[ScannedWindow]:
    scanner = EntityScanner(entity_iri=WD, reference_iri=f"{WD}r/", max_bytes=max_bytes, ends_structures=False)
    return list(scanner.windows(data, 0, line_bounds(data)))


def taken(data: bytes) -> list[bool]:
    return [bool(flag) for window in scan(data) for flag in window.lines["is_taken"]]


def dump(*values: Any) -> bytes:
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)


TEXT = {"en": {"language": "en", "value": "Douglas Adams"}, "zh-hant": {"language": "zh-hant", "value": "道格拉斯"}}
REFERENCE = {"hash": "0a" * 20, "snaks": {"P248": [HUMAN], "P813": [BORN | {"hash": "1b" * 20}]}}
REFERENCE |= {"snaks-order": ["P248", "P813"]}
REFERENCE["snaks"] = {name: [part | {"property": name} for part in parts] for name, parts in REFERENCE["snaks"].items()}
UNKNOWN = {"snaktype": "somevalue", "property": "P20", "hash": "2c" * 20, "datatype": "wikibase-item"}
NONE = {"snaktype": "novalue", "property": "P20"}
USUAL_SNAKS = [
    HUMAN, BORN, UNKNOWN, NONE,
    snak("P625", "globecoordinate", POINT, "globe-coordinate"),
    snak("P625", "globecoordinate", {**POINT, "globe": f"{WD}Q405", "precision": None, "longitude": -1.5e-05}),
    snak("P2067", "quantity", {"amount": "+70.50", "unit": f"{WD}Q11570", "upperBound": "+71", "lowerBound": "+70"}),
    snak("P1082", "quantity", {"amount": "+7", "unit": "1"}, "quantity"),
    snak("P18", "string", "A b/ç (c).jpg", "commonsMedia"),
    snak("P856", "string", "https://example.org/a?b=c#d", "url"),
    snak("P856", "string", "no IRI", "url"),
    snak("P2534", "string", "E = m c^2", "math"),
    snak("P214", "string", 'with "quotes", \\ and \u2028', "external-id"),
    snak("P1476", "monolingualtext", {"text": "Hitchhiker's", "language": "en"}, "monolingualtext"),
    snak("P1647", "wikibase-entityid", {"entity-type": "property", "numeric-id": 31, "id": "P31"}, "wikibase-property"),
    snak("P5188", "wikibase-entityid", {"entity-type": "lexeme", "numeric-id": 3, "id": "L3"}, "wikibase-lexeme"),
    snak("P3", "string", "of no known datatype", "musical-notation"),
    snak("P3896", "string", "Data:Köln (city)/a.map", "geo-shape"),
    snak("P8204", "string", "Data:Köln 1.tab", "tabular-data"),
    snak("P8204", "string", "Data:under_score.tab", "tabular-data"),
]  # fmt: skip
FULL = item(
    *map(statement, USUAL_SNAKS),
    statement(
        HUMAN, "preferred", references=[REFERENCE, REFERENCE],
        **{"qualifiers": {"P569": [BORN, BORN], "P20": [UNKNOWN, NONE]}, "qualifiers-order": ["P20", "P569"]},
    ),
    statement(HUMAN, "deprecated", references=[REFERENCE]),
    labels=TEXT, descriptions={}, aliases={"en": [TEXT["en"], TEXT["en"]]},
    sitelinks={
        "enwiki": {"site": "enwiki", "title": "D", "badges": ["Q17437798"], "url": "https://en.wikipedia.org/wiki/D"},
        "dewiki": {"site": "dewiki", "title": "D (de)", "badges": []},
    },
    pageid=138, title="Q42", lastrevid=-1, flag=True, no=False, none=None,
)  # fmt: skip
SCHEMA = {"type": "property", "id": "P31", "datatype": "wikibase-item", "labels": [], "statements": {}, "aliases": []}

ODD = [
    {**FULL, "claims": {"P31": []}},
    {**FULL, "a#b": 1},
    {**FULL, "claims": FULL["claims"], "statements": {}},
    {**FULL, "id": "Q042"},
    {**FULL, "lastrevid": 1.5},
    {**FULL, "lastrevid": 10**20},
    {**FULL, "labels": {"en": {"language": "de", "value": "x"}}},
    {**FULL, "aliases": {"en": []}},
    {**FULL, "title": "\ud800"},
    {**FULL, "more": {}},
    {**FULL, "sitelinks": {"enwiki": {"site": "enwiki", "title": "D", "badges": [], "more": 1}}},
    {**FULL, "claims": {"P32": [statement(HUMAN)]}},
    item(statement(HUMAN, more=None)),
    item({**statement(HUMAN), "type": "claim"}),
    item(statement(UNKNOWN | {"datavalue": {"type": "string", "value": ""}})),
    item(statement(HUMAN, references=[REFERENCE, {**REFERENCE, "snaks": {"P248": [NONE | {"property": "P248"}]}}])),
    item(statement(HUMAN, references=[{k: v for k, v in REFERENCE.items() if k != "hash"}])),
    item(statement(HUMAN, **{"qualifiers": {"P20": [NONE]}, "qualifiers-order": ["P20", "P20"]})),
    item(statement(HUMAN, qualifiers={"P20": [NONE]})),
    item(statement(snak("P3", "string", f"{WD}Q5", "url"))),
    item(statement(snak("P31", "wikibase-entityid", {"entity-type": "item", "numeric-id": 6, "id": "Q5"}))),
    {"entity": "Q1", "redirect": "Q2"},
]  # fmt: skip


@pytest.mark.parametrize("group", ["entity", "statement"])
def test_a_full_entity_is_taken_and_becomes_what_the_reader_of_all_makes(tmp_path: Path, group: str) -> None:
    data = dump(FULL, SCHEMA, {"id": "Q1"}, FULL)

    assert taken(data) == [True] * 4
    check_equal(whole(tmp_path / "a.json", data), group=group)


@pytest.mark.parametrize("number", range(len(ODD)))
def test_an_entity_with_anything_odd_is_left_and_leaves_nothing_behind(tmp_path: Path, number: int) -> None:
    odd = json.dumps(ODD[number]).encode()  # a lone surrogate is an escape here
    data = dump(SCHEMA) + odd + b"\n" + dump(FULL) + odd + b"\n" + dump(item(statement(UNKNOWN)))

    assert taken(data) == [True, False, True, False, True]
    check_equal(whole(tmp_path / "a.json", data))


@pytest.mark.parametrize("group", ["entity", "statement"])
@settings(max_examples=8, deadline=None)
@given(
    found=st.lists(entities() | plain_entities() | st.sampled_from([FULL, SCHEMA]), min_size=1, max_size=8),
    style=st.sampled_from(["spaced", "compact"]),
    separator=st.sampled_from(["\n", ",\n", " \r\n", "\n\n", ",,\n"]),
)
def test_drawn_entities_give_the_same_records(
    tmp_path_factory: pytest.TempPathFactory, group: str, found: list[Any], style: str, separator: str
) -> None:
    data = separator.join(write_json(entity, STYLES[style]) for entity in found).encode()
    check_equal(whole(tmp_path_factory.mktemp("entities") / "a.json", data), group=group)


@st.composite
def mutated(draw: st.DrawFn, line: bytes) -> bytes:
    """A line with a few bytes taken out, doubled, exchanged or put in."""
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(line)))
        end = min(len(line), begin + draw(st.integers(0, 12)))
        part = line[begin:end]
        inserted = st.sampled_from(
            [b"", part + part, b"0", b"-", b"e9", b"\\", b"\\u00e9", b"\\ud83d\\ude00", b"\\ud83d", b'"', b",", b"}",
             b"{}", b"[]", b"]", b"\t", b"\x00", b"\x1f", b" ", b"\xed\xa0\x80", b"\xc0\x80", b"\xff", b"null", b"1.5"]
        )  # fmt: skip
        line = line[:begin] + draw(inserted) + line[end:]
    return line.replace(b"\n", b"")


LINES = [json.dumps(value, ensure_ascii=ascii_).encode() for value in (FULL, SCHEMA) for ascii_ in (True, False)]


@settings(max_examples=60, deadline=None)
@given(line=st.sampled_from(LINES).flatmap(mutated))
def test_what_is_taken_of_mutated_lines_is_json_and_gives_the_same_records(
    tmp_path_factory: pytest.TempPathFactory, line: bytes
) -> None:
    check_equal(whole(tmp_path_factory.mktemp("entities") / "a.json", b"\n".join([LINES[1], line, LINES[0]])))
    try:
        line.decode()
    except UnicodeDecodeError:
        return
    if taken(line + b"\n")[0]:
        orjson.loads(line.strip().removesuffix(b","))


@pytest.mark.parametrize(("size", "is_scanned"), [(7 << 20, False), (9 << 20, True)], ids=["short", "long"])
def test_short_blocks_do_not_wait_for_the_scan_to_be_compiled(
    tmp_path: Path, size: int, is_scanned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[WikidataOptions] = []
    monkeypatch.setattr(wikidata, "new_scanner", lambda options: asked.append(options))
    line = dump(item(labels={"en": {"language": "en", "value": "x" * 50_000}}))
    piece = whole(tmp_path / "a.json", line * (size // len(line)))

    assert sum(records.num_records for records in WIKIDATA.read(piece, WikidataOptions(), pytest.fail)) > 100
    assert bool(asked) == is_scanned


@pytest.mark.parametrize("depth", [10, 100_000])
def test_nesting_is_no_matter_of_a_stack(depth: int) -> None:
    assert taken(b'{"id": "Q1", "x": ' + b"[" * depth + b"]" * depth + b"}\n" + dump(SCHEMA)) == [False, True]
    assert taken(b'{"id": "Q1", "x": ' + b"[" * depth + b"\n" + dump(SCHEMA)) == [False, True]


def test_nothing_behind_the_end_of_an_array_is_taken(tmp_path: Path) -> None:
    data = b"[\n" + dump(SCHEMA) + b"]\n" + dump(SCHEMA)

    assert taken(data) == [False, True, False, False]
    check_equal(whole(tmp_path / "a.json", data))


def test_longer_lines_than_allowed_or_than_a_window_are_left(tmp_path: Path) -> None:
    long = dump(SCHEMA | {"title": "x" * WINDOW_BYTES})
    data = dump(SCHEMA) + long + dump(FULL)

    assert taken(data) == [True, False, True]
    check_equal(whole(tmp_path / "a.json", data))
    check_equal(whole(tmp_path / "b.json", data), max_document_bytes=1000)
    assert [w.lines["is_taken"].tolist() for w in scan(dump(SCHEMA, FULL), max_bytes=1000)] == [[1, 0]]


def test_a_window_that_is_full_is_followed_by_another(tmp_path: Path) -> None:
    small = dump(*({"id": f"Q{number}", "title": f"T{number}"} for number in range(1, 500)))
    large = dump(FULL | {"pad": "x" * 60_000}) * (2 * WINDOW_BYTES // 60_000)
    data = small + large

    windows = scan(data)

    assert len(windows) > 2
    assert np.concatenate([window.lines["is_taken"] for window in windows]).all()
    check_equal(whole(tmp_path / "a.json", data))


def test_words_and_groups_are_those_of_the_reader_of_all() -> None:
    assert [words.WORDS[n] for n in (words.EARTH, words.FILE_IRI, words.DATA_IRI)] == [
        EARTH,
        COMMONS_FILE,
        COMMONS_DATA,
    ]
    assert len(set(words.WORDS)) == len(words.WORDS)
    assert set(words.GROUPS) == set(EntityWriter(WikidataOptions(), "scope").group_numbers())
    assert {"claims", "statements", "labels", "aliases", "sitelinks"} <= set(words.WORDS[: words.FIRST_LEFT_TO_OTHERS])
    assert {*PARTS, *LINKS, *TERMS, "redirects", "redirect"} <= set(words.WORDS[: words.FIRST_INNER])


def test_many_contents_make_the_table_grow() -> None:
    values = [{"id": f"Q{number}", "title": f"T{number}"} for number in range(1, 20_001)]

    (window,) = scan(dump(*values))

    assert window.lines["is_taken"].all()
    assert len(set(window.lexicals.to_pylist())) == len(window.lexicals) == 40_000


SECOND = json.dumps(item(statement(HUMAN)) | {"id": "Q2"}).encode() + b"\n"


@pytest.mark.parametrize(
    "closed", [b"[]\n", b"[%s]\n", b"  [%s ] \r\n", b"\n \n[%s]\n", b"[%s],\n", b"[\n%s,\n]\n", b"[\n%s]\n"]
)
def test_nothing_behind_an_array_that_a_line_closes_is_taken(tmp_path: Path, closed: bytes) -> None:
    first = json.dumps(SCHEMA).encode()

    check_equal(whole(tmp_path / "a.json", closed.replace(b"%s", first) + SECOND))


@pytest.mark.parametrize("iri", [WD, f"http://{'e' * 5_000}/"], ids=["usual", "long"])
def test_names_of_files_that_grow_fourfold_stay_in_the_tables(iri: str) -> None:
    frame = dump(item(statement(snak("P18", "string", "@", "commonsMedia"))))
    name = b'\\"' + b"{" * (WINDOW_BYTES - len(frame) - 1)
    data = frame.replace(b"@", name)
    assert len(data) == WINDOW_BYTES
    scanner = EntityScanner(entity_iri=iri, reference_iri=f"{WD}r/", max_bytes=1 << 28, ends_structures=False)

    (window,) = scanner.windows(data, 0, line_bounds(data))

    assert window.lines["is_taken"].tolist() == [1]
    assert int(scanner._tables["spare"][0]) <= scanner._tables["data"].shape[1]
    assert any(text.endswith(b"%7B%7B") for text in window.lexicals.to_pylist())


def test_an_escaped_unit_is_the_unit_that_it_spells(tmp_path: Path) -> None:
    data = dump(item(statement(snak("P1082", "quantity", {"amount": "+7", "unit": "1"}, "quantity"))))
    data = data.replace(b'"unit": "1"', rb'"unit": "\u0031"')
    assert rb"\u0031" in data

    check_equal(whole(tmp_path / "a.json", data))


@pytest.mark.parametrize("scans", [False, True], ids=["read", "scanned"])
@pytest.mark.parametrize(
    "written",
    [
        b'"latitude":1.5,"longitude" :1.50',
        b'"latitude":0.0,"longitude" :-0.0',
        b'"latitude":1.5,%s"longitude":1.50' % (b" " * 400),
        b'"latitude":1.5,"l\\u006fngitude":1.50',
        b'"latitude":1.50,"longitude":1.5',
    ],
)
def test_no_coordinate_is_written_as_an_equal_one(tmp_path: Path, written: bytes, scans: bool) -> None:
    data = dump(item(statement(snak("P625", "globecoordinate", POINT, "globe-coordinate"))))
    begin = data.index(b'"latitude"')
    end = data.index(b",", data.index(b'"longitude"'))
    data = data[:begin] + written + data[end:]
    wanted = [part.split(b":")[1].strip().decode() for part in written.split(b",")]

    (records,), bad = read(whole(tmp_path / "a.json", data), WikidataOptions(), scans=scans)

    texts = [row["lexical"].decode() for row in records.contents.to_pylist()]
    assert not bad
    assert f"Point({wanted[1]} {wanted[0]})" in texts


@pytest.mark.parametrize("iri", [f"{COMMONS_FILE}x", f"{COMMONS_DATA}x", COMMONS_FILE[:-3]])
def test_iris_of_entities_that_are_like_those_of_files_give_the_same_records(tmp_path: Path, iri: str) -> None:
    data = dump(item(statement(snak("P18", "string", "xQ31", "commonsMedia")), statement(HUMAN)))

    check_equal(whole(tmp_path / "a.json", data), entity_iri=iri)
