"""An export is read again without the files that only the inputs needed; what is no export is told what it lacks."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

import lisdata
from lisdata.alignment import audit
from lisdata.cli import main

URL = "http://e.org/context"
SECOND = "http://e.org/more"


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    """A document that names two contexts by URL, beside the files of both, and a dataset of it."""
    contexts = {"one.json": {"name": "http://e.org/name"}, "two.json": {"by": "http://e.org/by"}}
    for name, context in contexts.items():
        (tmp_path / name).write_bytes(orjson.dumps({"@context": context}))
    document = {"@context": [URL, SECOND], "@id": "http://e.org/a", "name": "sun", "by": "Ada"}
    (tmp_path / "garden.jsonld").write_bytes(orjson.dumps(document))
    lisdata.convert("jsonld", tmp_path / "garden.jsonld", tmp_path / "d.lis", options={"context": given(tmp_path)})
    return tmp_path


def given(folder: Path) -> tuple[str, ...]:
    return (f"{URL}={folder / 'one.json'}", f"{SECOND}={folder / 'two.json'}")


@pytest.mark.parametrize(
    ("format_", "suffix"), [(None, "jsonld"), ("turtle", "ttl"), ("trig", "trig"), ("nquads", "nq")]
)
def test_an_export_is_audited_without_the_contexts_of_its_input(garden: Path, format_: str | None, suffix: str) -> None:
    lisdata.export(garden / "d.lis", garden / f"back.{suffix}", format=format_)
    for name in ("one.json", "two.json"):
        (garden / name).unlink()

    assert audit(garden / "d.lis", garden / f"back.{suffix}").ok


def test_a_loss_is_found_without_them_too(garden: Path) -> None:
    lisdata.export(garden / "d.lis", garden / "back.jsonld")
    (garden / "back.jsonld").write_bytes((garden / "back.jsonld").read_bytes().replace(b"sun", b"moon"))

    assert not audit(garden / "d.lis", garden / "back.jsonld").ok


def test_a_document_that_needs_them_says_which_option_is_missing(garden: Path) -> None:
    with pytest.raises(ValueError, match=r"a file for the context .*for other files give `audit` --option context="):
        audit(garden / "d.lis", garden / "garden.jsonld")
    assert audit(garden / "d.lis", garden / "garden.jsonld", options={"context": given(garden)}).ok


def test_an_export_that_is_broken_is_told_as_such(garden: Path) -> None:
    lisdata.export(garden / "d.lis", garden / "back.nq", format="nquads")
    (garden / "back.nq").write_bytes(b"<http://e.org/a> no\n")

    with pytest.raises(lisdata.errors.BadRecordError, match=r"back\.nq|garden"):
        audit(garden / "d.lis", garden / "back.nq")


@pytest.mark.parametrize("times", [1, 2])
def test_an_option_that_takes_several_values_may_be_given_several_times(garden: Path, times: int) -> None:
    options = [part for pair in given(garden)[:times] for part in ("--option", f"context={pair}")]

    result = CliRunner().invoke(main, ["audit", str(garden / "d.lis"), str(garden / "garden.jsonld"), *options])

    assert result.exit_code == (0 if times == 2 else 1), result.output
    assert ("equal" in result.stdout.splitlines()) == (times == 2)
