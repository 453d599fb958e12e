"""Benchmarks from files to report: table, JSON, plot and items agree, and hold what a score has to be read with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from toy_language_models import CHARACTERS, SIZE

from lisdata.checkpoints import Checkpoint, CheckpointError, find_checkpoint, write_checkpoint
from lisdata.errors import LisDataError, PlanError, SchemaError
from lisdata.evaluation.benchmark_report import format_differences
from lisdata.evaluation.benchmarks import BenchmarkRequest, compare_files, run_blimp, run_syntaxgym
from lisdata.evaluation.blimp import evaluate_blimp, read_blimp
from lisdata.evaluation.causal_scorer import CausalScorer, CausalScoring
from lisdata.evaluation.item_results import ItemResults, read_item_results, write_item_results
from lisdata.evaluation.masked_scorer import MaskedScorer, MaskedScoring
from lisdata.evaluation.syntaxgym import evaluate_suites
from lisdata.evaluation.syntaxgym_suites import read_suites
from lisdata.evaluation.tag_cache import TagCache
from lisdata.models import build_model, describe_model

PARSER = "python:rule_parser:parse"
WORDS = ["cats", "dogs", "mice", "we"]


def write_model(folder: Path, seed: int, *, step: int = 1, **facts: str) -> torch.nn.Module:
    sizes = {"vocabulary_size": SIZE, "width": 16, "num_layers": 1, "num_attention_heads": 2, "projection_std": 5.0}
    model = build_model("sipe-transformer-xl", seed=seed, injection="position", **sizes)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    facts_of_run = {"model": describe_model(model), **facts}
    write_checkpoint(Checkpoint(step=step, facts=facts_of_run, state={}, tensors={"model": state}), folder)
    return model.eval()


def write_encoder(folder: Path) -> torch.nn.Module:
    sizes = {"vocabulary_size": SIZE + 1, "mask_id": SIZE, "width": 16, "num_layers": 1, "num_attention_heads": 2}
    model = build_model("sipe-modernbert", seed=0, injection="input+attention", projection_std=5.0, **sizes)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    facts = {"model": describe_model(model)}
    write_checkpoint(Checkpoint(step=1, facts=facts, state={}, tensors={"model": state}), folder)
    return model.eval()


def write_suites(folder: Path) -> None:
    folder.mkdir()
    for name in ("cleft", "number_src", "nn-nv-rpl"):
        items = []
        for number, word in enumerate(WORDS, 1):
            conditions = [
                {
                    "condition_name": condition,
                    "regions": [{"region_number": 1, "content": word}, {"region_number": 2, "content": verb}],
                }
                for condition, verb in (("match", f"{name[0]} sleep."), ("mismatch", f"{name[0]} sleeps."))
            ]
            items.append({"item_number": number, "conditions": conditions})
        predictions = [{"type": "formula", "formula": "(2;%match%) < (2;%mismatch%)"}]
        suite = {"meta": {"name": name, "metric": "sum"}, "predictions": predictions, "items": items}
        (folder / f"{name}.json").write_text(json.dumps(suite), encoding="utf-8")


def write_paradigms(folder: Path) -> None:
    folder.mkdir()
    for name, label in (("one", "s-selection"), ("two", "binding")):
        pairs = [(f"{word} {name} sleep.", f"{word} {name} slept.") for word in WORDS]
        pairs.append(("the same", "the same"))
        lines = [
            {"UID": name, "field": "syntax", "linguistics_term": label, "pairID": str(n)}
            | {"sentence_good": good, "sentence_bad": bad}
            for n, (good, bad) in enumerate(pairs)
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmarks")
    write_suites(folder / "suites")
    write_paradigms(folder / "blimp")
    for seed in range(3):
        write_model(folder / f"seed-{seed}", seed)
    (folder / "characters.json").write_bytes(CHARACTERS.to_json())
    return folder


def request(folder: Path, to: Path, data: str, seeds: Sequence[int] = (0,), **options: Any) -> BenchmarkRequest:
    return BenchmarkRequest(
        checkpoints=[folder / f"seed-{seed}" for seed in seeds],
        tokenizer=folder / "characters.json",
        data=folder / data,
        directory=to,
        **{"scoring": CausalScoring(start="\n")} | options,
    )


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_syntaxgym_is_that_of_the_library_for_each_seed_and_their_vote(folder: Path, tmp_path: Path) -> None:
    calls: list[tuple[float, float, str]] = []

    table = run_syntaxgym(
        request(folder, tmp_path, "suites", range(3), parser=PARSER),
        votes=True,
        on_progress=lambda *call: calls.append(call),
    )

    suites = read_suites(folder / "suites")
    expected = [
        evaluate_suites(
            suites,
            CausalScorer(write_model(tmp_path / "again", seed), CHARACTERS, CausalScoring(start="\n")),
            model=str(folder / f"seed-{seed}"),
            tag=TagCache(PARSER),
        )
        for seed in range(3)
    ]
    *seeds, vote = read_item_results(tmp_path / "syntaxgym-items.csv")
    assert seeds == expected
    report = read_json(tmp_path / "syntaxgym.json")
    scores = report["scores"]["benchmark"]["mean over suites (2)"]
    assert scores["seeds"] == [
        (found.group_scores()["cleft"] + found.group_scores()["number_src"]) / 2 for found in expected
    ]
    assert scores["vote"] == (vote.group_scores()["cleft"] + vote.group_scores()["number_src"]) / 2
    assert scores["mean"] == pytest.approx(sum(scores["seeds"]) / 3)
    assert set(report["scores"]["circuit"]) == {"Agreement", "Long-Distance Dependencies"}
    assert set(report["scores"]["suite"]) == {"cleft", "number_src", "nn-nv-rpl"}
    assert table == (tmp_path / "syntaxgym.txt").read_text(encoding="utf-8")
    assert f"{100 * scores['mean']:.2f}" in table.split("mean over suites (2)")[1].splitlines()[0]
    assert f"tags: full, by {PARSER}, of whole sentences: a tag may tell of words to come\n" in table
    assert f"#3: {folder / 'seed-2'}\nvote: what most of the seeds say of each item\n" in table
    assert (tmp_path / "syntaxgym.png").read_bytes().startswith(b"\x89PNG")
    assert calls[-1] == (9, 9, "number_src")
    assert [done for done, _, _ in calls] == list(range(1, 10))


def test_the_facts_say_how_sentences_were_read(folder: Path, tmp_path: Path) -> None:
    run_blimp(request(folder, tmp_path, "blimp", parser=PARSER))

    facts = read_json(tmp_path / "blimp.json")["facts"]
    (model,) = facts["models"]
    assert model["name"] == "sipe-transformer-xl"
    assert model["checkpoint"] == "step-00000001"
    assert model["scoring"]["start_ids"] == [0]
    assert model["scoring"]["first_token"] == "scored after the start"
    assert model["scoring"]["tags_lost"] == 0
    assert facts["parser"] == PARSER
    assert len(facts["pairs_sha256"]) == 64
    assert facts["num_ties"] == [2]


@pytest.mark.parametrize("is_hidden", [False, True])
def test_an_encoder_is_scored_by_pseudo_likelihood(folder: Path, tmp_path: Path, is_hidden: bool) -> None:
    model, tag = write_encoder(tmp_path / "encoder"), TagCache(PARSER)
    asked = request(folder, tmp_path / "to", "blimp", parser=PARSER, hide_from_parser=is_hidden, within_word_l2r=True)

    table = run_blimp(replace(asked, checkpoints=[tmp_path / "encoder"]))

    scoring = MaskedScoring(start="\n", within_word_l2r=True)
    scorer = MaskedScorer(model, CHARACTERS, scoring, parse_masked=tag if is_hidden else None)
    expected = evaluate_blimp(read_blimp(folder / "blimp"), scorer, model=str(tmp_path / "encoder"), tag=tag)
    assert read_item_results(tmp_path / "to" / "blimp-items.csv") == [expected]
    described = read_json(tmp_path / "to" / "blimp.json")["facts"]["models"][0]["scoring"]
    assert described["kind"] == "pseudo-log-likelihood"
    assert ("of sentences without the masked token" in table) == is_hidden
    assert "first token: masked and scored as all others" in table


def test_an_encoder_is_no_model_for_syntaxgym(folder: Path, tmp_path: Path) -> None:
    write_encoder(tmp_path / "encoder")
    asked = replace(request(folder, tmp_path / "to", "suites"), checkpoints=[tmp_path / "encoder"])

    with pytest.raises(LisDataError, match="SyntaxGym needs surprisals given what stands before: expected a causal"):
        run_syntaxgym(asked)


def test_blimp_counts_ties_as_asked(folder: Path, tmp_path: Path) -> None:
    scores = {}
    for ties in ("wrong", "half"):
        table = run_blimp(request(folder, tmp_path / ties, "blimp"), ties=ties)  # type: ignore[arg-type]
        scores[ties] = read_json(tmp_path / ties / "blimp.json")["scores"]
        assert f"ties: 2, each counts as {ties}" in table
        assert "tags: none" in table

    wrong, half = (found["benchmark"]["mean over paradigms (2)"]["mean"] for found in scores.values())
    assert half == pytest.approx(wrong + 0.1)
    assert set(scores["wrong"]["phenomenon"]) == {"argument_structure", "binding"}
    assert set(scores["wrong"]["field"]) == {"syntax"}
    one = scores["wrong"]["benchmark"]["mean over paradigms (2)"]
    assert (one["deviation"], len(one["seeds"])) == (None, 1)
    assert "vote" not in one


def test_only_the_first_pairs_may_be_scored(folder: Path, tmp_path: Path) -> None:
    run_blimp(request(folder, tmp_path, "blimp"), max_pairs=2)

    (found,) = read_item_results(tmp_path / "blimp-items.csv")
    assert {name: list(items) for name, items in found.verdicts.items()} == {"one": [0, 1], "two": [0, 1]}


def test_only_the_named_paradigms_may_be_scored(folder: Path, tmp_path: Path) -> None:
    table = run_blimp(replace(request(folder, tmp_path, "blimp"), only=("two",)))

    (found,) = read_item_results(tmp_path / "blimp-items.csv")
    assert list(found.verdicts) == ["two"]
    assert "only: two" in table
    assert read_json(tmp_path / "blimp.json")["facts"]["only"] == ["two"]


@pytest.mark.parametrize(("run", "data"), [(run_blimp, "blimp"), (run_syntaxgym, "suites")])
def test_a_group_that_is_not_there_is_named(run: Any, data: str, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"expected one of .*, found no 'three'"):
        run(replace(request(folder, tmp_path, data), only=("three",)))


def test_tags_change_what_a_model_of_tags_says_and_are_kept(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    tables = {
        regime: run_blimp(
            request(
                folder,
                tmp_path / regime,
                "blimp",
                parser=PARSER,
                tag_cache=cache,
                scoring=CausalScoring(start="\n", regime=regime),
            )
        )
        for regime in ("full", "none")
    }

    assert "tags: full" in tables["full"]
    assert "tags: none" in tables["none"]
    assert len(cache.read_bytes().splitlines()) == 1 + 17  # the header, and each sentence once
    assert not (tmp_path / "full" / "tags.jsonl").exists()


def test_tags_are_kept_beside_the_report_unless_said_otherwise(folder: Path, tmp_path: Path) -> None:
    run_blimp(request(folder, tmp_path, "blimp", parser=PARSER))

    assert (tmp_path / "tags.jsonl").exists()


@pytest.mark.parametrize("seeds", [(), (0, 0)])
def test_models_are_given_each_once(folder: Path, tmp_path: Path, seeds: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected checkpoints, each once, got"):
        run_blimp(request(folder, tmp_path, "blimp", seeds))


def test_the_newest_checkpoint_of_a_folder_is_meant(tmp_path: Path) -> None:
    write_model(tmp_path / "run" / "checkpoints", 0, step=1)
    write_model(tmp_path / "run" / "checkpoints", 0, step=20)

    newest = tmp_path / "run" / "checkpoints" / "step-00000020"
    assert find_checkpoint(tmp_path / "run") == newest
    assert find_checkpoint(newest.parent) == newest
    assert find_checkpoint(newest) == newest
    with pytest.raises(CheckpointError, match="expected a checkpoint, or a folder of checkpoints, found none"):
        find_checkpoint(tmp_path)
    write_model(tmp_path / "recipe" / "models" / "sipe" / "checkpoints", 0)
    (tmp_path / "recipe" / "models" / "begun").mkdir()
    with pytest.raises(CheckpointError, match=r"found none; there are models below it: \S+recipe/models/sipe$"):
        find_checkpoint(tmp_path / "recipe")


def test_two_models_are_compared_from_their_files(folder: Path, tmp_path: Path) -> None:
    for name, seeds in (("first", (0, 1)), ("second", (1, 2))):
        run_syntaxgym(request(folder, tmp_path / name, "suites", seeds), votes=True)
    files = [tmp_path / name / "syntaxgym-items.csv" for name in ("first", "second")]

    found = compare_files(*files, each=True, num_resamples=100)

    means = [
        read_json(path.parent / "syntaxgym.json")["scores"]["benchmark"]["mean over suites (2)"]["mean"]
        for path in files
    ]
    assert list(found) == ["mean over groups (2)", "cleft", "number_src"]
    assert found["mean over groups (2)"].difference == pytest.approx(means[0] - means[1])
    table = format_differences(found)
    assert f"{100 * (means[0] - means[1]):+.2f}" in table.splitlines()[1]


def test_a_file_of_votes_alone_has_no_seeds_to_compare(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    write_item_results([ItemResults(model="vote", verdicts={"g": {0: True}})], path)

    with pytest.raises(LisDataError, match=r"items\.csv: expected the items of a model, found votes alone"):
        compare_files(path, path)


def test_a_folder_without_one_file_of_items_and_other_items_are_told(tmp_path: Path) -> None:
    for name, items in (("a", {0: True}), ("b", {0: True, 1: False})):
        (tmp_path / name).mkdir()
        write_item_results([ItemResults(model="out", verdicts={"g": items})], tmp_path / name / "blimp-items.csv")

    with pytest.raises(LisDataError, match=r"on the same items, found no g, item 1 in \S+a/blimp-items\.csv \(out\)$"):
        compare_files(tmp_path / "a", tmp_path / "b")
    with pytest.raises(SchemaError, match=r"expected one file of items \(such as blimp-items\.csv\), found none"):
        compare_files(tmp_path, tmp_path / "b")
    write_item_results([ItemResults(model="out", verdicts={"s": {0: True}})], tmp_path / "a" / "syntaxgym-items.csv")
    with pytest.raises(SchemaError, match=r"found blimp-items\.csv, syntaxgym-items\.csv"):
        compare_files(tmp_path / "a", tmp_path / "b")


def test_a_tokenizer_that_the_model_was_not_trained_with_is_refused(folder: Path, tmp_path: Path) -> None:
    given = hashlib.sha256(CHARACTERS.to_json()).hexdigest()
    write_model(tmp_path / "own", 0, tokenizer=given)
    write_model(tmp_path / "other", 0, tokenizer="0" * 64)
    asked = request(folder, tmp_path / "to", "blimp")

    with pytest.raises(LisDataError, match=f"of sha256 {'0' * 64}, found .*characters.json, of sha256 {given}"):
        run_blimp(replace(asked, checkpoints=[tmp_path / "own", tmp_path / "other"]))
    assert not (tmp_path / "to").exists()
    assert "characters.json (that of the model's training)" in run_blimp(replace(asked, checkpoints=[tmp_path / "own"]))


def test_a_tokenizer_that_cannot_be_checked_is_told(folder: Path, tmp_path: Path) -> None:
    table = run_syntaxgym(request(folder, tmp_path, "suites"))

    assert f"tokenizer: {folder / 'characters.json'} (not checked: the model records none)" in table
    assert not read_json(tmp_path / "syntaxgym.json")["facts"]["tokenizer_checked"]


def test_the_report_of_something_else_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    asked = request(folder, tmp_path, "blimp", parser=PARSER)
    table = run_blimp(asked)

    for changes, fact in (
        ({"checkpoints": [folder / "seed-1"]}, "checkpoints"),
        ({"parser": None}, "parser 'python.*', not None"),
        ({"scoring": CausalScoring(start="\n", regime="shuffled")}, "tags 'full', not 'shuffled'"),
        ({"prefix_form": "frozen"}, "tags 'full', not 'frozen'"),
    ):
        with pytest.raises(PlanError, match=rf"blimp\.json: the report here has ({fact}).*; choose another folder"):
            run_blimp(replace(asked, **changes))
    with pytest.raises(PlanError, match="the report here has pairs_sha256 "):
        run_blimp(asked, max_pairs=2)
    assert run_blimp(asked) == table == (tmp_path / "blimp.txt").read_text(encoding="utf-8")
    for content, complaint in (("{", "expected the report of a benchmark, found"), ("{}", "format: ")):
        (tmp_path / "blimp.json").write_text(content)
        with pytest.raises(SchemaError, match=complaint):
            run_blimp(asked)


def test_the_same_request_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    hashes = []
    for name in ("a", "b"):
        run_blimp(request(folder, tmp_path / name, "blimp", (0, 1), parser=PARSER))
        files = sorted((tmp_path / name).iterdir())
        hashes.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files})

    assert hashes[0] == hashes[1]
    assert set(hashes[0]) == {"blimp-items.csv", "blimp.json", "blimp.png", "blimp.txt", "tags.jsonl"}
