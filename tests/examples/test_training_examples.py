"""The training scripts in `examples/`: each resumes exactly by its framework's own checkpoint, and ranks share rows."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import recorded_run
import torch

import lisdata

EPOCHS = 2
PACKAGES = {
    "train_torch": "torch",
    "train_accelerate": "accelerate",
    "train_lightning": "lightning",
    "train_transformers": "transformers",
}
NAMES = list(PACKAGES)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 rows of a few words each: 20 batches or so of two packs."""
    folder = tmp_path_factory.mktemp("prose")
    draw = random.Random(1)
    words = ["the", "sea", "was", "calm", "and", "gulls", "cried", "over", "harbour", "walls"]
    lines = [" ".join(draw.choices(words, k=draw.randint(2, 12))) for _ in range(60)]
    (folder / "prose.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lisdata.convert("text", [folder / "prose.txt"], folder / "prose.lis", options={"unit": "line"})
    lisdata.encode(folder / "prose.lis", folder / "prose.tok")
    return folder / "prose.tok"


@pytest.fixture(autouse=True)
def _example(request: pytest.FixtureRequest, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip where the example's package is not installed; else make the examples importable."""
    package = PACKAGES[request.getfixturevalue("name")]
    pytest.importorskip(package, reason=f"an example for {package}, which is not installed")
    if package == "transformers":
        pytest.importorskip("accelerate", reason="the Trainer of transformers needs accelerate, which is not installed")
    monkeypatch.syspath_prepend(root / "examples")


def length(name: str, dataset: Path, *, epochs: int = EPOCHS) -> dict[str, int]:
    """Return how long to train; the Trainer of transformers is told it in steps."""
    if name != "train_transformers":
        return {"epochs": epochs}
    return {"steps": sum(batches_of_epochs(dataset)[:epochs])}


def batches_of_epochs(dataset: Path) -> list[int]:
    loader = lisdata.Loader(dataset, 2, pack_to=recorded_run.PACK)
    return [sum(1 for _ in loader) for _ in range(EPOCHS)]


def seen(record: Path, rank: int = 0) -> list[list[int]]:
    lines = record.with_suffix(f".{rank}").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def weights(name: str, to: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    if name == "train_torch":
        found: dict[str, Any] = torch.load(to / "checkpoint.pt", weights_only=True)["model"]
    elif name == "train_lightning":
        found = torch.load(to / "trained.ckpt", weights_only=True)["state_dict"]
    elif name == "train_accelerate":
        found = load_file(to / "latest" / "model.safetensors")
    else:
        last = max(to.glob("checkpoint-*"), key=lambda folder: int(folder.name.partition("-")[2]))
        found = load_file(last / "model.safetensors")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_stopped_training_ends_as_one_never_stopped(name: str, dataset: Path, tmp_path: Path) -> None:
    in_first_epoch = batches_of_epochs(dataset)[0]
    settings: dict[str, Any] = {"dataset": dataset, **length(name, dataset)}
    recorded_run.run(name, tmp_path / "whole", to=tmp_path / "whole-to", save_every=1000, **settings)
    whole = seen(tmp_path / "whole")
    assert Counter(row for rows in whole for row in rows) == Counter(dict.fromkeys(range(60), EPOCHS))

    for save_every in (4, in_first_epoch):  # in the middle of an epoch, and at its last batch
        to, stopped, resumed = (tmp_path / f"{what}-{save_every}" for what in ("to", "stopped", "resumed"))
        again = {"to": to, "save_every": save_every, **settings}
        with pytest.raises(recorded_run.StoppedError):
            recorded_run.run(name, stopped, stop_after=save_every + 1, **again)
        recorded_run.run(name, resumed, **again)

        assert seen(stopped) == whole[: save_every + 1]
        assert seen(resumed) == whole[save_every:]
        expected, found = weights(name, tmp_path / "whole-to"), weights(name, to)
        assert expected.keys() == found.keys()
        assert all(torch.equal(expected[key], found[key]) for key in expected)


@pytest.mark.parametrize("name", NAMES)
def test_two_ranks_share_the_rows_of_an_epoch(name: str, root: Path, dataset: Path, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    epochs = length(name, dataset, epochs=1)
    if name == "train_transformers":
        epochs = {"steps": len(lisdata.Loader(dataset, 2, pack_to=recorded_run.PACK, rank=0, world_size=2))}
    devices = {"devices": 2} if name == "train_lightning" else {}
    settings = json.dumps({"dataset": str(dataset), "to": str(tmp_path / "to")} | epochs | devices)
    script = Path(recorded_run.__file__)
    command = [sys.executable, str(script), str(root / "examples"), name, str(tmp_path / "rows"), settings]
    ranks = [
        subprocess.Popen(
            command,
            env=os.environ
            | {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
            | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
            | {"TORCHELASTIC_RUN_ID": "none", "GROUP_RANK": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    outputs = [process.communicate(timeout=240)[0] for process in ranks]

    assert [process.returncode for process in ranks] == [0, 0], "\n".join(outputs)
    first, second = (seen(tmp_path / "rows", rank) for rank in range(2))
    assert len(first) == len(second)
    assert Counter(row for rows in (*first, *second) for row in rows) == Counter(range(60))


@pytest.mark.parametrize("name", ["train_torch"])
def test_documents_of_a_pack_do_not_see_each_other(name: str, dataset: Path) -> None:
    tiny_model = __import__("tiny_model")
    loader = lisdata.Loader(dataset, 2, pack_to=recorded_run.PACK, columns=tiny_model.COLUMNS)
    batch = next(iter(loader))
    model = tiny_model.TinyModel(40, recorded_run.PACK)
    inputs = [batch[column] for column in tiny_model.COLUMNS]
    changed = inputs[0].clone()
    changed[batch["document"] == 0] = 39

    before, after = model(*inputs), model(changed, *inputs[1:])

    is_other = batch["document"] > 0
    assert is_other.any()
    assert torch.equal(before[is_other], after[is_other])
    assert not torch.equal(before, after)
    bounds = batch["cu_seqlens"].tolist()
    of_token = torch.bucketize(torch.arange(bounds[-1]), batch["cu_seqlens"], right=True).view(2, -1)
    assert torch.equal(
        tiny_model.document_mask(batch["document"]), tiny_model.document_mask(of_token)
    )  # cu_seqlens bounds the same documents


@pytest.mark.parametrize("name", ["train_transformers"])
def test_transformers_sees_from_positions_where_documents_end(name: str, dataset: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=40, n_positions=64, n_embd=16, n_layer=1, n_head=2)
    model = transformers.GPT2LMHeadModel(config).eval()
    batch = next(iter(lisdata.Loader(dataset, 2, pack_to=64, columns=("input_ids", "document", "position_ids"))))
    changed = batch["input_ids"].clone()
    changed[batch["document"] == 0] = 39

    with torch.no_grad():
        before, after = (
            model(input_ids=ids, position_ids=batch["position_ids"], use_cache=False).logits
            for ids in (batch["input_ids"], changed)
        )

    assert torch.equal(before[batch["document"] > 0], after[batch["document"] > 0])
