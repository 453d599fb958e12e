"""Models read as classifiers of rows: where they look, that padding is nothing, and what of them is trained."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from small_transformer_xl import build_tiny, draw_batch

from lisdata.models import build_model
from lisdata.models.sequence_classifier import SequenceClassifier


def build(name: str, pooling: str, **settings: Any) -> SequenceClassifier:
    sizes = {"vocabulary_size": 9, "width": 8, "num_layers": 1, "num_attention_heads": 2}
    model = build_model(name, seed=0, **(sizes | settings))
    return SequenceClassifier(model, 3, pooling=pooling, dropout=0.5).eval()


@pytest.mark.parametrize(
    ("pooling", "name", "settings"),
    [
        ("first", "sipe-roberta", {"mask_id": 8, "predicts_tags": True}),
        ("first", "sipe-deberta", {"mask_id": 8}),
        ("first", "sipe-modernbert", {"mask_id": 8}),
        ("last", "sipe-transformer-xl", {"predicts_tags": True}),
    ],
)
def test_padding_changes_nothing_and_every_trained_weight_has_a_gradient(
    pooling: str, name: str, settings: dict[str, Any]
) -> None:
    classifier = build(name, pooling, injection="input", **settings)
    batch = draw_batch(0)
    padded = {column: torch.nn.functional.pad(tensor, (0, 3), value=-1) for column, tensor in batch.items()}
    padded["input_ids"] = padded["input_ids"].clamp(min=0)

    found = classifier(**batch)

    assert found.shape == (2, 3)
    torch.testing.assert_close(classifier(**padded), found)
    found.square().sum().backward()
    for parameter in classifier.parameters():
        assert (parameter.grad is not None) is parameter.requires_grad


@pytest.mark.parametrize(("pooling", "place"), [("first", 0), ("last", -1)])
def test_the_output_reads_one_position(pooling: str, place: int) -> None:
    classifier, batch = SequenceClassifier(build_tiny(), 2, pooling=pooling), draw_batch(1)
    changed = batch | {"input_ids": batch["input_ids"].clone()}
    changed["input_ids"][:, 3] = (changed["input_ids"][:, 3] + 1) % 9
    hidden = classifier.model.hidden_states(batch["input_ids"], None, None, batch["document"])

    expected = classifier.output(torch.tanh(classifier.dense(hidden[:, place])))

    torch.testing.assert_close(classifier(**batch), expected)
    assert torch.equal(classifier(**changed), classifier(**batch)) is (pooling == "first")  # a decoder looks back


def test_another_pooling_is_refused() -> None:
    with pytest.raises(ValueError, match="pooling='mean' is none of first, last"):
        SequenceClassifier(build_tiny(), 2, pooling="mean")
