"""SiPE Table 3 and GLUE done again on tiny data: both stages train, controls are measured, all resumes alike."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from small_sipe_data import RULE, check_models_know_their_tokenizer, write_sipe_data

from lisdata.checkpoints import latest, load_model
from lisdata.errors import LisDataError
from lisdata.finetuning.glue_tasks import MACRO_TASKS
from lisdata.models import build_model
from lisdata.reproduce.runner import choose_scale, read_runs, reproduce
from lisdata.reproduce.sipe_backbones import HIDDEN, VARIANTS
from lisdata.reproduce.sipe_evaluation import read_items
from lisdata.reproduce.sipe_glue import EXPERIMENT as GLUE
from lisdata.reproduce.sipe_glue import VARIANTS as GLUE_VARIANTS
from lisdata.reproduce.sipe_glue_report import PUBLISHED, published_scores
from lisdata.reproduce.sipe_pretraining import CONTINUED, FIRST, STAGES, stage_folder
from lisdata.reproduce.sipe_report import items_path
from lisdata.reproduce.sipe_table_3 import EXPERIMENT

TINY = choose_scale(
    EXPERIMENT,
    "reduced",
    ["width=8", "num_layers=1", "num_attention_heads=2", "length=24", "batch_size=2", "num_warmup_steps=1"],
    num_steps=4,
    num_continued_steps=3,
    evaluate_every=2,
    checkpoint_every=1,
    vocabulary_size=280,
    num_valid=3,
    blimp_pairs=2,
    parser=RULE,
)
TRAINED = ("roberta", "roberta-input", "roberta-input-late", "transformer-xl-position")
TUNED = ("roberta", "roberta-input", "roberta-input-untagged", "transformer-xl-position")
TASKS = {"CoLA": "s\t{label}\t\t{text}.", "SST-2": "{text}\t{label}"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with books, two of them to train on, paradigms and tasks."""
    folder = write_sipe_data(tmp_path_factory.mktemp("data"))
    shutil.copy(folder / "books" / "emma.txt", folder / "books" / "war_and_peace.txt")
    examples = [(text, number % 2) for number, text in enumerate(["the cat sees", "dogs bark", "no one", "us"] * 3)]
    for name, line in TASKS.items():
        (folder / name).mkdir()
        lines = ["sentence\tlabel"] if name == "SST-2" else []
        lines += [line.format(text=text, label=label) for text, label in examples]
        for split in ("train", "dev"):
            (folder / name / f"{split}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def do(data: Path, to: Path, **changes: Any) -> str:
    settings: dict[str, Any] = {"scale": TINY, "num_seeds": 1, "variants": ("roberta-input",)} | changes
    return reproduce("sipe-table-3", data=data, directory=to, **settings)


def tune(data: Path, to: Path, **changes: Any) -> str:
    scale = choose_scale(GLUE, "reduced", ["tasks=['cola', 'sst2']"], num_epochs=2, parser=RULE, checkpoint_every=1)
    settings: dict[str, Any] = {"scale": scale, "num_seeds": 1, "variants": ("roberta-input",)} | changes
    return reproduce("sipe-glue", data=data, directory=to, **settings)


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole") / "sipe_table_3"
    do(data, directory, variants=TRAINED)
    return directory


def without_seconds(run: dict[str, Any]) -> Any:
    if isinstance(run, dict):
        return {name: without_seconds(found) for name, found in run.items() if name != "seconds"}
    return run


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_a_model_that_predicts_the_tags_of_its_regime(name: str) -> None:
    variant, mask = VARIANTS[name], {"mask_id": 4} if VARIANTS[name].is_masked else {}
    scale = choose_scale(EXPERIMENT, "reduced", width=8, num_layers=1, num_attention_heads=2)

    model = build_model(variant.model, vocabulary_size=5, **mask, **variant.model_settings(scale))

    predicts_tags = variant.regime != "none" and not variant.is_late
    assert (model.terminal_output is not None) is predicts_tags
    assert model.config.injection == ("none" if variant.is_late else variant.injection)
    assert (HIDDEN in variant.readings) <= variant.is_masked


def test_each_stage_is_measured_under_the_readings(whole: Path) -> None:
    for run in read_runs(EXPERIMENT, whole):
        variant = VARIANTS[run["variant"]]
        items = json.loads(items_path(whole, f"{run['variant']}-seed-0").read_text())
        assert [run["stages"][stage]["steps"] for stage in STAGES] == [4, 3]
        for stage in STAGES:
            found = run["stages"][stage]["readings"]
            untagged = variant.is_late and stage == FIRST
            assert tuple(found) == (("none",) if untagged else variant.readings)
            for reading, figures in found.items():
                scores = read_items(items[stage][reading], "model").group_scores()
                assert sum(scores.values()) / len(scores) == pytest.approx(figures["blimp"])


def test_the_second_stage_begins_where_the_first_ended(whole: Path) -> None:
    runs = {run["variant"]: run for run in read_runs(EXPERIMENT, whole)}
    late = runs["roberta-input-late"]["stages"]

    assert without_seconds(late[FIRST]) == without_seconds(runs["roberta"]["stages"][FIRST])
    model = load_model(latest(stage_folder(whole, "roberta-input-late-seed-0", CONTINUED) / "checkpoints") or "")
    assert model.config.injection == "input"
    assert float(model.tags.tables.terminal.detach().abs().max()) > 0  # it began at 0


def test_a_killed_run_ends_with_the_same_figures(data: Path, whole: Path, tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    def kill(_done: float, _total: int, remark: str) -> None:
        if remark.startswith("roberta-input-seed-0: step 6 of 7"):
            raise KilledError

    with pytest.raises(KilledError):
        do(data, tmp_path, on_progress=kill)
    do(data, tmp_path)

    expected = {run["variant"]: run for run in read_runs(EXPERIMENT, whole)}
    for run in read_runs(EXPERIMENT, tmp_path):
        assert without_seconds(run) == without_seconds(expected[run["variant"]])


def test_the_table_has_the_paper_s_figures_and_what_is_beyond_the_base(whole: Path) -> None:
    text = (whole / "table.txt").read_text(encoding="utf-8")
    rows = {(row["variant"], row["reading"]): row for row in json.loads((whole / "table.json").read_text())["rows"]}

    assert text.count("  paper ") == 3
    assert "71.68" in text
    assert rows["roberta-input", "full"]["paper"] == {"books": 71.68, "continued": 72.62}
    assert rows["roberta", "none"]["beyond_base"] == {"books": None, "continued": None}
    for reading in ("full", "none", HIDDEN):
        assert rows["roberta-input", reading]["beyond_base"][FIRST] is not None
    assert rows["roberta-input-late", "full"]["blimp"][FIRST] == []
    assert (whole / "table.png").read_bytes().startswith(b"\x89PNG")


def test_books_to_go_on_with_that_are_not_there_are_told(data: Path, tmp_path: Path) -> None:
    scale = choose_scale(EXPERIMENT, "reduced", ["continued_files=['ulysses']"])

    with pytest.raises(LisDataError, match=r"books: expected books to begin and go on with, found no ulysses"):
        do(data, tmp_path, scale=scale)
    with pytest.raises(ValueError, match="continued_files"):
        choose_scale(EXPERIMENT, "reduced", ["continued_files=['middlemarch']"])


# GLUE


def test_pretrained_models_are_tuned_with_their_tags_and_the_controls(data: Path, whole: Path) -> None:
    directory = whole.parent / "sipe_glue"

    tune(data, directory, variants=TUNED)

    runs = {run["variant"]: run for run in read_runs(GLUE, directory)}
    assert [runs[name]["regime"] for name in TUNED] == ["none", "full", "none", "full"]
    assert runs["roberta-input"]["pretrained"] == runs["roberta-input-untagged"]["pretrained"] == "roberta-input-seed-0"
    for run in runs.values():
        assert list(run["tasks"]) == ["cola", "sst2"]
        assert all(len(task["epochs"]) == 2 for task in run["tasks"].values())
    assert not list((directory / "models").iterdir())
    text = (directory / "table.txt").read_text(encoding="utf-8")
    rows = {row["variant"]: row for row in json.loads((directory / "table.json").read_text())["rows"]}
    assert text.count("  paper, base") == 3
    assert text.count("  paper, large") == 2
    assert rows["roberta-input"]["beyond_base"].keys() == {"cola", "sst2", "mean"}
    assert rows["transformer-xl-position"]["beyond_base"]["mean"] == []  # its base was not run
    assert (directory / "table.png").read_bytes().startswith(b"\x89PNG")


def test_a_killed_tuning_ends_with_the_same_figures(data: Path, whole: Path, tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    def kill(done: float, _total: int, remark: str) -> None:
        if remark.startswith("roberta-input-seed-0: step 750 "):
            raise KilledError

    scale = choose_scale(
        GLUE, "reduced", ["tasks=['cola', 'sst2']", f"pretrained='{whole}'"], num_epochs=2, parser=RULE
    )
    with pytest.raises(KilledError):
        tune(data, tmp_path / "killed", scale=scale, on_progress=kill)
    for name in ("killed", "whole"):
        tune(data, tmp_path / name, scale=scale)

    (killed,), (expected,) = (read_runs(GLUE, tmp_path / name) for name in ("killed", "whole"))
    assert without_seconds(killed) == without_seconds(expected)


def test_models_that_were_not_trained_are_told(data: Path, whole: Path, tmp_path: Path) -> None:
    with pytest.raises(LisDataError, match=r"sipe_table_3: expected the models of sipe-table-3, found none"):
        tune(data, tmp_path / "sipe_glue")
    with pytest.raises(LisDataError, match=r"deberta-seed-0/books: expected the model that sipe-table-3 trains"):
        tune(data, whole.parent / "other_glue", variants=("deberta",))


def test_every_glue_variant_has_a_model_of_table_3_and_settings() -> None:
    for name, variant in GLUE_VARIANTS.items():
        assert not VARIANTS[variant.pretrained].is_late
        for scale in GLUE.scales.values():
            for task in scale.tasks:
                assert scale.settings(variant.model, task).max_length == 128, name


def test_the_paper_s_means_are_those_of_its_tasks() -> None:
    means = {
        ("base", "roberta"): 72.30, ("base", "roberta-input"): 72.84, ("base", "deberta"): 69.69,
        ("base", "deberta-input"): 70.10, ("base", "deberta-position"): 70.12, ("base", "modernbert"): 68.63,
        ("base", "modernbert-input"): 69.32, ("base", "modernbert-position"): 68.98,
        ("base", "transformer-xl"): 68.17, ("base", "transformer-xl-position"): 73.78,
        ("large", "roberta"): 73.45, ("large", "roberta-input"): 73.84, ("large", "modernbert"): 68.81,
        ("large", "modernbert-input"): 68.83,
    }  # fmt: skip

    assert {(size, name) for size, found in PUBLISHED.items() for name in found} == set(means)
    for (size, name), mean in means.items():
        assert published_scores(name, MACRO_TASKS, size=size)["mean"] == pytest.approx(mean, abs=0.011), (size, name)


def test_a_task_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no task 'boolq'"):
        choose_scale(GLUE, "reduced", ["tasks=['boolq']"])


def test_the_models_know_the_tokenizer_that_they_were_trained_with(whole: Path) -> None:
    check_models_know_their_tokenizer(whole)
