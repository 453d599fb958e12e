"""Training: which tokens are scored, that a run resumes exactly, and what it leaves behind."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from lisdata.checkpoints import CheckpointError, latest, load_model, read_checkpoint
from lisdata.errors import LisDataError, PlanError
from lisdata.models import build_model
from lisdata.training import (
    DivergedError,
    LoaderBatches,
    Progress,
    TokenWindows,
    TrainConfig,
    next_token_loss,
    next_token_nll,
    next_token_targets,
    train,
)
from lisdata.training.report import LossCurve

TEXT = np.array([ord(c) % 7 for c in "a line of text\nand one more\n" * 20], np.uint8)
CONFIG = TrainConfig(num_steps=6, batch_size=2, learning_rate=1e-2, num_warmup_steps=2, num_threads=1)


def make_model(name: str = "rope", **config: Any) -> nn.Module:
    if "lines" in name:
        config["newline_id"] = ord("\n") % 7
    return build_model(name, vocabulary_size=7, width=16, num_layers=1, num_attention_heads=2, seed=0, **config)


def make_windows(seed: int = 0) -> TokenWindows:
    return TokenWindows(TEXT, window=12, batch_size=2, seed=seed)


class KilledError(Exception):
    """Stands for a process that ends without a chance to save."""


def kill_at(step: int) -> Any:
    def on_progress(progress: Progress) -> None:
        if progress.step == step:
            raise KilledError

    return on_progress


@pytest.mark.parametrize(
    ("name", "precision"),
    [("rope", "fp32"), ("random-lines", "fp32"), ("lisformer-lines", "fp32"), ("lisformer-lines", "bf16")],
)
@pytest.mark.parametrize("killed_at", [1, 2, 5])
def test_a_killed_run_goes_on_to_the_same_weights_bit_for_bit(
    tmp_path: Path, name: str, precision: str, killed_at: int
) -> None:
    config = replace(CONFIG, checkpoint_every=2, precision=precision)
    whole = train(make_model(name, dropout=0.2), make_windows(), config, directory=tmp_path / "whole")

    with pytest.raises(KilledError):
        train(
            make_model(name, dropout=0.2),
            make_windows(),
            config,
            directory=tmp_path / "cut",
            on_progress=kill_at(killed_at),
        )
    torch.rand(5)
    resumed = train(make_model(name, dropout=0.2), make_windows(), config, directory=tmp_path / "cut")

    assert resumed.is_finished
    left, right = read_checkpoint(whole.checkpoint), read_checkpoint(resumed.checkpoint)
    for group in ("model", "optimizer", "random"):
        assert all(torch.equal(left.tensors[group][key], right.tensors[group][key]) for key in left.tensors[group])
    assert left.state["curve"] == right.state["curve"]
    assert left.state["batches"] == right.state["batches"]


def test_an_interrupted_run_saves_and_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    whole = train(make_model(), make_windows(), CONFIG, directory=tmp_path / "whole")
    handler = signal.getsignal(signal.SIGINT)

    def interrupt(progress: Progress) -> None:
        if progress.step == 3:
            os.kill(os.getpid(), signal.SIGINT)

    cut = train(make_model(), make_windows(), CONFIG, directory=tmp_path / "cut", on_progress=interrupt)

    assert (cut.step, cut.is_finished, cut.checkpoint.name) == (3, False, "step-00000003")
    assert json.loads(cut.report.read_text())["is_finished"] is False
    assert signal.getsignal(signal.SIGINT) is handler
    resumed = train(make_model(), make_windows(), CONFIG, directory=tmp_path / "cut")
    assert resumed.is_finished
    left, right = (read_checkpoint(run.checkpoint).tensors["model"] for run in (whole, resumed))
    assert all(torch.equal(left[key], right[key]) for key in left)


def test_the_second_interrupt_acts_as_usual(tmp_path: Path) -> None:
    def interrupt_twice(_: Progress) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(make_model(), make_windows(), CONFIG, directory=tmp_path, on_progress=interrupt_twice)


def test_a_run_in_another_thread_trains_without_catching_signals(tmp_path: Path) -> None:
    results = []
    thread = threading.Thread(
        target=lambda: results.append(train(make_model(), make_windows(), CONFIG, directory=tmp_path))
    )
    thread.start()
    thread.join()

    assert results[0].is_finished


def test_a_second_training_in_one_folder_is_refused_while_the_first_goes_on(tmp_path: Path) -> None:
    def start_another(progress: Progress) -> None:
        if progress.step == 2:
            with pytest.raises(PlanError, match=f"^{tmp_path}: another training is writing here$"):
                train(make_model(), make_windows(), CONFIG, directory=tmp_path)

    assert train(make_model(), make_windows(), CONFIG, directory=tmp_path, on_progress=start_another).is_finished
    assert train(make_model(), make_windows(), CONFIG, directory=tmp_path).is_finished
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoints", "loss.png", "report.json"]


@pytest.mark.parametrize("name", ["model.safetensors", "checkpoint.json"])
def test_a_damaged_newest_checkpoint_sends_the_run_back_to_the_one_before(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    config = replace(CONFIG, checkpoint_every=2)
    whole = train(make_model(), make_windows(), config, directory=tmp_path / "whole")
    with pytest.raises(KilledError):
        train(make_model(), make_windows(), config, directory=tmp_path / "cut", on_progress=kill_at(5))
    newest = tmp_path / "cut" / "checkpoints" / "step-00000004"
    content = bytearray((newest / name).read_bytes())
    content[len(content) // 2] ^= 1
    (newest / name).write_bytes(content)
    steps: list[int] = []

    resumed = train(
        make_model(), make_windows(), config, directory=tmp_path / "cut", on_progress=lambda p: steps.append(p.step)
    )

    assert steps == [3, 4, 5, 6]
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert str(newest / name) in record.message
    assert record.message.endswith("; set aside, going on from step-00000002")
    left, right = (read_checkpoint(run.checkpoint).tensors["model"] for run in (whole, resumed))
    assert all(torch.equal(left[key], right[key]) for key in left)


def test_a_run_with_damaged_checkpoints_only_is_refused_and_they_are_left_alone(tmp_path: Path) -> None:
    train(make_model(), make_windows(), CONFIG, directory=tmp_path)
    (tmp_path / "checkpoints" / "step-00000006" / "random.safetensors").unlink()

    with pytest.raises(CheckpointError, match=r"random\.safetensors: expected a file of the checkpoint, found none"):
        train(make_model(), make_windows(), CONFIG, directory=tmp_path)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-00000006"]


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    train(make_model(), make_windows(), CONFIG, directory=tmp_path)
    steps: list[Progress] = []

    again = train(make_model(), make_windows(), CONFIG, directory=tmp_path, on_progress=steps.append)

    assert again.is_finished
    assert steps == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"config": replace(CONFIG, learning_rate=1.0)}, r"training.learning_rate: this run has 1.0"),
        ({"batches": make_windows(seed=5)}, "batches.seed: this run has 5, the checkpoint 0"),
        ({"model": make_model(activation="relu")}, 'model.config.activation: this run has "relu"'),
        ({"facts": {"labels": "other"}}, 'labels: this run has "other", the checkpoint "some"'),
        ({"facts": {"labels": "some", "tokenizer": "b"}}, 'tokenizer: this run has "b", the checkpoint "a"'),
    ],
)
def test_a_directory_of_another_run_is_refused(tmp_path: Path, change: dict[str, Any], complaint: str) -> None:
    def start(**changed: Any) -> None:
        settings = {"model": make_model(), "batches": make_windows(), "config": CONFIG}
        facts = {"labels": "some", "tokenizer": "a"}
        train(**(settings | {"facts": facts} | changed), directory=tmp_path)

    start()

    with pytest.raises(CheckpointError, match=complaint):
        start(**change)


def test_a_run_whose_checkpoint_lacks_the_tokenizer_goes_on(tmp_path: Path) -> None:
    train(make_model(), make_windows(), CONFIG, directory=tmp_path)

    assert train(make_model(), make_windows(), CONFIG, directory=tmp_path, facts={"tokenizer": "some"}).is_finished


def test_how_often_a_run_is_saved_may_change(tmp_path: Path) -> None:
    with pytest.raises(KilledError):
        train(
            make_model(),
            make_windows(),
            replace(CONFIG, checkpoint_every=2),
            directory=tmp_path,
            on_progress=kill_at(3),
        )

    assert train(make_model(), make_windows(), CONFIG, directory=tmp_path).is_finished


def test_training_lowers_the_loss_and_leaves_a_report(tmp_path: Path) -> None:
    config = replace(CONFIG, num_steps=60, evaluate_every=40, learning_rate=3e-3)
    seen: list[Progress] = []

    result = train(
        make_model(),
        make_windows(),
        config,
        directory=tmp_path,
        evaluate=lambda model: {"is_training": model.eval().training},
        on_progress=seen.append,
    )

    report = json.loads(result.report.read_text())
    losses = [loss for _, loss in report["loss"]]
    assert sum(losses[-10:]) < sum(losses[:10])
    assert losses == [progress.loss for progress in seen]
    assert report["evaluations"] == [{"step": 40, "is_training": False}, {"step": 60, "is_training": False}]
    assert report["num_parameters"] == sum(p.numel() for p in make_model().parameters())
    assert report["training"]["num_steps"] == report["num_steps_done"] == 60
    assert report["facts"]["model"]["name"] == "rope"
    assert report["versions"]["torch"] == torch.__version__
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_a_long_run_reports_about_a_thousand_points() -> None:
    curve = LossCurve.for_run(2500)
    for step in range(1, 2501):
        curve.add(step, float(step))

    assert len(curve.points) == 833
    assert curve.points[0] == (3, 2.0)


def test_only_the_newest_checkpoints_are_kept(tmp_path: Path) -> None:
    train(make_model(), make_windows(), replace(CONFIG, checkpoint_every=1), directory=tmp_path)

    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["step-00000005", "step-00000006"]


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_good_state(tmp_path: Path) -> None:
    config = replace(CONFIG, num_steps=50, learning_rate=1e30, num_warmup_steps=0, checkpoint_every=1)

    with pytest.raises(DivergedError, match=r"step \d+: expected a finite loss, found (nan|inf)"):
        train(make_model(), make_windows(), config, directory=tmp_path)

    assert latest(tmp_path / "checkpoints") is not None


def test_training_leaves_the_global_random_state_and_threads_alone(tmp_path: Path) -> None:
    state, threads = torch.get_rng_state(), torch.get_num_threads()

    train(make_model(dropout=0.5), make_windows(), CONFIG, directory=tmp_path)

    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


# The loss


def test_a_token_is_scored_inside_its_document_and_where_it_is_a_target() -> None:
    batch = {
        "input_ids": torch.tensor([[1, 2, 3, 4, 5, 0, 0]]),
        "document": torch.tensor([[0, 0, 0, 1, 1, -1, -1]]),
        "target": torch.tensor([[1, 0, 1, 1, 1, 1, 1]]),
    }

    assert next_token_targets(batch).tolist() == [[-100, 3, -100, 5, -100, -100]]


def test_padding_and_rows_that_only_fill_up_are_not_scored_whatever_tells_them() -> None:
    batch = {
        "input_ids": torch.tensor([[1, 2, 3, 0], [4, 0, 0, 0], [5, 6, 0, 0]]),
        "length": torch.tensor([3, 1, 2]),
        "real": torch.tensor([True, True, False]),
    }

    assert next_token_targets(batch).tolist() == [[2, 3, -100], [-100] * 3, [-100] * 3]


def test_without_further_columns_every_token_but_the_first_is_scored() -> None:
    assert next_token_targets({"input_ids": torch.tensor([[4, 5, 6]])}).tolist() == [[5, 6]]


def test_the_loss_is_the_mean_over_scored_tokens_of_all_rows() -> None:
    model = make_model()
    batch = {
        "input_ids": torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0]]),
        "document": torch.tensor([[0, 0, 0, 0], [0, 0, -1, -1]]),
    }

    nll, targets = next_token_nll(model, batch)

    logits = model(batch["input_ids"][:, :3]).log_softmax(-1)
    expected = -torch.stack([logits[0, 0, 2], logits[0, 1, 3], logits[0, 2, 4], logits[1, 0, 6]])
    torch.testing.assert_close(nll[targets != -100], expected)
    torch.testing.assert_close(next_token_loss(model, batch), expected.mean())


def test_a_batch_without_a_scored_token_has_loss_zero() -> None:
    batch = {"input_ids": torch.tensor([[1, 2]]), "document": torch.tensor([[0, 1]])}

    assert next_token_loss(make_model(), batch).item() == 0


# Batches


@given(st.integers(0, 2**32), st.integers(0, 50))
def test_the_batch_of_a_step_depends_on_seed_and_step_alone(seed: int, step: int) -> None:
    running = make_windows(seed)
    for _ in range(step):
        running.next_batch()
    jumped = make_windows(seed)
    jumped.load_state_dict(json.loads(json.dumps(running.state_dict())))

    batch = jumped.next_batch()["input_ids"]

    assert torch.equal(batch, running.next_batch()["input_ids"])
    text = bytes(TEXT)
    assert all(bytes(row.tolist()) in text for row in batch)


def test_windows_reach_both_ends_of_the_text() -> None:
    windows = TokenWindows(np.arange(6), window=3, batch_size=200, seed=0)

    assert windows.next_batch()["input_ids"][:, 0].unique().tolist() == [0, 1, 2]
    assert TokenWindows(np.arange(4), window=3, batch_size=1, seed=0).next_batch()["input_ids"].tolist() == [
        [0, 1, 2, 3]
    ]


def test_seeds_and_texts_are_told_apart_whatever_the_integer_type() -> None:
    narrow = TokenWindows(TEXT, window=3, batch_size=1, seed=0).description()

    assert TokenWindows(TEXT.astype(np.int64), window=3, batch_size=1, seed=0).description() == narrow
    assert TokenWindows(TEXT[::-1], window=3, batch_size=1, seed=0).description() != narrow
    assert TokenWindows(TEXT, window=3, batch_size=1, seed=1).description() != narrow


@pytest.mark.parametrize(
    ("token_ids", "settings", "complaint"),
    [
        (np.zeros((2, 2), int), {}, "one row of integers"),
        (np.zeros(9), {}, "one row of integers"),
        (np.zeros(3, int), {}, "a text of 3 tokens has no window of 3"),
        (np.zeros(9, int), {"window": 0}, "expected positive numbers"),
        (np.zeros(9, int), {"batch_size": 0}, "expected positive numbers"),
    ],
)
def test_windows_that_cannot_be_drawn_are_refused(token_ids: Any, settings: dict[str, int], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        TokenWindows(token_ids, **{"window": 3, "batch_size": 1, "seed": 0, **settings})


class CountingLoader:
    """Two batches an epoch, numbered on; as a loader of shards, it counts the batches handed out."""

    def __init__(self, num_batches: int = 2) -> None:
        self.num_batches = num_batches
        self.epoch = self.consumed = 0

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        while self.consumed < self.num_batches:
            self.consumed += 1
            yield {"input_ids": torch.tensor([[self.epoch, self.consumed]])}
        self.epoch, self.consumed = self.epoch + 1, 0

    def state_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "consumed": self.consumed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.epoch, self.consumed = state["epoch"], state["consumed"]


@pytest.mark.parametrize("resumed_after", range(6))
def test_a_loader_s_batches_go_on_over_epochs_and_from_any_state(resumed_after: int) -> None:
    running = LoaderBatches(CountingLoader(), description={"dataset": "x"})
    for _ in range(resumed_after):
        running.next_batch()
    resumed = LoaderBatches(CountingLoader(), description={"dataset": "x"})
    resumed.load_state_dict(running.state_dict())

    batches = [resumed.next_batch()["input_ids"].tolist()[0] for _ in range(4)]

    expected = [[epoch, number] for epoch in range(5) for number in (1, 2)]
    assert batches == expected[resumed_after : resumed_after + 4]
    assert resumed.description() == {"dataset": "x"}


def test_a_loader_without_batches_is_refused() -> None:
    with pytest.raises(LisDataError, match="at least one batch an epoch, found none"):
        LoaderBatches(CountingLoader(0), description={}).next_batch()


# Settings


def test_the_learning_rate_rises_then_falls_to_nothing() -> None:
    config = TrainConfig(num_steps=10, batch_size=1, learning_rate=1.0, num_warmup_steps=2)

    rates = [config.learning_rate_at(step) for step in range(10)]

    assert rates[:3] == [0.5, 1.0, 1.0]
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert 0 < rates[-1] < 0.05
    assert replace(config, schedule="constant").learning_rate_at(9) == 1.0
    assert replace(config, schedule="linear").learning_rate_at(6) == 0.5


def test_epsilon_is_a_condition_of_resuming_where_it_is_not_the_usual_one() -> None:
    assert "epsilon" not in CONFIG.trajectory()
    assert replace(CONFIG, epsilon=1e-6).trajectory() == CONFIG.trajectory() | {"epsilon": 1e-6}


@pytest.mark.parametrize(
    "setting",
    [
        {"num_steps": 0},
        {"batch_size": 0},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"clip_norm": -1.0},
        {"weight_decay": -0.1},
        {"num_warmup_steps": 7},
        {"schedule": "stepwise"},
        {"epsilon": 0.0},
        {"precision": "fp16"},
        {"seed": -1},
        {"checkpoint_every": 0},
        {"evaluate_every": 0},
        {"num_threads": 0},
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(setting))):
        TrainConfig(**{"num_steps": 6, "batch_size": 2, **setting})


def spread_of_weights(model: nn.Module) -> dict[str, float]:
    """Return a figure that changes from step to step."""
    return {"spread": abs(sum(float(p.detach().sum()) for p in model.parameters()) - 3.0)}


def test_the_weights_of_the_best_evaluation_are_kept(tmp_path: Path) -> None:
    seen: dict[int, nn.Module] = {}

    def measure(model: nn.Module) -> dict[str, float]:
        seen[len(seen) + 1] = deepcopy(model)
        return {"nll": [3.0, 1.0, 2.0, 1.0, 5.0, 4.0][len(seen) - 1]}

    config = replace(CONFIG, evaluate_every=1)
    result = train(make_model(), make_windows(), config, directory=tmp_path, evaluate=measure, keep_best="nll")

    assert result.best == tmp_path / "best" / "step-00000002"
    assert [path.name for path in (tmp_path / "best").iterdir()] == ["step-00000002"]
    kept = load_model(result.best).state_dict()
    assert all(torch.equal(kept[name], value) for name, value in seen[2].state_dict().items())
    assert train(make_model(), make_windows(), CONFIG, directory=tmp_path / "none").best is None


@pytest.mark.parametrize("step", [1, 3, 5])
def test_a_killed_run_keeps_the_best_weights_of_one_never_killed(tmp_path: Path, step: int) -> None:
    settings: dict[str, Any] = {"evaluate": spread_of_weights, "keep_best": "spread"}
    config = replace(CONFIG, evaluate_every=1, checkpoint_every=2)
    whole = train(make_model(), make_windows(), config, directory=tmp_path / "whole", **settings)

    with pytest.raises(KilledError):
        train(make_model(), make_windows(), config, directory=tmp_path / "cut", on_progress=kill_at(step), **settings)
    cut = train(make_model(), make_windows(), config, directory=tmp_path / "cut", **settings)

    assert whole.best is not None
    assert cut.best is not None
    assert cut.best.name == whole.best.name
    expected = read_checkpoint(whole.best).tensors["model"]
    assert all(torch.equal(value, expected[name]) for name, value in read_checkpoint(cut.best).tensors["model"].items())
