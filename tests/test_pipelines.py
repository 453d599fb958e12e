"""Every recipe in pipelines/ runs on sample_data, from sources to an evaluated model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lisdata.cli import main
from lisdata.schema import StructureKind

SMALL = ["--set", "train.num_steps=4", "--set", "train.num_threads=1"]


def lisdata(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def test_every_recipe_is_run_by_a_test_of_this_file(root: Path) -> None:
    assert {p.name for p in (root / "pipelines").glob("*.toml")} == {"quickstart.toml", "shakespeare.toml"}


def test_the_quickstart_trains_on_batches_of_all_six_kinds(root: Path, tmp_path: Path) -> None:
    recipe = str(root / "pipelines" / "quickstart.toml")
    small = [*SMALL, "--set", "model.width=32", "--set", "model.num_layers=1", "--set", "evaluate.max_batches=8"]

    done = lisdata("run", recipe, "--to", str(tmp_path / "out"), *small)

    assert done.exit_code == 0, done.output
    table = json.loads((tmp_path / "out" / "loss_by_kind.json").read_text())["lisformer"]
    assert {*table} == {kind.label for kind in StructureKind} - {"mixed"}
    assert (tmp_path / "out" / "loss_by_kind.png").stat().st_size > 0
    assert lisdata("verify", str(tmp_path / "out" / "merged")).exit_code == 0
    assert lisdata("verify", str(tmp_path / "out" / "tokens")).exit_code == 0


@pytest.fixture
def shakespeare(root: Path, tmp_path: Path) -> list[str]:
    text = "".join(p.read_text(encoding="utf-8") for p in sorted((root / "sample_data" / "text").glob("*.txt")))
    (tmp_path / "input.txt").write_text(text, encoding="utf-8")
    changes = {
        "source.path": str(tmp_path / "input.txt"),
        "train.window": "32",
        "train.split": "0.5",
        "train.batch_size": "2",
        "evaluate.context_lengths": "[32, 64]",
    }
    for model in range(4):
        changes |= {
            f"model.{model}.width": "16",
            f"model.{model}.num_layers": "1",
            f"model.{model}.num_attention_heads": "2",
        }
    return [*SMALL, *(word for key, value in changes.items() for word in ("--set", f"{key}={value}"))]


def test_shakespeare_measures_the_four_models_of_table_3(root: Path, tmp_path: Path, shakespeare: list[str]) -> None:
    recipe, to = str(root / "pipelines" / "shakespeare.toml"), str(tmp_path / "out")

    assert lisdata("train", recipe, "--to", to, *shakespeare).exit_code == 0
    done = lisdata("evaluate", recipe, "--to", to, *shakespeare)

    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "out" / "perplexity.json").read_text())
    assert {*report["perplexity"]} == {"rope", "alibi", "random-lines", "lisformer-lines"}
    assert all(float(ppl) > 1 for curve in report["perplexity"].values() for ppl in curve.values())


def test_evaluating_before_training_says_what_to_run(root: Path, tmp_path: Path, shakespeare: list[str]) -> None:
    recipe = str(root / "pipelines" / "shakespeare.toml")

    done = lisdata("evaluate", recipe, "--to", str(tmp_path / "out"), *shakespeare)

    assert done.exit_code == 1
    assert "lisdata run" in done.output


def test_a_dry_run_writes_nothing(root: Path, tmp_path: Path) -> None:
    done = lisdata("run", str(root / "pipelines" / "quickstart.toml"), "--to", str(tmp_path / "out"), "--dry-run")

    assert done.exit_code == 0
    assert "train lisformer" in done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("source.0.source=txet", "no source is called 'txet'"),
        ("source.0.options.unit=page", "expected one of line, paragraph, document"),
        ("source.0.path=nowhere.txt", "nowhere.txt"),
        ("encode.tokeniser=chars", "encode has no tokeniser"),
        ("encode.view=sideways", "view: expected one of"),
        ("train.num_stps=3", "train has no num_stps"),
        ("train.num_steps=abc", "num_steps: expected int"),
        ("train.attend=all", "row or structure"),
        ("model.name=lisformr", "lisformr"),
        ("model.widht=3", "no widht"),
        ("evaluate.protocol=guess", "perplexity or loss-by-kind"),
    ],
)
def test_what_is_wrong_in_a_recipe_is_said_before_any_work(
    root: Path, tmp_path: Path, change: str, message: str
) -> None:
    recipe = str(root / "pipelines" / "quickstart.toml")

    for extra in ((), ("--dry-run",)):
        done = lisdata("run", recipe, "--to", str(tmp_path / "out"), "--set", change, *extra)
        assert done.exit_code == 1, done.output
        assert message in done.output
    assert not (tmp_path / "out").exists()


def test_fresh_starts_over_and_empties_nothing_else(root: Path, tmp_path: Path) -> None:
    recipe, to = tmp_path / "r.toml", tmp_path / "out"
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    recipe.write_text('[source]\nsource = "text"\npath = "a.txt"\n', encoding="utf-8")
    assert lisdata("run", str(recipe), "--to", str(to)).exit_code == 0

    changed = ("run", str(recipe), "--to", str(to), "--set", "source.options.unit=document")
    refused = lisdata(*changed)
    assert refused.exit_code == 1
    assert "options.unit = 'line', this one 'document'" in refused.output
    assert lisdata(*changed, "--fresh").exit_code == 0

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "tokens").write_text("mine", encoding="utf-8")
    assert lisdata("run", str(recipe), "--to", str(tmp_path / "mine"), "--fresh").exit_code == 1
    assert (tmp_path / "mine" / "tokens").read_text(encoding="utf-8") == "mine"
