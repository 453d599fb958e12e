"""Tags by text: those of the parser, each text parsed once, kept in a file that survives kills, strangers refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import rule_parser
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import SchemaError, TreeError
from lisdata.evaluation.sentence_scores import TextTags
from lisdata.evaluation.tag_cache import FORMAT, TagCache, tag_texts
from lisdata.parsers import ParserError, tag_text

RULE = "python:rule_parser:parse"
RECITE = "python:rule_parser:recite"
TEXTS = ["The cat sleeps. It purrs.", "", "Dogs bark."]


@pytest.fixture(autouse=True)
def _fresh_script() -> None:
    rule_parser.SCRIPT.clear()
    rule_parser.CALLS.clear()
    for text in TEXTS:
        (rule_parser.SCRIPT[text],) = rule_parser.parse([text])


def is_same(one: TextTags, other: TextTags) -> bool:
    columns = ("spans", "terminal", "nonterminal", "num_lifted")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)


@settings(deadline=None)
@given(st.lists(st.text("ab .", max_size=12), max_size=5))
def test_tags_of_many_texts_are_those_of_each(texts: list[str]) -> None:
    found = tag_texts(texts, RULE)

    assert len(found) == len(texts)
    for text, tags in zip(texts, found, strict=True):
        sentences = tag_text(text, RULE)
        spans = [span for s in sentences for span in zip(s.word_begins, s.word_ends, strict=True)]
        assert tags.spans.tolist() == [list(span) for span in spans]
        assert tags.terminal.tolist() == [tag for s in sentences for tag in s.terminal]
        assert tags.nonterminal.tolist() == [tag for s in sentences for tag in s.nonterminal]


def test_crossing_arcs_are_lifted_and_counted() -> None:
    rule_parser.SCRIPT["a b c d"] = [rule_parser.sentence_of([(0, 1), (2, 3), (4, 5), (6, 7)], [3, 4, 0, 3])]

    tags = tag_texts(["Dogs bark.", "a b c d"], RECITE)

    assert [found.num_lifted for found in tags] == [0, 1]
    assert tags[1].terminal.tolist() == list(tag_text("a b c d", RECITE)[0].terminal)


def test_what_is_no_tree_is_told_with_parser_and_text() -> None:
    rule_parser.SCRIPT["a b"] = [rule_parser.sentence_of([(0, 1), (2, 3)], [2, 1])]

    with pytest.raises(TreeError, match=r"parser python:rule_parser:recite: a sentence of 'a b': "):
        tag_texts(["Dogs bark.", "a b"], RECITE)


def test_each_text_is_parsed_once() -> None:
    cache = TagCache(RECITE)

    first = cache([*TEXTS, *TEXTS])
    again = cache(TEXTS[::-1])

    assert rule_parser.CALLS == [3]
    assert first[:3] == first[3:] == again[::-1]
    assert all(is_same(found, expected) for found, expected in zip(first, tag_texts(TEXTS, RECITE), strict=False))


def test_the_file_spares_the_parser(tmp_path: Path) -> None:
    path = tmp_path / "new" / "tags.jsonl"
    written = TagCache(RECITE, path)(TEXTS)
    rule_parser.CALLS.clear()

    read = TagCache(RECITE, path)(TEXTS)

    assert rule_parser.CALLS == []
    assert all(map(is_same, read, written))


def test_processes_that_share_the_file_lose_nothing(tmp_path: Path) -> None:
    one, other = (TagCache(RULE, tmp_path / "tags.jsonl") for _ in range(2))

    one(["a b."])
    other(["c d."])
    one(["e."])

    lines = [json.loads(line) for line in (tmp_path / "tags.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines[0] == {"format": FORMAT, "parser": RULE}
    assert [line["text"] for line in lines[1:]] == ["a b.", "c d.", "e."]


@pytest.mark.parametrize("num_left", [0, 1, 30, 100])
def test_a_file_cut_by_a_kill_goes_on(tmp_path: Path, num_left: int) -> None:
    path = tmp_path / "tags.jsonl"
    TagCache(RECITE, path)(TEXTS)
    whole = path.read_bytes()
    path.write_bytes(whole[:num_left] if num_left < 100 else whole[:-5])

    found = TagCache(RECITE, path)(TEXTS)

    assert all(map(is_same, found, tag_texts(TEXTS, RECITE)))
    assert sorted(path.read_bytes().splitlines()) == sorted(whole.splitlines())


def test_tags_of_another_parser_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tags.jsonl"
    TagCache(RECITE, path)(TEXTS)

    with pytest.raises(SchemaError, match=r"tags\.jsonl: expected .*rule_parser:parse.*, found .*rule_parser:recite"):
        TagCache(RULE, path)


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"3",
        b'{"text": "a"}',
        b'{"text": "a", "begin": [0], "end": [1], "terminal": [1, 0], "nonterminal": [0], "num_lifted": 0}',
        b'{"text": "a", "begin": ["x"], "end": [1], "terminal": [1], "nonterminal": [0], "num_lifted": 0}',
        b'{"text": "a", "begin": [0], "end": [1], "terminal": [300], "nonterminal": [0], "num_lifted": 0}',
    ],
)
def test_a_damaged_line_is_refused_with_its_place(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "tags.jsonl"
    TagCache(RECITE, path)(TEXTS)
    path.write_bytes(path.read_bytes() + line + b"\n")

    with pytest.raises(SchemaError, match=r"tags\.jsonl:5: expected a text with its tags"):
        TagCache(RECITE, path)


def test_a_parser_that_is_not_there_is_told_before_anything_is_scored() -> None:
    with pytest.raises(ParserError):
        TagCache("python:rule_parser:absent")
    with pytest.raises(ValueError, match="expected a parser"):
        TagCache("stanza")
