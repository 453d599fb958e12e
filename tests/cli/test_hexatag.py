from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from lisdata.cli import main
from lisdata.cli.hexatag import hexatag
from lisdata.cli.options import CleanGroup
from lisdata.shards.manifest import INCIDENCE_FORMAT, read_manifest

RULE = "python:rule_parser:parse"
TREEBANK = "1\tYes\t_\t_\t_\t_\t0\troot\t_\t_\n\n"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(CleanGroup("lisdata", commands={"hexatag": hexatag}), ["hexatag", *map(str, arguments)])


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("One two. Three\nfour.\n\nFive.\n")
    return path


def test_text_becomes_a_dataset_of_tagged_sentences(text: Path, tmp_path: Path) -> None:
    result = run(text, "--to", tmp_path / "a.lis", "--parser", RULE)

    assert result.exit_code == 0, result.output
    assert "3 structures" in result.stdout
    manifest = read_manifest(tmp_path / "a.lis", INCIDENCE_FORMAT)
    assert (manifest["report"]["words"], manifest["kinds"]) == (8, {"text": 3})


def test_a_treebank_becomes_one_too(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(TREEBANK * 2)

    result = run(tmp_path / "a.conllu", "--to", tmp_path / "a.lis", "--parser", "conllu", "--workers", 1)

    assert result.exit_code == 0, result.output
    assert "2 structures" in result.stdout


def test_options_of_text_reach_the_source(text: Path, tmp_path: Path) -> None:
    result = run(text, "--to", tmp_path / "a.lis", "--parser", RULE, "--unit", "line", "--batch-size", 2)

    assert result.exit_code == 0, result.output
    assert "5 structures" in result.stdout  # the line break ends a sentence, the blank line is one
    plan = orjson.loads((tmp_path / "a.lis" / "plan.json").read_bytes())
    assert (plan["source"], plan["options"]["batch_size"], plan["unit_mib"]) == ("parsed", 2, 1)


def test_a_dry_run_shows_the_plan_and_writes_nothing(text: Path, tmp_path: Path) -> None:
    result = run(text, "--to", tmp_path / "a.lis", "--parser", RULE, "--dry-run")

    assert result.exit_code == 0, result.output
    assert "input 0: a.txt" in result.stdout
    assert not (tmp_path / "a.lis").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--parser", "stanza"], 2, "tagger, tagger:FOLDER or python:MODULE:FUNCTION, got 'stanza'"),
        (["--parser", "conllu", "--unit", "line"], 2, "source conllu has no option unit"),
        (["--parser", RULE, "--non-projective", "bend"], 2, "'bend' is not one of"),
        (["--parser", "python:absent_module:parse"], 1, "No module named 'absent_module'"),
        (["--parser", "python:rule_parser:absent"], 1, "expected a function absent in module rule_parser"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    text: Path, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    result = run(text, "--to", tmp_path / "a.lis", *arguments)

    assert result.exit_code == code, result.output
    assert message in result.stderr
    assert not (tmp_path / "a.lis").exists()


@pytest.mark.parametrize("target", ["d/manifest.json", "d/new.svg", "there.svg"])
def test_a_drawing_never_goes_over_a_file_or_into_the_dataset(target: str, root: Path, tmp_path: Path) -> None:
    treebank = str(root / "sample_data" / "treebank")
    assert (
        CliRunner().invoke(main, ["hexatag", treebank, "--to", str(tmp_path / "d"), "--parser", "conllu"]).exit_code
        == 0
    )
    (tmp_path / "there.svg").write_text("mine")

    result = CliRunner().invoke(main, ["inspect", str(tmp_path / "d"), "--svg", str(tmp_path / target)])

    assert result.exit_code == 1
    assert (tmp_path / "there.svg").read_text() == "mine"
    assert CliRunner().invoke(main, ["verify", str(tmp_path / "d")]).exit_code == 0
