"""GLUE from files to report: every kind of task on tiny models, exact resume, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from toy_language_models import CHARACTERS, SIZE

from lisdata.checkpoints import Checkpoint, write_checkpoint
from lisdata.errors import LisDataError, PlanError, SchemaError
from lisdata.finetuning.finetune_settings import PAPER_SETTINGS, FinetuneSettings, paper_settings
from lisdata.finetuning.glue import GlueRequest, run_glue
from lisdata.finetuning.glue_tasks import MACRO_TASKS, TASKS
from lisdata.models import build_model, describe_model

WORDS = ["cats", "dogs", "mice", "we", "they"]
QUICK = {"num_epochs": 2, "batch_size": 4, "learning_rate": 0.01}
MODELS: dict[str, dict[str, Any]] = {
    "sipe-roberta": {"mask_id": SIZE, "vocabulary_size": SIZE + 1, "injection": "input", "predicts_tags": True},
    "sipe-transformer-xl": {"vocabulary_size": SIZE, "injection": "position", "projection_std": 0.5},
}


def write_model(folder: Path, name: str = "sipe-roberta", *, tokenizer: str | None = None, **settings: Any) -> Path:
    sizes = {"width": 8, "num_layers": 1, "num_attention_heads": 2}
    model = build_model(name, seed=0, **(sizes | MODELS[name] | settings))
    state = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    facts = {"model": describe_model(model)} | ({} if tokenizer is None else {"tokenizer": tokenizer})
    write_checkpoint(Checkpoint(step=1, facts=facts, state={}, tensors={"model": state}), folder)
    return folder


def write_tasks(data: Path) -> None:
    pairs = [(first, second) for first in WORDS for second in WORDS if first != second]
    files = {
        "CoLA": [f"s\t{int('a' in one)}\t\t{one} see {two}." for one, two in pairs],
        "STS-B": ["sentence1\tsentence2\tscore", *(f"{a} sleep\t{b} sleep\t{len(a) - len(b)}.5" for a, b in pairs)],
    }
    mnli = [f"{one} sleep\t{two} sleep\t{['neutral', 'entailment'][one < two]}" for one, two in pairs]
    for folder, lines in files.items():
        for split in ("train", "dev"):
            write_lines(data / folder / f"{split}.tsv", lines)
    for split in ("train", "dev_matched", "dev_mismatched"):
        write_lines(data / "MNLI" / f"{split}.tsv", ["sentence1\tsentence2\tgold_label", *mnli])


def write_lines(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("glue")
    write_tasks(folder / "data")
    (folder / "characters.json").write_bytes(CHARACTERS.to_json())
    for name in MODELS:
        write_model(folder / name, name)
    return folder


def request(here: Path, to: Path, *, model: str = "sipe-roberta", **changes: Any) -> GlueRequest:
    settings: dict[str, Any] = {
        "tasks": ("cola",),
        "num_seeds": 2,
        "parser": "python:rule_parser:parse",
        "changes": QUICK,
        "num_threads": 1,
    }
    where = {"model": here / model, "tokenizer": here / "characters.json", "data": here / "data", "directory": to}
    return GlueRequest(**(where | settings | changes))


def runs_in(folder: Path) -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text()) for path in sorted((folder / "runs").glob("*.json"))}


def figures(run: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in run.items() if name != "seconds"}


@pytest.mark.parametrize("model", MODELS)
def test_every_kind_of_task_is_learned_and_reported(model: str, here: Path, tmp_path: Path) -> None:
    table = run_glue(request(here, tmp_path, model=model, tasks=("cola", "stsb", "mnli")))

    assert table == (tmp_path / "glue.txt").read_text(encoding="utf-8")
    assert "mean over tasks (3 of 8)" in table
    report = json.loads((tmp_path / "glue.json").read_text())
    by_task = {name: found["seeds"] for name, found in report["scores"].items()}
    assert report["mean"]["seeds"] == pytest.approx([sum(scores) / 3 for scores in zip(*by_task.values(), strict=True)])
    assert report["mean"]["tasks"] == ["cola", "stsb", "mnli"]
    assert set(report["metrics"]["stsb"]) == {"pearson", "spearman"}
    assert set(report["metrics"]["mnli"]) == {"dev_mismatched"}
    runs = runs_in(tmp_path)
    assert list(runs) == [f"{task}-seed-{seed}" for task in ("cola", "mnli", "stsb") for seed in (0, 1)]
    for run in runs.values():
        assert len(run["epochs"]) == 2
        assert run["scores"] == run["epochs"][-1]
        assert run["facts"]["pooling"] == ("first" if model == "sipe-roberta" else "last")
    assert not list((tmp_path / "models").glob("*"))
    assert (tmp_path / "glue.png").read_bytes().startswith(b"\x89PNG")


def test_a_model_learns_what_its_examples_say(here: Path, tmp_path: Path) -> None:
    learned = {"num_epochs": 30, "batch_size": 4, "learning_rate": 0.03, "dropout": 0.0}

    run_glue(request(here, tmp_path, num_seeds=1, changes=learned))

    assert runs_in(tmp_path)["cola-seed-0"]["scores"]["dev"]["matthews"] == pytest.approx(1.0)


def test_a_killed_run_ends_with_the_same_figures_and_what_is_done_stays(here: Path, tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    def kill(_done: float, _total: float, remark: str) -> None:
        if remark.startswith("cola-seed-1: step 7 "):
            raise KilledError

    run_glue(request(here, tmp_path / "whole"))
    with pytest.raises(KilledError):
        run_glue(request(here, tmp_path / "killed"), on_progress=kill)
    done = (tmp_path / "killed" / "runs" / "cola-seed-0.json").stat().st_mtime_ns
    run_glue(request(here, tmp_path / "killed"))

    whole, killed = runs_in(tmp_path / "whole"), runs_in(tmp_path / "killed")
    assert {name: figures(run) for name, run in killed.items()} == {name: figures(run) for name, run in whole.items()}
    assert (tmp_path / "killed" / "runs" / "cola-seed-0.json").stat().st_mtime_ns == done


def test_tags_reach_the_model_and_without_a_parser_none_do(here: Path, tmp_path: Path) -> None:
    scores = {}
    for name, changes in {"full": {}, "none": {"regime": "none"}, "no parser": {"parser": None}}.items():
        run_glue(request(here, tmp_path / name, num_seeds=1, tasks=("stsb",), **changes))
        scores[name] = runs_in(tmp_path / name)["stsb-seed-0"]["epochs"]

    assert scores["full"] != scores["none"] == scores["no parser"]


def test_a_folder_with_other_runs_is_refused(here: Path, tmp_path: Path) -> None:
    run_glue(request(here, tmp_path, num_seeds=1))

    for changes in ({"changes": QUICK | {"learning_rate": 0.02}}, {"regime": "none"}, {"max_train": 9}):
        with pytest.raises(PlanError, match=r"cola-seed-0.json: the run here has .*; choose another folder"):
            run_glue(request(here, tmp_path, num_seeds=1, **changes))
    with pytest.raises(PlanError, match="the run here has model "):
        run_glue(replace(request(here, tmp_path, num_seeds=1), model=write_model(tmp_path / "other", width=16)))
    (tmp_path / "runs" / "cola-seed-0.json").write_text("{}")
    with pytest.raises(SchemaError, match="expected the format 'lisdata GLUE run 1'"):
        run_glue(request(here, tmp_path, num_seeds=1))
    (tmp_path / "runs" / "cola-seed-0.json").write_text("{")
    with pytest.raises(SchemaError, match="expected JSON"):
        run_glue(request(here, tmp_path, num_seeds=1))


def test_fewer_examples_are_spread_over_all_and_weights_can_be_kept(here: Path, tmp_path: Path) -> None:
    run_glue(request(here, tmp_path, num_seeds=1, max_train=5, keep_models=True))

    run = runs_in(tmp_path)["cola-seed-0"]
    assert (run["data"]["train"]["examples"], run["data"]["dev"]["examples"]) == (5, 20)
    assert run["steps"] == 4
    assert list((tmp_path / "models" / "cola-seed-0" / "checkpoints").iterdir())


def test_rows_that_lost_tokens_are_told(here: Path, tmp_path: Path) -> None:
    whole = run_glue(request(here, tmp_path / "whole", num_seeds=1, max_train=5))
    cut = run_glue(request(here, tmp_path / "cut", num_seeds=1, max_train=5, changes=QUICK | {"max_length": 13}))

    data = runs_in(tmp_path / "cut")["cola-seed-0"]["data"]
    counts = [f"{data[split]['rows_cut']} of {size} rows of {split}" for split, size in (("train", 5), ("dev", 20))]
    assert cut.splitlines()[-1] == f"cola: cut to 13 tokens: {', '.join(counts)}"
    assert 0 < data["dev"]["rows_cut"] < 20
    assert "cut to" not in whole


def test_a_tokenizer_that_the_model_was_not_trained_with_is_refused(here: Path, tmp_path: Path) -> None:
    model = write_model(tmp_path / "model", tokenizer="0" * 64)

    with pytest.raises(
        LisDataError, match=f"expected the tokenizer that the model was trained with, of sha256 {'0' * 64}"
    ):
        run_glue(replace(request(here, tmp_path / "out"), model=model))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": ()}, "expected tasks, each once, got none"),
        ({"tasks": ("boolq",)}, "there is no task 'boolq'"),
        ({"tasks": ("rte", "rte")}, "expected tasks, each once, got rte, rte"),
        ({"num_seeds": 0}, "self.num_seeds=0"),
        ({"max_train": 0}, "self.max_train=0"),
        ({"regime": "prefix"}, "regime='prefix' is none of"),
    ],
)
def test_a_wrong_request_is_refused(changes: dict[str, Any], message: str, here: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        request(here, tmp_path, **changes)


def test_wrong_settings_and_tokenizers_are_refused(here: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="fine-tuning has no epochs; it has: batch_size"):
        run_glue(request(here, tmp_path, changes={"epochs": 3}))
    small = write_model(tmp_path / "small", vocabulary_size=5, mask_id=4)
    with pytest.raises(LisDataError, match="expected the model's own tokenizer, of at most 5 tokens"):
        run_glue(replace(request(here, tmp_path / "out"), model=small))


def test_settings_are_those_of_table_11_and_epsilon_is_its_own() -> None:
    assert len(PAPER_SETTINGS) == 4 * len(TASKS)
    for task in MACRO_TASKS:
        for model in ("sipe-roberta", "sipe-deberta", "sipe-transformer-xl"):
            found = paper_settings(model, task)
            assert (found.learning_rate, found.weight_decay, found.epsilon) == (1e-5, 0.1, 1e-6)
    modern = {task: paper_settings("sipe-modernbert", task) for task in MACRO_TASKS}
    assert [modern[task].learning_rate for task in MACRO_TASKS] == [8e-5, 8e-5, 5e-5, 8e-5, 5e-5, 5e-5, 8e-5, 5e-5]
    assert [modern[task].weight_decay for task in MACRO_TASKS] == [1e-6, 1e-5, 5e-6, 5e-6, 5e-6, 5e-6, 5e-6, 1e-5]
    config = modern["cola"].train_config(100, seed=3, checkpoint_every=None, num_threads=None)
    assert (config.num_steps, config.num_warmup_steps, config.schedule, config.evaluate_every) == (
        1000,
        60,
        "linear",
        100,
    )
    with pytest.raises(ValueError, match=r"expected one of the models sipe-roberta, .*, got 'rope'"):
        paper_settings("rope", "cola")


@pytest.mark.parametrize("setting", [{"num_epochs": 0}, {"dropout": 1.0}, {"warmup_share": -0.1}, {"max_length": 0}])
def test_a_setting_out_of_range_is_refused_by_name(setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(setting))):
        FinetuneSettings(learning_rate=1e-4, weight_decay=0.1, **setting)
