"""Models that begin from trained ones: the same loss at first, an injection that learns, and what does not fit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from small_transformer_xl import draw_batch
from torch import Tensor

from lisdata.checkpoints import CheckpointError, latest
from lisdata.models import build_model
from lisdata.pretrained import PretrainedError, from_hf
from lisdata.training import TrainConfig, masked_token_loss, next_token_loss, train
from lisdata.training.batches import Batch
from lisdata.training.masking import MASKED_TARGET
from lisdata.training.starting import find_trained, hash_weights, start_model

SIZES: dict[str, Any] = {"vocabulary_size": 9, "width": 8, "num_layers": 2, "num_attention_heads": 2}
CONFIG = TrainConfig(num_steps=4, batch_size=2, learning_rate=1e-2, num_threads=1)
CASES = [
    ("sipe-transformer-xl", "position"),
    ("sipe-transformer-xl", "input"),
    ("sipe-roberta", "input"),
    ("sipe-deberta", "position"),
    ("sipe-modernbert", "position+attention"),
]


class DrawnBatches:
    """The same few rows in every run, masked where a model of masked tokens needs it."""

    def __init__(self) -> None:
        self._step = 0

    def next_batch(self) -> Batch:
        self._step += 1
        batch = draw_batch(self._step)
        targets = torch.where(batch["terminal"] < 0, batch["input_ids"], -100)
        return batch | {MASKED_TARGET: targets}

    def state_dict(self) -> dict[str, Any]:
        return {"step": self._step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._step = state["step"]

    def description(self) -> dict[str, Any]:
        return {"rows": "drawn"}


def is_masked(name: str) -> bool:
    return name != "sipe-transformer-xl"


def loss_of(name: str) -> Any:
    return masked_token_loss if is_masked(name) else next_token_loss


def first_loss(model: torch.nn.Module, name: str) -> Tensor:
    with torch.no_grad():
        found: Tensor = loss_of(name)(model.eval(), DrawnBatches().next_batch())
    return found


def train_base(name: str, directory: Path, **settings: Any) -> Path:
    mask = {"mask_id": 8} if is_masked(name) else {}
    model = build_model(name, seed=0, **(SIZES | mask | settings))
    result = train(model, DrawnBatches(), CONFIG, directory=directory, objective=loss_of(name))
    return result.checkpoint


@pytest.mark.parametrize(("name", "injection"), CASES)
def test_the_first_loss_is_that_of_the_trained_model_and_the_injection_learns(
    name: str, injection: str, tmp_path: Path
) -> None:
    base = train_base(name, tmp_path / "base")
    plain = first_loss(start_model(base), name)

    model = start_model(base, seed=1, injection=injection, predicts_tags=True)
    torch.testing.assert_close(first_loss(model, name), plain, rtol=1e-6, atol=1e-6)
    begun = {n: p.detach().clone() for n, p in model.named_parameters()}
    result = train(
        model,
        DrawnBatches(),
        replace(CONFIG, num_steps=6),
        directory=tmp_path / "continued",
        objective=lambda m, batch: loss_of(name)(m, batch) + sum(p.float().square().sum() for p in heads(m)),
    )

    assert result.is_finished
    added = [n for n in begun if n not in find_names(base)]
    changed = [n for n, p in model.named_parameters() if not torch.equal(begun[n], p)]
    assert {n for n in added if "_output" not in n} <= set(changed)


def heads(model: torch.nn.Module) -> list[Tensor]:
    """The outputs for tags, so that the loss reaches every weight."""
    return [p for n, p in model.named_parameters() if "terminal_output" in n]


def find_names(checkpoint: Path) -> set[str]:
    return set(start_model(checkpoint).state_dict())


def test_what_a_model_has_learned_stays_where_nothing_is_changed(tmp_path: Path) -> None:
    base = train_base("sipe-roberta", tmp_path, injection="input")

    model = start_model(tmp_path, injection="input", dropout=0.2)

    assert model.config.dropout == 0.2
    assert hash_weights(model) == hash_weights(start_model(base))
    assert latest(tmp_path / "checkpoints") == base == find_trained(tmp_path).path
    assert not model.training


def test_other_seeds_draw_other_parts_and_the_hash_tells(tmp_path: Path) -> None:
    base = train_base("sipe-roberta", tmp_path)

    hashes = {hash_weights(start_model(base, seed=seed, predicts_tags=True)) for seed in (0, 0, 1)}

    assert len(hashes) == 2


@pytest.mark.parametrize(
    ("has", "changes", "message"),
    [
        ({}, {"width": 16}, "the trained model has width = 8, which cannot be changed"),
        ({}, {"vocabulary_size": 10, "mlp_width": 3}, "mlp_width = None, vocabulary_size = 9"),
        ({"injection": "input"}, {"injection": "attention"}, "the trained model has injection = input"),
        ({"injection": "input"}, {"injection": "none"}, "the trained model has injection = input"),
        ({"injection": "attention"}, {"sharing": "shared"}, "the trained model has sharing = per-layer"),
        ({"predicts_tags": True}, {"predicts_tags": False}, "no place for nonterminal_output.bias of the trained one"),
        ({}, {"injection": "sideways"}, "injection='sideways' is none of"),
    ],
)
def test_a_change_that_the_weights_forbid_is_refused(
    has: dict[str, Any], changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    base = train_base("sipe-roberta", tmp_path, **has)

    with pytest.raises((ValueError, CheckpointError), match=message):
        start_model(base, **changes)


def write_hf_roberta(folder: Path) -> Path:
    """Write a RoBERTa of one layer as Hugging Face saves it, without a tokenizer."""
    generator = torch.Generator().manual_seed(0)
    shapes: dict[str, tuple[int, ...]] = {
        "roberta.embeddings.word_embeddings.weight": (9, 8),
        "roberta.embeddings.position_embeddings.weight": (20, 8),
        "roberta.embeddings.token_type_embeddings.weight": (1, 8),
        "lm_head.bias": (9,),
    }
    layer = "roberta.encoder.layer.0"
    square = [f"{layer}.attention.self.{name}" for name in ("query", "key", "value")]
    for name in (*square, f"{layer}.attention.output.dense", "lm_head.dense"):
        shapes |= {f"{name}.weight": (8, 8), f"{name}.bias": (8,)}
    shapes |= {f"{layer}.intermediate.dense.weight": (16, 8), f"{layer}.intermediate.dense.bias": (16,)}
    shapes |= {f"{layer}.output.dense.weight": (8, 16), f"{layer}.output.dense.bias": (8,)}
    norms = ("roberta.embeddings.LayerNorm", f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm")
    for name in (*norms, "lm_head.layer_norm"):
        shapes |= {f"{name}.weight": (8,), f"{name}.bias": (8,)}
    folder.mkdir()
    save_file(
        {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}, folder / "model.safetensors"
    )
    config = {"model_type": "roberta", "vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1}
    config |= {"num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 20}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_an_encoder_of_hugging_face_s_begins_as_itself_and_takes_an_injection(tmp_path: Path) -> None:
    folder = write_hf_roberta(tmp_path / "hf")
    base = from_hf(folder, mask_id=8)

    model = start_model(folder, mask_id=8, injection="input+attention", dropout=0.0, predicts_tags=True)

    torch.testing.assert_close(first_loss(model, "sipe-roberta"), first_loss(base, "sipe-roberta"))
    assert model.config.dropout == 0.0
    assert find_trained(folder, mask_id=8).settings["mask_id"] == 8
    with pytest.raises(ValueError, match="the trained model has width = 8, which cannot be changed"):
        start_model(folder, mask_id=8, width=16)
    with pytest.raises(PretrainedError, match=r"tokenizer.json: expected a tokenizer, which tells the mask token"):
        find_trained(folder)


def test_a_folder_without_a_checkpoint_is_told(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="expected a checkpoint, or a folder of checkpoints, found none"):
        find_trained(tmp_path)
