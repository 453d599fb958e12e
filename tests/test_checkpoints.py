"""Checkpoints come back as they were written, or are refused."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from changed_documents import changed_documents, refusal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from lisdata.checkpoints import (
    Checkpoint,
    CheckpointError,
    check_facts,
    latest,
    load_model,
    newest_whole,
    prune_checkpoints,
    read_checkpoint,
    write_checkpoint,
)
from lisdata.models import build_model, describe_model

TINY = {"vocabulary_size": 5, "width": 8, "num_layers": 1, "num_attention_heads": 2, "newline_id": 0}


def make_checkpoint(step: int = 3, **facts: object) -> Checkpoint:
    model = build_model("random-lines", seed=0, **TINY)
    return Checkpoint(
        step=step,
        facts={"model": describe_model(model), "labels": "abc", **facts},
        state={"batches": {"step": 3}, "loss": [0.1, 1 / 3]},
        tensors={
            "model": model.state_dict(),
            "optimizer": {"weight/step": torch.tensor(3.0), "weight/exp_avg": torch.randn(2, 3)},
            "random": {"cpu": torch.get_rng_state()},
        },
    )


def assert_same_tensors(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_a_checkpoint_comes_back_exactly(tmp_path: Path) -> None:
    written = make_checkpoint()

    read = read_checkpoint(write_checkpoint(written, tmp_path))

    assert (read.step, read.facts, read.state) == (written.step, written.facts, written.state)
    for name, tensors in written.tensors.items():
        assert_same_tensors(read.tensors[name], tensors)


def test_its_files_hold_no_pickle(tmp_path: Path) -> None:
    path = write_checkpoint(make_checkpoint(), tmp_path)

    assert sorted(file.name for file in path.iterdir()) == [
        "checkpoint.json",
        "model.safetensors",
        "optimizer.safetensors",
        "random.safetensors",
    ]


def test_writing_a_step_again_replaces_it(tmp_path: Path) -> None:
    write_checkpoint(make_checkpoint(note="old"), tmp_path)

    path = write_checkpoint(make_checkpoint(note="new"), tmp_path)

    assert read_checkpoint(path).facts["note"] == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["step-00000003"]


def test_the_latest_is_that_of_the_greatest_step_that_is_complete(tmp_path: Path) -> None:
    assert latest(tmp_path / "absent") is None
    for step in (9, 100_000_000, 20):
        write_checkpoint(make_checkpoint(step), tmp_path)
    (tmp_path / ".step-200000000.partial").mkdir()

    assert latest(tmp_path) == tmp_path / "step-100000000"


def test_a_write_cut_off_before_leaves_nothing_behind_the_next(tmp_path: Path) -> None:
    partial = tmp_path / ".step-00000003.partial"
    partial.mkdir()
    (partial / "junk.safetensors").write_bytes(b"junk")

    path = write_checkpoint(make_checkpoint(), tmp_path)

    assert read_checkpoint(path).step == 3
    assert not partial.exists()


def test_pruning_keeps_the_newest(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        write_checkpoint(make_checkpoint(step), tmp_path)

    prune_checkpoints(tmp_path, keep=2)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000002", "step-00000003"]


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "random.safetensors"])
def test_a_flipped_byte_is_refused_with_the_file_s_name(tmp_path: Path, name: str) -> None:
    path = write_checkpoint(make_checkpoint(), tmp_path)
    content = bytearray((path / name).read_bytes())
    content[-1] ^= 1
    (path / name).write_bytes(content)

    with pytest.raises(CheckpointError, match=rf"{name}: expected sha256 \w+, found \w+"):
        read_checkpoint(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    path = write_checkpoint(make_checkpoint(), tmp_path)
    (path / "optimizer.safetensors").unlink()

    with pytest.raises(CheckpointError, match=r"optimizer.safetensors: expected a file of the checkpoint, found none"):
        read_checkpoint(path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": "other"}'])
def test_an_index_of_another_kind_is_refused(tmp_path: Path, content: str) -> None:
    path = write_checkpoint(make_checkpoint(), tmp_path)
    (path / "checkpoint.json").write_text(content)

    with pytest.raises(CheckpointError, match=r"checkpoint.json: expected the (index|format)"):
        read_checkpoint(path)


Written = tuple[Path, dict[str, Any]]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """A checkpoint and its index."""
    path = write_checkpoint(make_checkpoint(), tmp_path)
    return path, json.loads((path / "checkpoint.json").read_text())


@given(data=st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_an_index_says_it_is_what_was_written_or_refused(written: Written, data: Any) -> None:
    path, index = written
    changed = data.draw(changed_documents(index))
    (path / "checkpoint.json").write_text(json.dumps(changed))

    error = refusal(lambda: read_checkpoint(path), CheckpointError)

    assert (error is None) == (json.dumps(changed) == json.dumps(index))
    assert error is None or str(error).startswith(f"{path / 'checkpoint.json'}: ")


@given(data=st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_sealed_index_says_it_is_read_or_refused(written: Written, data: Any) -> None:
    path, index = written
    changed = data.draw(changed_documents({key: value for key, value in index.items() if key != "self_sha256"}))
    changed["self_sha256"] = hashlib.sha256(json.dumps(changed).encode()).hexdigest()
    (path / "checkpoint.json").write_text(json.dumps(changed))

    error = refusal(lambda: read_checkpoint(path), CheckpointError)

    assert error is None or str(path) in str(error)


@pytest.mark.parametrize("facts", [{}, {"model": None}, {"model": 3}, {"model": {"name": "rope"}}])
def test_facts_that_tell_no_model_of_lisdata_are_refused(tmp_path: Path, facts: dict[str, Any]) -> None:
    path = write_checkpoint(replace(make_checkpoint(), facts=facts), tmp_path)

    with pytest.raises(CheckpointError, match="expected a model of lisdata"):
        load_model(path)


def test_tensors_that_are_none_are_refused(tmp_path: Path) -> None:
    path = write_checkpoint(make_checkpoint(), tmp_path)
    (path / "random.safetensors").write_bytes(b"no tensors")
    index = json.loads((path / "checkpoint.json").read_text())
    index.pop("self_sha256")
    index["files"]["random.safetensors"] = hashlib.sha256(b"no tensors").hexdigest()
    index["self_sha256"] = hashlib.sha256(json.dumps(index).encode()).hexdigest()
    (path / "checkpoint.json").write_text(json.dumps(index))

    with pytest.raises(CheckpointError, match=r"random\.safetensors: expected safetensors, found"):
        read_checkpoint(path)


def test_the_newest_whole_one_is_found_and_damaged_ones_are_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert newest_whole(tmp_path / "absent") is None
    for step in (1, 2, 3):
        write_checkpoint(make_checkpoint(step), tmp_path)
    for step in (2, 3):
        (tmp_path / f"step-0000000{step}" / "checkpoint.json").unlink()
    (tmp_path / ".step-00000003.damaged").mkdir()  # of an earlier time

    found = newest_whole(tmp_path)

    assert found is not None
    assert (found[0].name, found[1].step) == ("step-00000001", 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".step-00000002.damaged", ".step-00000003.damaged", "step-00000001",
    ]  # fmt: skip
    assert len(caplog.records) == 2
    assert newest_whole(tmp_path) is not None


def test_a_directory_without_an_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="expected the index of a checkpoint"):
        read_checkpoint(tmp_path)


def test_other_facts_are_refused_naming_each_difference(tmp_path: Path) -> None:
    found = {"model": {"width": 8, "depth": 2}, "labels": "abc"}
    expected = {"model": {"width": 16, "depth": 2}, "batches": {"seed": 1}, "labels": "abc"}

    with pytest.raises(CheckpointError) as caught:
        check_facts(found, expected, tmp_path)

    assert str(caught.value).endswith(
        "batches.seed: this run has 1, the checkpoint none; model.width: this run has 16, the checkpoint 8"
    )


def test_a_loaded_model_computes_what_the_saved_one_did(tmp_path: Path) -> None:
    model = build_model("random-lines", seed=0, **TINY).eval()
    path = write_checkpoint(make_checkpoint(), tmp_path)
    input_ids = torch.tensor([[1, 2, 0, 3, 4, 0, 1]])

    loaded = load_model(path, labels="abc")

    assert not loaded.training
    with torch.no_grad():
        assert torch.equal(loaded(input_ids), model(input_ids))


def test_a_model_of_another_label_list_is_refused(tmp_path: Path) -> None:
    path = write_checkpoint(make_checkpoint(), tmp_path)

    with pytest.raises(CheckpointError, match='labels: this run has "xyz", the checkpoint "abc"'):
        load_model(path, labels="xyz")


def test_a_model_from_elsewhere_is_not_built(tmp_path: Path) -> None:
    path = write_checkpoint(make_checkpoint(model={"class": "elsewhere.Model"}), tmp_path)

    with pytest.raises(CheckpointError, match=r"expected a model of lisdata, found elsewhere\.Model"):
        load_model(path)
