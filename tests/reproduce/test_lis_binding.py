"""LIS Tables 8 to 11 done again on a few names: data by the normal road, records, and resuming."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lisdata.encoding import load_tokenizer
from lisdata.reproduce.binding_report import PUBLISHED, ROWS
from lisdata.reproduce.lis_binding import EXPERIMENT, SCALES, VARIANTS, evaluation_files
from lisdata.reproduce.runner import OnProgress, choose_scale, read_runs, reproduce
from lisdata.shards.verifying import verify_dataset
from lisdata.token_shards import TokenDataset

TINY = choose_scale(
    EXPERIMENT,
    "reduced",
    ["num_names=12", "num_unseen_names=8", "num_training_rows=300", "num_evaluated=6", "width=16", "num_layers=1"],
    num_steps=6,
    batch_size=8,
    checkpoint_every=2,
)


class KilledError(Exception):
    """Stands for a process that ends without a chance to save."""


def do(to: Path, *variants: str, on_progress: OnProgress | None = None) -> str:
    settings: dict[str, Any] = {"data": None, "scale": TINY, "num_seeds": 1, "variants": variants}
    return reproduce("lis-tables-8-11", directory=to, on_progress=on_progress, **settings)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("binding")
    do(directory)
    return directory


def figures(directory: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in run.items() if k != "seconds"} for run in read_runs(EXPERIMENT, directory)]


def test_every_variant_has_a_record_of_every_task(done: Path) -> None:
    runs = read_runs(EXPERIMENT, done)

    assert [run["variant"] for run in runs] == list(VARIANTS)
    for run in runs:
        assert set(run["scores"]) == {f"{names}-chain{arity}-{setting}" for setting, arity, names in ROWS}
        for scores in run["scores"].values():
            assert scores["all"]["examples"] == 6
            assert scores["all"]["characters"] > scores["predicted"]["characters"] > 0
            assert scores["all"]["perplexity"] > 1


def test_the_data_went_the_normal_road(done: Path) -> None:
    for dataset in (done / "incidence" / "single", done / "tokens" / "several-serialized"):
        assert verify_dataset(dataset).ok
    assert len(evaluation_files(done)) == len(ROWS)


def test_both_forms_say_the_same_and_share_their_vocabulary(done: Path) -> None:
    for data in ("single", "several", "evaluation"):
        texts = {}
        for form in ("endpoints", "serialized"):
            dataset = TokenDataset(done / "tokens" / f"{data}-{form}")
            tokenizer = load_tokenizer(dataset.path / dataset.manifest["tokenizer"]["file"])
            first = TokenDataset(done / "tokens" / f"single-{form}").manifest
            assert dataset.manifest["tokenizer"]["sha256"] == first["tokenizer"]["sha256"]
            assert dataset.manifest["roles"] == first["roles"]
            texts[form] = [tokenizer.decode(row["input_ids"]) for row in dataset]
        for endpoints, serialized in zip(texts["endpoints"], texts["serialized"], strict=True):
            facts, _, sentence = endpoints.rpartition("|")
            *written, said = serialized.split("|")
            assert said == sentence
            assert "".join(c for c in "".join(written) if ord(c) < 0xE000) == facts


def test_the_added_control_is_of_the_size_of_the_addressed_model(done: Path) -> None:
    sizes = {run["variant"]: run["num_parameters"] for run in read_runs(EXPERIMENT, done)}

    assert sizes["J"] == sizes["J_add"] == sizes["J-several"]
    assert sizes["B-wide"] > sizes["B"]


def test_a_killed_run_goes_on_to_the_same_figures(done: Path, tmp_path: Path) -> None:
    def kill(done_: float, total: int, remark: str) -> None:
        if "step 5" in remark:
            raise KilledError

    with pytest.raises(KilledError):
        do(tmp_path, "J", on_progress=kill)
    do(tmp_path, "J")

    whole = [run for run in figures(done) if run["variant"] == "J"]
    assert figures(tmp_path) == whole


def test_the_table_has_the_paper_s_figures_beside_ours(done: Path) -> None:
    text = (done / "table.txt").read_text(encoding="utf-8")

    assert "0.359" in text
    assert "0.972" in text
    assert "0.925" in text
    content = json.loads((done / "table.json").read_text(encoding="utf-8"))
    assert len(content["rows"]) == len(VARIANTS) * len(ROWS) * 2
    assert (done / "table.png").stat().st_size > 1000


def test_published_figures_are_those_of_tables_8_to_11() -> None:
    assert PUBLISHED["same-relation", 3, "test"] == {"B": (0.0, 0.0, 101.94), "J": (0.001, 0.038, 18.24)}
    assert PUBLISHED["single", 2, "test"]["B_l"] == (None, 0.925, 1.58)
    assert sum("B_l" in found for found in PUBLISHED.values()) == 6  # Table 11 is cut off after six rows


def test_the_paper_s_scale_is_what_the_paper_says() -> None:
    paper = SCALES["paper"]

    assert (paper.num_names, paper.num_unseen_names, paper.num_steps) == (3000, 100, 100_000)
    assert (paper.width, paper.num_layers, paper.batch_size, paper.learning_rate) == (60, 3, 32, 5e-4)
