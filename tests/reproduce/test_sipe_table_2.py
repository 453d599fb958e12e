"""SiPE Table 2 done again on a tiny corpus: every variant trains and is measured, and resumes to the same figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_sipe_data import RULE, check_models_know_their_tokenizer, write_sipe_data

from lisdata.errors import LisDataError
from lisdata.evaluation.causal_scorer import SCORING_REGIMES
from lisdata.evaluation.prefix_rows import PREFIX_FORMS
from lisdata.models import build_model
from lisdata.reproduce.runner import choose_scale, read_runs, reproduce
from lisdata.reproduce.sipe_evaluation import read_items, spell_items
from lisdata.reproduce.sipe_report import describe_parts, items_path, word_perplexity
from lisdata.reproduce.sipe_settings import VARIANTS
from lisdata.reproduce.sipe_table_2 import EXPERIMENT
from lisdata.runs import Progress
from lisdata.training import TAG_REGIMES

TAGS_PREDICTED = set(TAG_REGIMES) - {"none", "injection-only"}
TINY = choose_scale(
    EXPERIMENT,
    "reduced",
    ["width=8", "num_layers=1", "num_attention_heads=2", "length=24", "batch_size=2", "num_warmup_steps=1"],
    num_steps=4,
    evaluate_every=2,
    checkpoint_every=1,
    vocabulary_size=280,
    num_valid=3,
    num_test=4,
    blimp_pairs=2,
    parser=RULE,
)
TRAINED = ("none", "losses-only", "position", "position-shuffled", "position-prefix")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with books, two paradigms and a suite."""
    return write_sipe_data(tmp_path_factory.mktemp("data"))


def do(data: Path, to: Path, **changes: Any) -> str:
    settings: dict[str, Any] = {"scale": TINY, "num_seeds": 1, "variants": ("none", "position")} | changes
    return reproduce("sipe-table-2", data=data, directory=to, **settings)


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole")
    do(data, directory, variants=TRAINED)
    do(data, directory, num_seeds=2)
    return directory


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_a_model_with_tags_and_readings_that_there_are(name: str) -> None:
    variant = VARIANTS[name]
    scale = choose_scale(EXPERIMENT, "reduced", width=8, num_layers=1, num_attention_heads=2)

    model = build_model("sipe-transformer-xl", vocabulary_size=5, **variant.model_settings(scale))

    assert variant.regime in TAG_REGIMES
    assert set(variant.readings) <= {*SCORING_REGIMES, *PREFIX_FORMS}
    assert (model.terminal_output is not None) is variant.predicts_tags is (variant.regime in TAGS_PREDICTED)
    assert variant.withhold(scale) == (0.1 if name in ("position", "input") else 0.0)


def test_variants_are_measured_under_their_readings(whole: Path) -> None:
    runs = read_runs(EXPERIMENT, whole)

    assert [run["variant"] for run in runs if run["seed"] == 0] == list(TRAINED)
    for run in runs:
        variant = VARIANTS[run["variant"]]
        assert tuple(run["readings"]) == variant.readings
        assert (run["joint"] is None) is not variant.predicts_tags
        for found in run["readings"].values():
            assert found["num_words"] == runs[0]["readings"]["none"]["num_words"]
            assert 1 < word_perplexity(found) < 1e9


def test_the_best_of_the_evaluated_checkpoints_is_measured(whole: Path) -> None:
    for run in read_runs(EXPERIMENT, whole):
        losses = {found["step"]: found["nll"] for found in run["evaluations"]}
        assert set(losses) == {2, 4}
        assert losses[run["best_step"]] == min(losses.values())


def test_the_joint_bound_is_the_loss_of_tokens_and_more(whole: Path) -> None:
    for run in read_runs(EXPERIMENT, whole):
        if run["joint"] is not None:
            first = next(iter(run["readings"].values()))
            assert run["joint"]["token"] == pytest.approx(first["nll"], rel=1e-4)
            assert run["joint"]["terminal"] + run["joint"]["nonterminal"] > 0


def test_items_are_what_the_figures_are_made_of(whole: Path) -> None:
    for run in read_runs(EXPERIMENT, whole):
        items = json.loads(items_path(whole, f"{run['variant']}-seed-{run['seed']}").read_text(encoding="utf-8"))
        for reading, found in run["readings"].items():
            assert sum(items[reading]["nll"]) == pytest.approx(found["nll"], abs=1e-3)
            results = read_items(items[reading]["blimp"], "model")
            assert spell_items(results) == items[reading]["blimp"]
            scores = results.group_scores()
            assert sum(scores.values()) / len(scores) == pytest.approx(found["blimp"])


def test_variants_see_the_same_sentences_and_begin_alike(whole: Path) -> None:
    runs = [run for run in read_runs(EXPERIMENT, whole) if run["seed"] == 0]
    orders = {json.dumps([run["facts"]["batches"][name] for name in ("batch_size", "pack_to", "seed")]) for run in runs}

    assert len(orders) == 1
    assert len({run["facts"]["batches"]["dataset"] for run in runs}) == 2  # whole parses, frozen tags


def test_a_killed_run_ends_with_the_same_figures(data: Path, whole: Path, tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    def kill(_done: float, _total: int, remark: str) -> None:
        if remark.startswith("position-seed-0: step 3 "):
            raise KilledError

    with pytest.raises(KilledError):
        do(data, tmp_path, on_progress=kill)
    do(data, tmp_path)

    expected = {run["variant"]: run for run in read_runs(EXPERIMENT, whole) if run["seed"] == 0}
    for run in read_runs(EXPERIMENT, tmp_path):
        for name in ("readings", "joint", "best_step", "evaluations", "data"):
            assert run[name] == expected[run["variant"]][name]


def test_the_table_has_the_paper_s_rows_the_bound_and_the_differences(whole: Path) -> None:
    text = (whole / "table.txt").read_text(encoding="utf-8")
    rows = {(row["variant"], row["reading"]): row for row in json.loads((whole / "table.json").read_text())["rows"]}

    assert text.count("  paper ") == 2
    assert "16.95         74.01         80.60" in text.replace("±0.00", "")
    assert rows["position", "full"]["seeds"] == [0, 1]
    assert not rows["position", "full"]["is_probability_of_text"]
    assert rows["position", "prefix"]["is_probability_of_text"]
    assert set(rows["position", "prefix"]["beyond_none"]) == {"nats a word", "blimp", "syntaxgym"}
    assert rows["none", "none"]["beyond_none"] == {}
    assert (whole / "table.png").read_bytes().startswith(b"\x89PNG")


def test_the_table_says_where_not_all_of_a_benchmark_was_measured(whole: Path) -> None:
    text = (whole / "table.txt").read_text(encoding="utf-8")

    assert "Measured on 2 of the 67 paradigms of BLiMP: compares with no score on all of them." in text
    assert "Measured on 1 of the 34 suites of SyntaxGym: compares with no score on all of them." in text
    assert describe_parts({"blimp": [str(number) for number in range(67)]}) == []


def test_the_making_of_the_corpus_is_told(data: Path, tmp_path: Path) -> None:
    told: dict[str, list[Progress]] = {}

    EXPERIMENT.prepare(data, tmp_path, TINY, lambda label: told.setdefault(label, []).append)

    splits = ("train", "valid", "test")
    steps = [f"{step} {split}" for step in ("convert", "encode") for split in splits]
    assert list(told) == [*steps, "tag what is measured on", "freeze tags of train"]
    assert all(shown[0].num_done == 0 and shown[-1].num_done == shown[-1].num_units for shown in told.values())


def test_a_book_that_is_not_there_is_told(data: Path, tmp_path: Path) -> None:
    scale = choose_scale(EXPERIMENT, "reduced", ["test_files=['ulysses']"])

    with pytest.raises(LisDataError, match=r"books: expected books .* found no ulysses"):
        do(data, tmp_path, scale=scale)
    with pytest.raises(ValueError, match="expected data in a folder"):
        do(data / "books" / "emma.txt", tmp_path)


def test_the_equal_size_baseline_is_as_large_as_the_model_with_projections() -> None:
    scale = choose_scale(EXPERIMENT, "paper", num_layers=1, width=256)
    sizes = {}
    for name in ("none", "none-wide", "position"):
        model = build_model("sipe-transformer-xl", vocabulary_size=9, **VARIANTS[name].model_settings(scale))
        sizes[name] = sum(parameter.numel() for parameter in model.parameters())

    added, needed = sizes["none-wide"] - sizes["none"], sizes["position"] - sizes["none"]
    assert added == pytest.approx(needed, rel=0.06)  # the tables and the tags' outputs have no counterpart


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"num_test": 0}, "num_test=0"), ({"valid_files": ("a",), "test_files": ("a",)}, "expected other")],
)
def test_a_wrong_setting_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        choose_scale(EXPERIMENT, "reduced", **changes)


def test_the_models_know_the_tokenizer_that_they_were_trained_with(whole: Path) -> None:
    check_models_know_their_tokenizer(whole)
