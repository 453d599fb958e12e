from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from small_taggers import SIZES, drawn_network, write_treebank

from lisdata.cli import main
from lisdata.tagger.weights import save_tagger


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    return write_treebank(tmp_path / "a.conllu", num_sentences=30, seed=0)


def test_a_tagger_is_trained_measured_and_used(treebank: Path, tmp_path: Path) -> None:
    sizes = ["--steps", "5", "--width", "8", "--layers", "1", "--rows", "50"]

    trained = run("tagger", "train", treebank, "--to", tmp_path / "t", *sizes)
    measured = run("tagger", "evaluate", treebank, "--tagger", tmp_path / "t", "--json")
    (tmp_path / "a.txt").write_text("The noun1 verb2 the noun3.\n")
    used = run("hexatag", tmp_path / "a.txt", "--to", tmp_path / "a.lis", "--parser", f"tagger:{tmp_path / 't'}")

    assert trained.exit_code == 0, trained.output
    assert f"use it as --parser tagger:{tmp_path / 't'}" in trained.stdout
    assert measured.exit_code == 0, measured.output
    assert 0 <= json.loads(measured.stdout)["uas"] <= 1
    assert used.exit_code == 0, used.output
    assert "1 structure" in used.stdout


def test_scores_are_printed_for_people(treebank: Path, tmp_path: Path) -> None:
    save_tagger(drawn_network(), tmp_path / "t", about={})

    result = run("tagger", "evaluate", treebank, "--tagger", tmp_path / "t")

    assert result.exit_code == 0, result.output
    assert "UAS without punctuation" in result.stdout
    assert "%" in result.stdout


@pytest.mark.parametrize(("deprels", "is_told"), [(("root", "det", "nsubj", "obj"), False), (("ROOT", "dobj"), True)])
def test_scores_on_trees_of_another_scheme_say_so(
    treebank: Path, tmp_path: Path, deprels: tuple[str, ...], is_told: bool
) -> None:
    save_tagger(drawn_network(config=replace(SIZES, deprels=deprels)), tmp_path / "t", about={})

    result = run("tagger", "evaluate", treebank, "--tagger", tmp_path / "t")

    assert result.exit_code == 0, result.output
    assert ("compare it with its teacher" in result.stderr) == is_told


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train"], 2, "expected treebanks, or texts with a teacher"),
        (["train", "--text", "a.txt"], 2, "expected texts and the teacher"),
        (["train", "absent.conllu"], 1, "absent.conllu"),
        (["train", "a.conllu", "--from", "absent"], 1, "absent/config.json: expected a file of a tagger"),
        (["train", "a.conllu", "--width", "9"], 2, "is odd"),
        (["evaluate"], 2, "expected treebanks"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    treebank: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(treebank.parent)
    to = ["--to", "t"] if arguments[0] == "train" else []

    result = run("tagger", *arguments, *to)

    assert result.exit_code == code, result.output
    assert message in result.stderr


def test_text_without_a_parser_gets_one_and_a_treebank_does_not(
    treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lisdata.parsers import ParserError

    def refuse(name: str) -> str:
        raise ParserError(f"{name} is not installed")

    (tmp_path / "a.txt").write_text("She reads.\n")
    monkeypatch.setattr("lisdata.parsers.pin_parser", lambda name: refuse(name) if name == "spacy" else name)
    result = run("hexatag", tmp_path / "a.txt", "--to", tmp_path / "a.lis")
    refused = run("hexatag", treebank, "--to", tmp_path / "b.lis")

    assert result.exit_code == 0, result.output
    assert "parser: tagger" in result.stderr
    assert (refused.exit_code, "Missing option '--parser'. Choose conllu" in refused.stderr) == (2, True)
