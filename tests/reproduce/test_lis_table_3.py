"""LIS Table 3 done again on a tiny text: its records, and that whatever stops it changes none of their figures."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from lisdata.errors import PlanError, SchemaError
from lisdata.reproduce import EXPERIMENTS, load_experiment
from lisdata.reproduce.lis_table_3 import EXPERIMENT, SCALES
from lisdata.reproduce.runner import OnProgress, choose_scale, read_runs, reproduce

TINY = choose_scale(
    EXPERIMENT,
    "reduced",
    ["width=16", "num_layers=2", "window=16", "batch_size=4", "context_lengths=[16, 32, 64]", "checkpoint_every=2"],
    num_steps=5,
)
PAIR = ("rope", "random-lines")


class KilledError(Exception):
    """Stands for a process that ends without a chance to save."""


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = random.Random(5)
    path = tmp_path_factory.mktemp("text") / "input.txt"
    path.write_text("".join(draw.choice("abcde \n") for _ in range(3000)), encoding="utf-8")
    return path


def do(text: Path, to: Path, on_progress: OnProgress | None = None, **changes: Any) -> str:
    settings = {"scale": TINY, "num_seeds": 2, "variants": PAIR} | changes
    return reproduce("lis-table-3", data=text, directory=to, on_progress=on_progress, **settings)


def figures(directory: Path) -> list[dict[str, Any]]:
    """Return the records of all runs without the seconds that they took."""
    return [{k: v for k, v in run.items() if k != "seconds"} for run in read_runs(EXPERIMENT, directory)]


@pytest.fixture(scope="module")
def whole(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole")
    do(text, directory)
    return directory


def test_a_record_says_what_was_run_on_what_where_and_for_how_long(whole: Path, text: Path) -> None:
    runs = read_runs(EXPERIMENT, whole)

    assert [(run["variant"], run["seed"]) for run in runs] == [(name, seed) for name in PAIR for seed in (0, 1)]
    for run in runs:
        assert run["data"]["sha256"] == hashlib.sha256(text.read_bytes()).hexdigest()
        assert run["steps"] == run["scale"]["num_steps"] == 5
        assert run["facts"]["training"]["seed"] == run["seed"]
        assert run["seconds"]["training"] > 0
        assert run["machine"].keys() == {"system", "machine", "processor", "num_cpus", "device"}
        assert {"torch", "lisdata"} <= run["versions"].keys()
        assert os.uname().nodename not in json.dumps(run["machine"])


def test_every_length_of_every_reading_scores_the_same_characters(whole: Path) -> None:
    counts = {
        found["num_tokens"]
        for run in read_runs(EXPERIMENT, whole)
        for reading in run["readings"].values()
        for found in reading.values()
    }

    assert counts == {256}  # the last tenth of 3,000 characters holds four contexts of 64


def test_where_the_context_is_the_window_the_readings_of_rope_are_one(whole: Path) -> None:
    for run in read_runs(EXPERIMENT, whole)[:2]:
        readings = run["readings"]
        assert readings.keys() == {"whole", "moving windows", "window mask"}
        for found in readings.values():
            assert found["16"]["nll"] == pytest.approx(readings["whole"]["16"]["nll"], rel=1e-5)
        assert len({found["64"]["nll"] for found in readings.values()}) == 3


def test_the_random_angles_follow_the_run_s_seed(whole: Path) -> None:
    runs = read_runs(EXPERIMENT, whole)

    assert [run["facts"]["model"]["config"]["angle_seed"] for run in runs if run["variant"] == "random-lines"] == [0, 1]


def test_the_same_seed_means_the_same_batches_for_every_variant(whole: Path) -> None:
    batches = {(run["seed"], json.dumps(run["facts"]["batches"])) for run in read_runs(EXPERIMENT, whole)}

    assert len(batches) == 2


@pytest.mark.parametrize(("killed_in", "step"), [("rope-seed-0", 3), ("random-lines-seed-1", 4)])
def test_a_killed_experiment_goes_on_to_the_same_figures(
    text: Path, tmp_path: Path, whole: Path, killed_in: str, step: int
) -> None:
    def kill(_done: float, _total: int, remark: str) -> None:
        if remark.startswith(f"{killed_in}: step {step} "):
            raise KilledError

    with pytest.raises(KilledError):
        do(text, tmp_path, kill)
    assert not (tmp_path / "runs" / f"{killed_in}.json").exists()
    table = do(text, tmp_path)

    assert figures(tmp_path) == figures(whole)
    assert table == (whole / "table.txt").read_text(encoding="utf-8")


def test_an_interrupted_experiment_saves_and_goes_on_to_the_same_figures(
    text: Path, tmp_path: Path, whole: Path
) -> None:
    def interrupt(_done: float, _total: int, remark: str) -> None:
        if remark.startswith("random-lines-seed-0: step 3 "):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        do(text, tmp_path, interrupt)
    assert [path.name for path in (tmp_path / "models" / "random-lines-seed-0" / "checkpoints").iterdir()][-1:]
    assert (tmp_path / "models" / "random-lines-seed-0" / "checkpoints" / "step-00000003").is_dir()
    do(text, tmp_path)

    assert figures(tmp_path) == figures(whole)


def test_two_runs_side_by_side_give_the_figures_of_one_after_the_other(text: Path, tmp_path: Path, whole: Path) -> None:
    shown: list[float] = []

    do(text, tmp_path, lambda done, total, remark: shown.append(done), num_seeds=1, jobs=2)

    assert figures(tmp_path) == [run for run in figures(whole) if run["seed"] == 0]
    assert shown == [0, 1, 2]


def test_what_is_done_is_not_done_again_and_what_is_new_is_added(text: Path, tmp_path: Path) -> None:
    do(text, tmp_path, num_seeds=1, variants=("own-line",))
    first = (tmp_path / "runs" / "own-line-seed-0.json").read_bytes()
    shown: list[str] = []

    table = do(
        text, tmp_path, lambda done, total, remark: shown.append(remark), num_seeds=1, variants=("alibi", "own-line")
    )

    assert (tmp_path / "runs" / "own-line-seed-0.json").read_bytes() == first
    assert {remark.split(":")[0] for remark in shown} == {"alibi-seed-0 begins", "alibi-seed-0", "alibi-seed-0 done"}
    assert [line.split()[0] for line in table.splitlines() if line.startswith(("alibi", "own"))] == [
        "alibi",
        "own-line",
    ]


@pytest.mark.parametrize("variant", EXPERIMENT.variants)
def test_every_variant_trains_and_is_read(text: Path, tmp_path: Path, variant: str) -> None:
    scale = choose_scale(EXPERIMENT, "reduced", num_steps=1, width=8, num_layers=1, window=8, context_lengths=(8, 16))

    do(text, tmp_path, scale=scale, num_seeds=1, variants=(variant,))

    (run,) = read_runs(EXPERIMENT, tmp_path)
    assert run["facts"]["model"]["name"] == variant
    assert run["readings"]["whole"].keys() == {"8", "16"}


def test_a_folder_of_another_scale_or_text_is_refused(text: Path, tmp_path: Path, whole: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_bytes(text.read_bytes()[::-1])

    with pytest.raises(PlanError, match=r"experiment.json: the runs here have scale.num_steps = 5, not 6; choose"):
        do(text, whole, scale=choose_scale(EXPERIMENT, "reduced", **vars_of(TINY) | {"num_steps": 6}))
    with pytest.raises(PlanError, match="digest"):
        do(other, whole)


def vars_of(scale: Any) -> dict[str, Any]:
    return {name: getattr(scale, name) for name in scale.__slots__}


def test_a_record_that_is_no_record_is_refused_by_name(text: Path, tmp_path: Path) -> None:
    do(text, tmp_path, num_seeds=1, variants=("own-line",))
    path = tmp_path / "runs" / "own-line-seed-0.json"

    path.write_text("{}", encoding="utf-8")
    with pytest.raises(SchemaError, match=r"own-line-seed-0.json: expected the format 'lisdata reproduction run 1'"):
        do(text, tmp_path, num_seeds=1, variants=("own-line",))
    path.write_text("{", encoding="utf-8")
    with pytest.raises(SchemaError, match=r"own-line-seed-0.json: expected JSON"):
        do(text, tmp_path, num_seeds=1, variants=("own-line",))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variants": ("ropes",)}, "no variant ropes: it has rope, alibi"),
        ({"num_seeds": 0}, "num_seeds=0"),
        ({"jobs": 0}, "jobs=0"),
    ],
)
def test_a_wrong_argument_is_refused_before_any_work(
    text: Path, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        do(text, tmp_path, **changes)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("width=wide", "width: expected int, got 'wide'"),
        ("depth=3", "lis-table-3 has no depth"),
        ("width", "expected KEY=VALUE"),
        ("window=15", "not a positive even number"),
        ("window=64", "training window of 64 is none of"),
    ],
)
def test_a_wrong_setting_is_named(change: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        choose_scale(EXPERIMENT, "reduced", [change])


def test_an_unknown_scale_or_experiment_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match="no scale 'huge': it has reduced, paper"):
        choose_scale(EXPERIMENT, "huge")
    with pytest.raises(ValueError, match=r"no experiment 'lis-table-0': the experiments are lis-table-1, lis-table-3"):
        load_experiment("lis-table-0")


def test_the_registry_names_each_experiment_as_it_names_itself() -> None:
    assert [load_experiment(name).name for name in EXPERIMENTS] == list(EXPERIMENTS)


def test_the_paper_s_scale_is_the_paper_s() -> None:
    paper = SCALES["paper"]

    assert (paper.width, paper.num_layers, paper.num_attention_heads, paper.window) == (128, 4, 4, 256)
    assert (paper.num_steps, paper.batch_size, paper.learning_rate, paper.weight_decay) == (5000, 64, 3e-4, 0.1)
    assert paper.context_lengths == (256, 512, 1024, 2048, 4096)
