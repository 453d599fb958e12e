"""LIS Table 4 done again on tiny models: sizes, records, what leaks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from lisdata.reproduce.lis_table_4 import (
    EXPERIMENT,
    MODELS,
    NEWLINE,
    PUBLISHED,
    SCALES,
    TimingScale,
    build_timed,
    draw_batch,
    prepare,
)
from lisdata.reproduce.preparation import untold
from lisdata.reproduce.runner import choose_scale, read_runs, reproduce

TINY = choose_scale(EXPERIMENT, "first", ["width=8", "num_layers=1", "batch_size=2", "length=16"], num_steps=3)


def do(to: Path, data: Path | None = None, num_seeds: int = 1) -> list[dict[str, Any]]:
    reproduce("lis-table-4", data=data, directory=to, scale=TINY, num_seeds=num_seeds)
    return read_runs(EXPERIMENT, to)


def test_each_precision_times_every_model_step_by_step(tmp_path: Path) -> None:
    runs = do(tmp_path, num_seeds=2)

    assert [(run["variant"], run["seed"]) for run in runs] == [("fp32", 0), ("fp32", 1), ("bf16", 0), ("bf16", 1)]
    for run in runs:
        for clock in ("step_seconds", "step_cpu_seconds"):
            assert {name: len(seconds) for name, seconds in run[clock].items()} == dict.fromkeys(MODELS, 3)
        assert min(min(seconds) for seconds in run["step_seconds"].values()) > 0
    table = json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))
    assert [(row["precision"], row["model"]) for row in table["rows"]] == [
        (precision, model) for precision in ("fp32", "bf16") for model in MODELS
    ]
    for row in table["rows"]:
        assert row["num_runs"] == 2
        assert (row["model"] == "rope") == (row["ratio"] == [1.0, 0.0])
    assert (tmp_path / "table.png").stat().st_size > 1000


def test_a_text_gives_the_batch_and_is_told_by_its_hash(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("ab\ncd\n" * 20, encoding="utf-8")

    ids, vocabulary_size = draw_batch(text, TINY, 0)

    assert ids.shape == (2, 17)
    assert vocabulary_size == 5
    assert {"\nabcd"[number] for number in ids.flatten().tolist()} == set("\nabcd")
    (run, *_) = do(tmp_path / "out", text)
    assert len(run["data"]["text"]) == 64


def test_a_text_shorter_than_the_context_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("ab\n", encoding="utf-8")

    with pytest.raises(ValueError, match="more than 17 characters"):
        draw_batch(tmp_path / "text.txt", TINY, 0)


def test_a_folder_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected a text file"):
        prepare(tmp_path, tmp_path / "out", TINY, untold)


@pytest.mark.parametrize("change", ["vocabulary_size=1", "num_steps=0", "length=0"])
def test_a_scale_that_times_nothing_is_refused(change: str) -> None:
    with pytest.raises(ValueError):
        choose_scale(EXPERIMENT, "first", [change])


@pytest.mark.parametrize(("name", "millions"), [("first", 0.8), ("second", 85.2), ("third", 302.4), ("fourth", 680.2)])
def test_scales_are_of_the_paper_s_size(name: str, millions: float) -> None:
    scale: TimingScale = SCALES[name]

    assert (scale.length, scale.num_steps) == (1024, 10)
    assert scale.width in PUBLISHED
    with torch.device("meta"):
        sizes = {model: sum(p.numel() for p in build_timed(model, scale, 65).parameters()) for model in MODELS}
    assert sizes["rope"] / 1e6 == pytest.approx(millions, abs=0.06)
    extra = 2 * scale.width + scale.width * scale.width // 2 + scale.width // 2
    assert sizes["leaking"] == sizes["causal"] == sizes["rope"] + extra


@pytest.mark.parametrize(("name", "leaks"), [("rope", False), ("causal", False), ("leaking", True)])
def test_only_the_leaking_form_knows_how_a_line_goes_on(name: str, leaks: bool) -> None:
    model = build_timed(name, choose_scale(EXPERIMENT, "first", ["width=16"]), 9).double().eval()
    ids = torch.tensor([[1, 2, 3, NEWLINE, 4, 5, 6, 7, NEWLINE, 8]])
    other = ids.clone()
    other[0, 7] = 1

    with torch.no_grad():
        moved = (model(ids) - model(other)).abs().amax(-1)[0, :7]

    assert (moved.max() > 1e-9) == leaks
