"""Suites of SyntaxGym: what is read, how regions become a sentence, and what is refused, with file and item."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import SchemaError
from lisdata.evaluation.syntaxgym import LEFT_OUT
from lisdata.evaluation.syntaxgym_suites import Condition, hash_suites, read_suite, read_suites

Suite = dict[str, Any]


def small_suite(name: str = "small") -> Suite:
    def condition(name: str, verb: str) -> Suite:
        contents = enumerate(["The woman", verb, "the guitar"], 1)
        return {"condition_name": name, "regions": [{"region_number": n, "content": text} for n, text in contents]}

    items = [
        {"item_number": number, "conditions": [condition("match", "plays"), condition("mismatch", "play")]}
        for number in (1, 2)
    ]
    predictions = [{"type": "formula", "formula": "(2;%mismatch%) > (2;%match%)"}]
    return {"meta": {"name": name, "metric": "sum"}, "predictions": predictions, "items": items}


def write(folder: Path, suite: object, name: str = "small") -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(suite), encoding="utf-8")
    return path


def test_all_suites_of_hu_et_al_are_read(shared: Path) -> None:
    suites = read_suites(shared / "data" / "syntaxgym" / "suites")

    assert len(suites) == 34
    assert [suite.name for suite in suites] == sorted(suite.name for suite in suites)
    assert sum(len(suite.items) for suite in suites if suite.name not in LEFT_OUT) == 799
    assert {suite.metric for suite in suites} == {"sum"}
    texts = [condition.text for suite in suites for item in suite.items for condition in item.conditions.values()]
    assert not any("  " in text or text != text.strip() for text in texts)


def test_the_reference_tool_s_sentences_are_ours(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "syntaxgym" / "syntaxgym_core"
    body = json.loads((folder / "test_in.json").read_text(encoding="utf-8"))
    body["meta"]["metric"] = "sum"  # the file has an older form of predictions, and asks for all metrics
    body["predictions"] = [{"type": "formula", "formula": "(3;%that%) > (3;%what%)"}]

    suite = read_suite(write(tmp_path, body))

    texts = [condition.text for item in suite.items for condition in item.conditions.values()]
    assert texts == (folder / "test_sentences.txt").read_text(encoding="utf-8").splitlines()


def test_the_reference_tool_s_sample_is_read(shared: Path) -> None:
    suite = read_suite(shared / "data" / "syntaxgym" / "syntaxgym_core" / "sample_suite.json")

    assert suite.name == "Sample subject--verb suite"
    assert suite.items[0].conditions["mismatch"].text == "The woman play the guitar"


@settings(deadline=None)
@given(st.lists(st.sampled_from(["", "a", "bc d", ",", "é"]), min_size=1).filter(any))
def test_regions_cut_the_sentence_where_they_end(contents: list[str]) -> None:
    condition = Condition(numbers=tuple(range(len(contents))), contents=tuple(contents))

    ends = condition.region_ends()

    pieces = [condition.text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    assert "".join(pieces) == condition.text
    assert [piece.removeprefix(" ") for piece in pieces] == contents
    assert [piece for piece in pieces if piece and not piece.startswith(" ")] == [next(filter(None, contents))]


def test_space_around_regions_does_not_count(tmp_path: Path) -> None:
    suite = small_suite()
    suite["items"][0]["conditions"][0]["regions"][1]["content"] = "  plays \t"
    suite["items"][0]["conditions"][0]["regions"][2]["content"] = "   "

    match = read_suite(write(tmp_path, suite)).items[0].conditions["match"]

    assert match.contents == ("The woman", "plays", "")
    assert match.text == "The woman plays"
    assert match.region_ends() == [9, 15, 15]


def edit(change: Callable[[Suite], None]) -> Suite:
    suite = small_suite()
    change(suite)
    return suite


def first(suite: Suite) -> Suite:
    """Return the first condition of the second item."""
    condition: Suite = suite["items"][1]["conditions"][0]
    return condition


MALFORMED: dict[str, tuple[Callable[[Suite], Any], str]] = {
    "no meta": (lambda s: s.pop("meta"), "meta"),
    "no metric": (lambda s: s["meta"].pop("metric"), "metric"),
    "another metric": (lambda s: s["meta"].update(metric="all"), "meta.metric: expected one of sum, mean"),
    "no predictions": (lambda s: s.update(predictions=[]), "expected at least one prediction and one item"),
    "no items": (lambda s: s.update(items=[]), "expected at least one prediction and one item"),
    "a prediction of another type": (
        lambda s: s["predictions"][0].update(type="regression"),
        "predictions[0]: expected the type 'formula', found 'regression'",
    ),
    "an old prediction": (lambda s: s.update(predictions=[{"relation": "greaterthan"}]), "predictions[0]: "),
    "a broken formula": (
        lambda s: s["predictions"][0].update(formula="(2;%match%) >"),
        "predictions[0]: formula '(2;%match%) >', column 14: expected a term or a number, found the end",
    ),
    "an item twice": (lambda s: s["items"][1].update(item_number=1), "expected each item once, found item 1 again"),
    "an item that is no object": (lambda s: s["items"].append(3), "items[2]: the whole: expected an object, found 3"),
    "an item without a number": (lambda s: s["items"][1].pop("item_number"), "items[1]: item_number"),
    "a condition twice": (
        lambda s: first(s).update(condition_name="mismatch"),
        "items[1] (item 2): expected each condition once, found 'mismatch' again",
    ),
    "a condition that is missing": (
        lambda s: first(s).update(condition_name="other"),
        "items[1] (item 2): expected the condition 'match', found other, mismatch",
    ),
    "a region that is missing": (
        lambda s: first(s)["regions"][1].update(region_number=7),
        "items[1] (item 2): match: expected a region 2, found 1, 7, 3",
    ),
    "a region twice": (
        lambda s: first(s)["regions"][0].update(region_number=2),
        "items[1] (item 2): match: expected each region once, found region 2 again",
    ),
    "a region that is no text": (
        lambda s: first(s)["regions"][0].update(content=None),
        "items[1]: conditions[0].regions[0].content: expected a text, found None",
    ),
    "regions that are all empty": (
        lambda s: [region.update(content=" ") for region in first(s)["regions"]],
        "items[1] (item 2): match: expected a sentence, found regions that are all empty",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_suite_is_refused_with_file_and_item(case: str, tmp_path: Path) -> None:
    suite = small_suite()
    change, message = MALFORMED[case]
    change(suite)
    path = write(tmp_path, suite)

    with pytest.raises(SchemaError) as caught:
        read_suite(path)

    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    path.write_bytes(b'{"meta": ')

    with pytest.raises(SchemaError, match=r"small\.json: expected the JSON of a SyntaxGym suite"):
        read_suite(path)


def test_a_folder_without_suites_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="expected the JSON files of SyntaxGym suites, found none"):
        read_suites(tmp_path)


def test_two_suites_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path, small_suite("same"), name)

    with pytest.raises(SchemaError, match=r"b\.json: expected another name than 'same'"):
        read_suites(tmp_path)


def test_the_hash_knows_names_and_bytes(tmp_path: Path) -> None:
    write(tmp_path, small_suite())
    before = hash_suites(tmp_path)

    write(tmp_path, edit(lambda s: s["meta"].update(comment="x")))

    assert hash_suites(tmp_path) != before
    write(tmp_path, small_suite())
    assert hash_suites(tmp_path) == before
