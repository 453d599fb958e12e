"""Link prediction on a few facts: data by the normal road, questions in all forms, records, and resuming."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from lisdata.errors import LisDataError
from lisdata.reproduce.fact_questions import FactVocabulary, ask, endpoints, iter_facts, serialized, triples
from lisdata.reproduce.lis_link_prediction import EXPERIMENT, FREQUENCY, VARIANTS
from lisdata.reproduce.runner import OnProgress, choose_scale, read_runs, reproduce
from lisdata.shards.verifying import verify_dataset
from lisdata.token_shards import TokenDataset

TRAIN = ["a,r,b,q,c", "b,r,c", "c,s,a,q,b,q,d", "d,s,a", "a,r,d", "b,s,d,q,a"]
TINY = choose_scale(
    EXPERIMENT,
    "reduced",
    ["width=8", "num_layers=1", "num_attention_heads=2", "batch_size=2", "num_warmup_steps=1", "checkpoint_every=2"],
    num_steps=6,
)


class KilledError(Exception):
    """Stands for a process that ends without a chance to save."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("facts")
    (folder / "train.txt").write_text("\n".join(TRAIN) + "\n")
    (folder / "valid.txt").write_text("a,s,b,q,d\nd,r,a\n")
    (folder / "test.txt").write_text("b,r,a,q,c\nc,t,e\n")
    return folder


def do(folder: Path, to: Path, *variants: str, on_progress: OnProgress | None = None) -> str:
    settings: dict[str, Any] = {"data": folder, "scale": TINY, "num_seeds": 1, "variants": variants}
    return reproduce("lis-link-prediction", directory=to, on_progress=on_progress, **settings)


@pytest.fixture(scope="module")
def done(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("links")
    do(folder, directory)
    return directory


def read(done: Path, split: str) -> tuple[FactVocabulary, dict[str, torch.Tensor]]:
    datasets = {name: TokenDataset(done / "tokens" / name) for name in ("train", "dev", "test")}
    vocabulary = FactVocabulary.of(list(datasets.values()))
    (facts,) = iter_facts(datasets[split], vocabulary)
    return vocabulary, ask(facts, vocabulary)


def figures(directory: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in run.items() if k != "seconds"} for run in read_runs(EXPERIMENT, directory)]


def test_every_participant_of_every_fact_is_ranked_once(done: Path) -> None:
    for run in read_runs(EXPERIMENT, done):
        test = run["ranks"]["test"]
        others = 0 if run["variant"] == "distmult" else 1
        assert (test["main"]["num_ranked"], test["others"]["num_ranked"]) == (4, others)
        assert 0 < test["main"]["mrr"] <= 1
        assert run["data"]["num_contents"] == 5
    assert len(read_runs(EXPERIMENT, done)) == len(VARIANTS) + 1


def test_the_data_went_the_normal_road(done: Path) -> None:
    for split in ("train", "dev", "test"):
        assert verify_dataset(done / "incidence" / split).ok
        assert verify_dataset(done / "tokens" / split).ok


def test_the_asked_participant_comes_last_and_its_content_is_masked(done: Path) -> None:
    vocabulary, asked = read(done, "train")
    form = endpoints(asked, vocabulary)
    roles = TokenDataset(done / "tokens" / "train").roles

    third = [number for number, size in enumerate(asked["length"].tolist()) if size == 3][:3]  # of a,r,b,q,c
    assert [[roles[r] for r in asked["role"][q, :3]] for q in third] == [
        ["r#value", "q#qualifier", "r#subject"],
        ["r#subject", "q#qualifier", "r#value"],
        ["r#subject", "r#value", "q#qualifier"],
    ]
    last = form["length"][:, None] - 1
    assert (form["input_ids"].gather(1, last) == vocabulary.num_contents).all()
    assert ((form["input_ids"] == vocabulary.num_contents).sum(1) == 1).all()
    assert ((form["document"] == 0).sum(1) == form["length"]).all()


def test_serialized_questions_end_with_the_marker_of_the_asked_role(done: Path) -> None:
    vocabulary, asked = read(done, "train")
    form = serialized(asked, vocabulary)

    last = form["input_ids"].gather(1, form["length"][:, None] - 1)
    assert (last - vocabulary.num_contents == asked["role"].gather(1, asked["length"][:, None] - 1)).all()
    assert (form["input_ids"][:, 0] >= vocabulary.num_contents).all()
    assert torch.equal(form["input_ids"][:, 1], asked["content"][:, 0])


def test_triples_ask_for_either_end_by_the_other(done: Path) -> None:
    vocabulary, asked = read(done, "test")
    form = triples(asked, vocabulary)

    assert form["fact"].tolist() == [0, 0, 1, 1]
    assert torch.equal(form["entity"][[0, 2]], form["answer"][[1, 3]])
    assert torch.equal(form["entity"][[1, 3]], form["answer"][[0, 2]])
    assert form["relation"][0] == form["relation"][1] != form["relation"][2] == form["relation"][3]


def test_frequency_ranks_by_how_often_a_content_takes_a_role(done: Path) -> None:
    run = next(run for run in read_runs(EXPERIMENT, done) if run["variant"] == FREQUENCY)

    # subject of r: a twice, b once. For "d,r,a" d is last; c and e share its score, but c, r, a is no other answer.
    assert run["ranks"]["dev"]["main"]["num_ranked"] == 4
    assert run["num_parameters"] == 0


def test_the_table_holds_all_figures_and_can_be_read_again(done: Path) -> None:
    text = (done / "table.txt").read_text()
    table = json.loads((done / "table.json").read_text())

    assert "6 train, 2 dev, 2 test; 5 contents" in text
    assert len(table["rows"]) == (len(VARIANTS) + 1) * 4
    assert (done / "table.png").stat().st_size > 0
    distmult = [line for line in text.splitlines() if line.startswith("distmult")]
    assert len(distmult) == 2  # it answers no question for a qualifier


def test_a_run_that_was_killed_ends_with_the_same_figures(folder: Path, done: Path, tmp_path: Path) -> None:
    def stop(amount: float, total: int, remark: str) -> None:
        if "step 5" in remark:
            raise KilledError

    with pytest.raises(KilledError):
        do(folder, tmp_path, "lisformer", on_progress=stop)
    do(folder, tmp_path, "lisformer")

    expected = next(run for run in figures(done) if run["variant"] == "lisformer")
    assert figures(tmp_path) == [expected]


def test_a_folder_without_a_split_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a,r,b,q,c\n")

    with pytest.raises(LisDataError, match=r"found no valid\.txt"):
        do(tmp_path, tmp_path / "out")


def test_smoothing_of_labels_beyond_one_is_refused() -> None:
    with pytest.raises(ValueError, match="label_smoothing"):
        choose_scale(EXPERIMENT, "reduced", ["label_smoothing=1.0"])
