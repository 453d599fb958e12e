from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import ExportError
from lisdata.exporters.jsonl import JSONL
from lisdata.registry import load_exporter
from lisdata.sources.json_text import STYLES, JsonStyle, NumberText, write_json

PREFIX = "Q=http://www.wikidata.org/entity/"
NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?", fullmatch=True).map(NumberText)
TEXTS = st.text(st.characters(), max_size=8) | st.sampled_from(
    ["a/b", "Q5", PREFIX[2:] + "Q5", 'say ": "', "\x7f\u2028"]
)
NAMES = st.sampled_from(["id", "label", "a#b", "", "\ud800", "line", "layout", "é"])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
ODD_STYLES = [
    *STYLES.values(),
    JsonStyle(item_separator=" , ", name_separator=" : ", ascii_only=False),
    JsonStyle(item_separator=",", name_separator=": ", ascii_only=True),
]
ENDS = ["\n"] * 5 + ["\r\n", " \n", "\n\n", "\n \t\n"]


@st.composite
def lines(draw: st.DrawFn) -> str:
    """One record in some style, its members and its entities' members in some order."""
    text = json.loads(json.dumps(draw(TEXTS)))  # a pair of surrogates becomes the character
    record = draw(st.dictionaries(NAMES, VALUES, max_size=3)) | {"text": text}
    entities = []
    for _ in range(draw(st.integers(0, 4))):
        start, end = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        entity = {"start": NumberText(start), "end": NumberText(end), "id": draw(TEXTS)}
        entity |= draw(st.dictionaries(NAMES.filter(lambda n: n != "id"), VALUES, max_size=1))
        entities.append(dict(draw(st.permutations(list(entity.items())))) if draw(st.booleans()) else entity)
    if entities or draw(st.booleans()):
        record["entities"] = entities
    if draw(st.booleans()):
        record = dict(draw(st.permutations(list(record.items()))))
    return write_json(record, draw(st.sampled_from(ODD_STYLES))) + draw(st.sampled_from(ENDS))


@st.composite
def files(draw: st.DrawFn) -> bytes:
    text = "".join(draw(st.lists(lines(), max_size=5)))
    text = text.rstrip("\n") if draw(st.booleans()) else text
    return (draw(st.sampled_from(["", "", "\ufeff"])) + text).encode() if text else b""


def test_it_is_registered() -> None:
    assert load_exporter("jsonl") is JSONL


@settings(max_examples=15, deadline=None)
@given(written=st.lists(files(), min_size=1, max_size=10), id_prefix=st.sampled_from([[], [PREFIX]]))
def test_any_records_come_back_byte_for_byte(round_trip: Any, written: list[bytes], id_prefix: list[str]) -> None:
    found, report = round_trip("jsonl", written, ".jsonl", id_prefix=id_prefix)

    assert found == written
    assert report.losses == {}


@pytest.mark.parametrize(
    "line",
    [
        '{"text": "a", "n": 9007199254740993, "m": 18446744073709551617, "f": 1.0, "g": 1e400, "z": -0}\n',
        '{"text":"\\ud800 \\ud83d\\ude00","tags":["\\u00e9"]}\n',
        '{"text": "a\\/b"}\n',
        '{ "text" : "a" }\n',
        '{"title": "t", "body": "b", "text": "c", "entities": []}\n',
        '{"entities": [{"id": "Q1", "start": 0, "end": 1}, {"id": "Q2", "start": 1, "end": 2}], "text": "ab"}\n',
        '{"text": "ab", "entities": [{"start": 1, "end": 2, "id": "x"}, {"start": 0, "end": 1, "id": "y"}]}\n',
        '{"text": "ab", "entities": [{"start": -0, "end": 1, "id": "y"}]}\n',
        '{"text": ""}',
        "\r\n",
    ],
)
def test_a_line_comes_back_byte_for_byte(round_trip: Any, line: str) -> None:
    assert round_trip("jsonl", [line.encode()], ".jsonl")[0] == [line.encode()]


def test_the_fields_of_text_and_entities_may_have_other_names(round_trip: Any) -> None:
    line = b'{"body": "see Rome", "links": [{"start": 4, "end": 8, "id": "Q220"}], "text": "no"}\n'

    found, _ = round_trip("jsonl", [line], ".jsonl", text_field="body", entities_field="links", id_prefix=[PREFIX])

    assert found == [line]


def test_the_sample_comes_back_byte_for_byte(round_trip: Any, root: Path) -> None:
    data = (root / "sample_data/table2/sentence.jsonl").read_bytes()

    assert round_trip("jsonl", [data], ".jsonl")[0] == [data]


def test_plain_text_becomes_records(round_trip: Any) -> None:
    found, report = round_trip("text", [b"one\ntwo"], ".txt", as_format="jsonl")

    assert found == [b'{"text": "one\\n"}\n{"text": "two"}\n']
    assert report.losses == {}


def test_rejected_records_are_losses(round_trip: Any) -> None:
    found, report = round_trip("jsonl", [b'{"text": "a"}\n{"text": 1}\n'], ".jsonl", on_error="quarantine")

    assert found == [b'{"text": "a"}\n']
    assert report.losses == {"rejected records": 1}


def test_structures_that_are_no_text_are_refused(round_trip: Any) -> None:
    with pytest.raises(ExportError, match=r"expected a structure of text"):
        round_trip("hif", [b'{"incidences": [{"edge": 1, "node": 2}]}'], ".json", as_format="jsonl", allow_losses=True)
