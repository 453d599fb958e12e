"""Facts with a text in one row: endpoints or role markers first, then the running text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lisdata.conversion import convert
from lisdata.encoding import encode, load_tokenizer
from lisdata.sources.fact_text import Fact, write_line
from lisdata.token_shards import TokenDataset

ANN = Fact(relation="work", participants=(("boss", "ann"), ("captain", "bo")))
CY = Fact(relation="work", participants=(("boss", "cy"), ("captain", "ann")))


@pytest.fixture
def tokens(tmp_path: Path) -> Any:
    def make(*lines: bytes, **settings: Any) -> tuple[list[dict[str, Any]], Any]:
        (tmp_path / "in.jsonl").write_bytes(b"".join(lines))
        convert("fact-text", str(tmp_path / "in.jsonl"), tmp_path / "data")
        encode(tmp_path / "data", tmp_path / "tokens", **settings)
        dataset = TokenDataset(tmp_path / "tokens")
        tokenizer = load_tokenizer(dataset.path / dataset.manifest["tokenizer"]["file"])
        return [dataset[n] for n in range(len(dataset))], tokenizer

    return make


def test_facts_come_before_their_text_with_roles_and_instances_of_their_own(tokens: Any) -> None:
    (row,), tokenizer = tokens(write_line([ANN, CY], "hm", []), separator=" ", text_separator="|")

    assert tokenizer.decode(row["input_ids"]) == " ann bo cy ann|hm"
    assert list(row["instance"]) == [0] * 7 + [1] * 7 + [2] * 3
    assert list(row["position"]) == [0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 0, 1, 2]
    boss, captain, text = row["role"][0], row["role"][4], row["role"][-1]
    assert list(row["role"]) == [boss] * 4 + [captain] * 3 + [boss] * 3 + [captain] * 4 + [text] * 3
    assert len({int(boss), int(captain), int(text)}) == 3


def test_a_name_in_the_text_has_the_content_that_it_has_in_the_fact(tokens: Any) -> None:
    (row,), tokenizer = tokens(write_line([ANN], "bo!", [(0, 2, "bo")]), separator=" ")

    assert tokenizer.decode(row["input_ids"]) == " ann bobo!"
    bo = row["content"][4]
    assert list(row["content"] == bo) == [False] * 4 + [True] * 5 + [False]


@pytest.mark.parametrize("settings", [{}, {"facts": "serialized"}], ids=str)
def test_how_a_line_is_written_is_no_endpoint(tokens: Any, tmp_path: Path, settings: dict[str, Any]) -> None:
    usual = write_line([ANN], "bo!", [(0, 2, "bo")])
    odd = b'{ "text": "bo!", ' + usual[1:-1].replace(b'"text":"bo!",', b"") + b"\n"
    assert json.loads(odd) == json.loads(usual)

    rows, tokenizer = tokens(usual, odd, view="endpoints", separator=" ", **settings)

    assert tokenizer.decode(rows[1]["input_ids"]) == tokenizer.decode(rows[0]["input_ids"])
    assert list(rows[1]["role"]) == list(rows[0]["role"])
    assert "{" not in (tmp_path / "tokens/characters.json").read_text()[2:].split("characters")[1].split("]")[0]
    report = TokenDataset(tmp_path / "tokens").manifest["report"]
    assert (report.get("incidences_left_out"), report.get("isolated_occurrences", 0)) == (1, 0)


def test_serialized_facts_have_role_markers_and_one_run_of_positions(tokens: Any) -> None:
    (row,), tokenizer = tokens(
        write_line([ANN, CY], "hm", []), separator=" ", text_separator="|", facts="serialized"
    )  # fmt: skip

    text = tokenizer.decode(row["input_ids"])
    boss, captain = text[0], text[5]
    assert text == f"{boss} ann{captain} bo|{boss} cy{captain} ann|hm"
    assert all(0xE000 <= ord(marker) < 0xF900 for marker in (boss, captain))
    assert list(row["position"]) == list(range(len(text)))
    assert list(row["instance"]) == [0] * 10 + [1] * 9 + [2] * 3


def test_markers_of_a_tokenizer_of_words_are_sides_in_angle_brackets(tokens: Any, tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    known = {"[UNK]": 0, "<boss>": 1, "<captain>": 2, "ann": 3, "bo": 4, "hm": 5}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(tmp_path / "words.json"))

    (row,), _ = tokens(write_line([ANN], "hm", []), tokenizer=str(tmp_path / "words.json"), facts="serialized")

    assert list(row["input_ids"]) == [1, 3, 2, 4, 5]


def test_text_without_facts_keeps_the_separator_and_facts_without_text_have_none(tokens: Any) -> None:
    rows, tokenizer = tokens(write_line([], "hm", []), write_line([ANN], "", []), text_separator="|")

    assert [tokenizer.decode(row["input_ids"]) for row in rows] == ["|hm", "annbo"]


def test_text_first_has_the_same_pieces_the_other_way_round(tokens: Any) -> None:
    lines = [write_line([ANN], "hm", []), write_line([ANN, CY], "", []), write_line([], "hm", [])]
    settings = {"separator": " ", "text_separator": "|/"}
    facts_first, tokenizer = tokens(*lines, **settings)
    found, _ = tokens(*lines, **settings, view="text-first", fresh=True)

    assert [tokenizer.decode(row["input_ids"]) for row in found] == ["hm|/ ann bo", " ann bo cy ann", "hm|/"]
    assert list(found[0]["position"]) == [0, 1, 2, 3, *facts_first[0]["position"][:7]]
    assert list(found[0]["instance"]) == [1] * 4 + [0] * 7
    for name in ("role", "instance", "occurrence", "content"):
        size = len(found[0][name])
        assert sorted(found[0][name]) == sorted(facts_first[0][name])
        assert list(found[0][name][4:]) == list(facts_first[0][name][: size - 4])

    (serialized, *_), _ = tokens(*lines, **settings, view="text-first", facts="serialized", fresh=True)
    assert list(serialized["position"]) == list(range(len(serialized["input_ids"])))


def test_the_other_views_show_all_endpoints_or_the_text_alone(tokens: Any) -> None:
    line = write_line([ANN], "hm", [])

    (endpoints,), tokenizer = tokens(line, view="endpoints")
    assert tokenizer.decode(endpoints["input_ids"]) == "annbohm"


def test_counts_of_what_no_view_shows_are_those_of_the_whole_structure(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(write_line([Fact(relation="r", participants=()), ANN], "hm hm", []))
    convert("fact-text", str(tmp_path / "in.jsonl"), tmp_path / "data")

    manifest = encode(tmp_path / "data", tmp_path / "tokens")

    assert manifest["report"]["empty_instances"] == 1
    assert manifest["report"]["isolated_occurrences"] == 0
    assert manifest["report"]["incidences_left_out"] == 0
    assert (manifest["counts"]["endpoints"], manifest["counts"]["words"]) == (2, 2)
    assert np.sum(manifest["counts"]["tokens"]) == len("annbohm hm")
