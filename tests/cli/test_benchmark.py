"""`lisdata benchmark`: tables on stdout, reports in the folder, wrong input refused; its help loads nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from toy_language_models import CHARACTERS, SIZE

from lisdata.checkpoints import Checkpoint, write_checkpoint
from lisdata.cli.evaluating import benchmark
from lisdata.cli.options import PREFIX_TAGS, WHOLE_SENTENCE_TAGS
from lisdata.evaluation.causal_scorer import SCORING_REGIMES
from lisdata.evaluation.prefix_rows import PREFIX_FORMS
from lisdata.models import build_model, describe_model


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(benchmark, [str(argument) for argument in arguments])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    model = build_model("rope", seed=0, vocabulary_size=SIZE, width=8, num_layers=1, num_attention_heads=2)
    facts = {"model": describe_model(model)}
    checkpoint = Checkpoint(step=1, facts=facts, state={}, tensors={"model": dict(model.state_dict())})
    write_checkpoint(checkpoint, tmp_path / "out")
    (tmp_path / "characters.json").write_bytes(CHARACTERS.to_json())
    (tmp_path / "data").mkdir()
    regions = [{"region_number": 1, "content": "cats"}, {"region_number": 2, "content": "sleep"}]
    conditions = [{"condition_name": name, "regions": regions} for name in ("a", "b")]
    suite = {
        "meta": {"name": "cleft", "metric": "sum"},
        "predictions": [{"type": "formula", "formula": "(2;%a%) = (2;%b%)"}],
        "items": [{"item_number": 1, "conditions": conditions}],
    }
    (tmp_path / "data" / "cleft.json").write_text(json.dumps(suite), encoding="utf-8")
    pair = {"sentence_good": "cats sleep", "sentence_bad": "cats sleep", "field": "syntax", "UID": "toy"}
    pair |= {"linguistics_term": "binding", "pairID": "0"}
    (tmp_path / "data" / "toy.jsonl").write_text(json.dumps(pair) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


SCORED = ("--model", "out", "--tokenizer", "characters.json", "--data", "data", "--to", "report")


def test_the_table_goes_to_stdout_and_the_rest_to_stderr(here: Path) -> None:
    result = invoke("syntaxgym", *SCORED, "--parser", "python:rule_parser:parse", "--start", "\n")

    assert result.exit_code == 0, result.output
    assert result.stdout == (here / "report" / "syntaxgym.txt").read_text(encoding="utf-8")
    assert "mean over suites (1)          100.00" in result.stdout
    assert "1/1 suite (cleft)" in result.stderr
    assert "report, plot and items: report" in result.stderr


def test_options_reach_the_scorer(here: Path) -> None:
    options = ("--ties", "half", "--pairs", "1", "--end", ".", "--tags", "none", "--batch-tokens", "8", "--only", "toy")

    result = invoke("blimp", *SCORED, *options)

    assert result.exit_code == 0, result.output
    assert "mean over paradigms (1)  50.00" in result.stdout
    report = json.loads((here / "report" / "blimp.json").read_text(encoding="utf-8"))
    scoring = report["facts"]["models"][0]["scoring"]
    assert (scoring["end"], scoring["regime"], scoring["batch_tokens"], scoring["start"]) == (".", "none", 8, None)
    assert "only: toy" in result.stdout


def test_an_encoder_s_options_reach_its_scorer(here: Path) -> None:
    sizes = {"vocabulary_size": SIZE + 1, "mask_id": SIZE, "width": 8, "num_layers": 1, "num_attention_heads": 2}
    model = build_model("sipe-roberta", seed=0, **sizes)
    facts = {"model": describe_model(model)}
    write_checkpoint(Checkpoint(step=2, facts=facts, state={}, tensors={"model": model.state_dict()}), here / "out")

    result = invoke("blimp", *SCORED, "--within-word", "--hide-from-parser", "--parser", "python:rule_parser:parse")

    assert result.exit_code == 0, result.output
    report = json.loads((here / "report" / "blimp.json").read_text(encoding="utf-8"))
    scoring = report["facts"]["models"][0]["scoring"]
    assert (scoring["within_word_l2r"], scoring["tags"]) == (True, "of each masked sentence")


def test_models_are_compared_from_their_items(here: Path) -> None:
    invoke("blimp", *SCORED)
    items = here / "report" / "blimp-items.csv"

    table, as_json = invoke("compare", items, here / "report"), invoke("compare", items, items, "--json", "--each")

    assert table.stdout.splitlines()[1].split()[-4:] == ["+0.00", "[+0.00,", "+0.00]", "1.0000"]
    assert set(json.loads(as_json.stdout)) == {"mean over groups (1)", "toy"}


def test_wrong_data_ends_with_1_and_wrong_usage_with_2(here: Path) -> None:
    (here / "data" / "broken.json").write_text("{}", encoding="utf-8")

    wrong_data, wrong_usage = invoke("syntaxgym", *SCORED), invoke("blimp", *SCORED, "--tags", "half")
    without_parser = invoke("blimp", *SCORED, "--tags", "prefix")

    assert wrong_data.exit_code == 1
    assert "broken.json: meta: expected" in wrong_data.stderr
    assert wrong_usage.exit_code == 2
    assert "Invalid value for '--tags': 'half' is not one of 'full', 'eos-bit', 'terminal-only'" in wrong_usage.stderr
    assert without_parser.exit_code == 2


@pytest.mark.parametrize("command", [("blimp",), ("syntaxgym",), ("glue", "--task", "cola")])
def test_tags_that_are_asked_for_need_a_parser(here: Path, command: tuple[str, ...]) -> None:
    result = invoke(*command, *SCORED, "--tags", "full")

    assert result.exit_code == 2
    assert "--tags full needs --parser" in result.stderr
    assert not (here / "report").exists()


def test_the_tags_of_the_command_are_those_of_the_library() -> None:
    assert PREFIX_TAGS == PREFIX_FORMS
    synonyms = {"losses-only", "injection-only"}  # of none and full, where nothing is trained
    assert {*WHOLE_SENTENCE_TAGS} == {*SCORING_REGIMES} - synonyms


def test_tags_of_what_was_read_can_be_given(here: Path) -> None:
    result = invoke("blimp", *SCORED, "--parser", "python:rule_parser:parse", "--tags", "frozen", "--start", "\n")

    assert result.exit_code == 0, result.output
    assert "tags: frozen, by python:rule_parser:parse, of what was read: no tag tells" in result.stdout
    report = json.loads((here / "report" / "blimp.json").read_text(encoding="utf-8"))
    assert report["facts"]["models"][0]["scoring"]["regime"] == "frozen"


def test_help_does_not_load_torch() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from lisdata.cli.evaluating import benchmark; "
        "results = [CliRunner().invoke(benchmark, [name, '--help']) for name in ('blimp', 'syntaxgym', 'compare')]; "
        "sys.exit(any(r.exit_code for r in results) or 'torch' in sys.modules or 'numpy' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_glue_fine_tunes_a_model_and_prints_its_table(here: Path) -> None:
    sizes = {"vocabulary_size": SIZE + 1, "mask_id": SIZE, "width": 8, "num_layers": 1, "num_attention_heads": 2}
    model = build_model("sipe-roberta", seed=0, **sizes)
    facts = {"model": describe_model(model)}
    write_checkpoint(Checkpoint(step=2, facts=facts, state={}, tensors={"model": model.state_dict()}), here / "out")
    for split in ("train", "dev"):
        path = here / "data" / "SST-2" / f"{split}.tsv"
        path.parent.mkdir(exist_ok=True)
        path.write_text("sentence\tlabel\ncats sleep\t1\ndogs\t0\n", encoding="utf-8")
    options = ("--task", "sst2", "--seeds", "2", "--set", "num_epochs=1", "--threads", "1")

    result = invoke("glue", *SCORED, *options, "--parser", "python:rule_parser:parse")

    assert result.exit_code == 0, result.output
    assert result.stdout == (here / "report" / "glue.txt").read_text(encoding="utf-8")
    assert "mean over tasks (1 of 8)" in result.stdout
    assert "report, plot and runs: report" in result.stderr
    runs = [json.loads(path.read_text()) for path in sorted((here / "report" / "runs").iterdir())]
    assert [run["settings"]["num_epochs"] for run in runs] == [1, 1]
    assert invoke("glue", *SCORED, "--task", "boolq").exit_code == 2
    assert invoke("glue", *SCORED, "--task", "cola").exit_code == 1  # no CoLA/train.tsv
    assert invoke("glue", *SCORED, "--task", "sst2", "--set", "num_epochs").exit_code == 2
