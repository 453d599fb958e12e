"""A manifest that was changed by one who can seal it: the field is named, and nothing but LisDataError comes out."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from changed_documents import changed_documents, refusal, with_value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lisdata
from lisdata.errors import DamagedShardError, LisDataError, SchemaError
from lisdata.shards import verify_dataset
from lisdata.shards.manifest import sealed
from lisdata.statistics import summarise

SWEEP = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def body_of(dataset: Path) -> dict[str, Any]:
    body = orjson.loads((dataset / "manifest.json").read_bytes())
    body.pop("self_sha256")
    return dict(body)


def reseal(dataset: Path, body: Any) -> None:
    (dataset / "manifest.json").write_bytes(sealed(body))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small dataset of either form, to be resealed."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "a.txt").write_bytes(b"one\ntwo \xff\nthree\n")
    lisdata.convert("text", folder / "a.txt", folder / "lis", on_error="skip")
    lisdata.encode(folder / "lis", folder / "tok", tokenizer="chars", context=8)
    return {"lis": folder / "lis", "tok": folder / "tok"}


@pytest.mark.parametrize("form", ["lis", "tok"])
@given(data=st.data())
@SWEEP
def test_whatever_one_field_says_only_lisdata_errors_come_out(form: str, small: dict[str, Path], data: Any) -> None:
    dataset = small[form]
    good = body_of(dataset)
    changed = data.draw(changed_documents(good))

    try:
        reseal(dataset, changed)
        for use in (lisdata.open, summarise):
            error = refusal(partial(use, dataset), LisDataError)
            assert error is None or str(dataset) in str(error) or "column" in str(error)
        verify_dataset(dataset)
    finally:
        reseal(dataset, good)


FALSE = {
    "a count": (("counts", "structures"), 7, r"counts.structures: expected the sum over the parts, 240, found 7"),
    "a count of a kind": (("kinds", "text"), 7, r"kinds.text: expected the sum over the parts"),
    "a negative count": (("parts", 0, "counts", "cells"), -1, r"parts\[0\].counts.cells: expected an integer from 0"),
    "a count that is a text": (("counts", "structures"), "7", r"counts.structures: expected an integer from 0"),
    "an origin that is not there": (("inputs", 0, "origin"), 1, r"inputs\[0\].origin: expected one of 1 origins"),
    "inputs that are not there": (("parts", 0, "inputs"), [0, 3], r"parts\[0\].inputs: expected a range of the 2"),
    "inputs backwards": (("parts", 0, "inputs"), [1, 0], r"parts\[0\].inputs: expected a range"),
    "inputs that are no range": (("parts", 0, "inputs"), [0], r"parts\[0\].inputs: expected a range"),
    "no origins": (("origins",), None, r"origins: expected a list, found None"),
    "records that are no counts": (("inputs", 0, "records", "seen"), 1.5, r"inputs\[0\].records.seen: expected an int"),
    "a size that is a text": (("files", "plan.json", "size"), "1", r"files.plan.json.size: expected an integer from 0"),
    "a report of an input": (
        ("inputs", 0, "report"),
        {"words": 3},
        r"report.words: expected the sum over the inputs, 3, found 0",
    ),
    "an input's report of texts": (
        ("inputs", 0, "report"),
        {"words": "3"},
        r"inputs\[0\].report.words: expected an int",
    ),
    "a report of texts": (("report",), {"lifted_arcs": "many"}, r"report.lifted_arcs: expected an integer from 0"),
}


@pytest.mark.parametrize("what", FALSE)
def test_what_is_false_is_refused_at_open_and_by_verify(what: str, converted: Path, tmp_path: Path) -> None:
    place, value, message = FALSE[what]
    dataset = Path(shutil.copytree(converted, tmp_path / "copy"))

    reseal(dataset, with_value(body_of(dataset), place, value))

    with pytest.raises(DamagedShardError, match=f"^{dataset / 'manifest.json'}: {message}"):
        lisdata.open(dataset)
    (problem,) = verify_dataset(dataset).problems
    assert problem.startswith(f"{dataset / 'manifest.json'}: ")


TOKENS_FALSE = {
    "a number of rows": (("num_rows",), 1, "num_rows: expected the sum over the parts, 240, found 1"),
    "a count of tokens": (("counts", "tokens"), 1, r"counts.tokens: expected num_tokens, \d+, found 1"),
    "a file of a part": (("parts", 0, "files"), ["x"], r"parts\[0\].files: expected names among the files, found 'x'"),
    "a part twice": (("parts", 1, "name"), "part-00000", "parts: expected each name once, found 'part-00000' 2 times"),
    "a tokenizer's file": (("tokenizer", "file"), "x", "tokenizer.file: expected one of the files, found 'x'"),
    "another tokenizer": (("tokenizer", "sha256"), "x", "tokenizer.sha256: expected that of characters.json, found x"),
    "a role list's file": (("roles", "file"), "x", "roles.file: expected one of the files, found 'x'"),
    "a schema of odd columns": (("schema", "columns"), [3], r"schema.columns\[0\]: expected an object, found 3"),
}


@pytest.mark.parametrize("what", TOKENS_FALSE)
def test_what_is_false_of_tokens_is_refused_at_open_and_by_verify(what: str, encoded: Path, tmp_path: Path) -> None:
    place, value, message = TOKENS_FALSE[what]
    dataset = Path(shutil.copytree(encoded, tmp_path / "copy"))

    reseal(dataset, with_value(body_of(dataset), place, value))

    with pytest.raises(DamagedShardError, match=f"^{dataset / 'manifest.json'}: {message}"):
        lisdata.open(dataset)
    assert len(verify_dataset(dataset).problems) == 1


def test_a_part_that_the_files_do_not_know_is_refused_by_verify_too(converted: Path, tmp_path: Path) -> None:
    dataset = Path(shutil.copytree(converted, tmp_path / "copy"))
    body = body_of(dataset)

    reseal(dataset, with_value(body, ("parts", 0, "name"), "elsewhere"))
    (problem,) = verify_dataset(dataset).problems
    assert "expected 'structures/elsewhere.arrow' among its files" in problem

    gone = body["parts"][0]
    less = {n: {k: v - gone[n].get(k, 0) for k, v in body[n].items()} for n in ("counts", "kinds")}
    reseal(dataset, body | {"parts": body["parts"][1:], **less})
    with pytest.raises(SchemaError, match="expected each table to be of a part, found 'contents/"):
        lisdata.open(dataset)


@pytest.mark.parametrize(("column", "name"), [(0, "input_ids"), (1, "role")])
def test_limits_that_the_tokens_exceed_are_found_by_verify_and_by_counting(
    column: int, name: str, encoded: Path, tmp_path: Path
) -> None:
    dataset = Path(shutil.copytree(encoded, tmp_path / "copy"))
    body = body_of(dataset)
    assert body["schema"]["columns"][column]["name"] == name

    reseal(dataset, with_value(body, ("schema", "columns", column, "maximum"), 0))

    assert any(f"column {name}: expected 0 to 0, found" in p for p in verify_dataset(dataset).problems)
    if name == "input_ids":
        with pytest.raises(DamagedShardError, match="column input_ids: expected 0 to 0, found 0 to"):
            summarise(dataset)


def test_a_report_of_counts_and_fields_of_later_versions_are_taken(converted: Path, tmp_path: Path) -> None:
    dataset = Path(shutil.copytree(converted, tmp_path / "copy"))

    reseal(dataset, body_of(dataset) | {"report": {"lifted_arcs": 3}, "colour": "blue"})

    assert len(lisdata.open(dataset)) == 240
    assert verify_dataset(dataset).problems == ()
