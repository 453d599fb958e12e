"""Attention weights are read off the computation that uses them: times the values they are what the layer gives."""

from __future__ import annotations

import pytest
import small_encoders
import small_transformer_xl
import torch
from torch import Tensor, nn

from lisdata.models import relative_attention
from lisdata.models.attention_weights import Mix, ValueMixing, record_attention
from lisdata.models.sipe_config import INJECTIONS

DECODER = "sipe-transformer-xl"
CASES = [*small_encoders.CASES, *((DECODER, name) for name in INJECTIONS)]
Batch = dict[str, Tensor]


def build(name: str, injection: str) -> nn.Module:
    make = small_transformer_xl.build_random if name == DECODER else small_encoders.build_random
    return make(**({} if name == DECODER else {"name": name}), injection=injection)


def draw(name: str, **sizes: int) -> Batch:
    module = small_transformer_xl if name == DECODER else small_encoders
    return module.draw_batch(3, **sizes)


def record(model: nn.Module, batch: Batch) -> tuple[list[Tensor], list[tuple[Tensor, Tensor]]]:
    """Return the weights of each layer, and what values went into it and what came out."""
    seen: list[tuple[Tensor, Tensor]] = []

    def watch(_module: nn.Module, arguments: tuple[Mix, Tensor], output: Tensor) -> None:
        seen.append((arguments[1], output))

    handles = [module.register_forward_hook(watch) for module in model.modules() if isinstance(module, ValueMixing)]
    with torch.no_grad(), record_attention(model) as weights:
        model(**batch)
    for handle in handles:
        handle.remove()
    return weights, seen


@pytest.mark.parametrize(("name", "injection"), CASES)
def test_weights_times_values_are_what_the_layer_gives(
    name: str, injection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relative_attention, "QUERY_BLOCK", 3)
    model, batch = build(name, injection), draw(name, num_documents=2)

    weights, seen = record(model, batch)

    assert len(weights) == len(seen) == model.config.num_layers
    for layer, (values, output) in zip(weights, seen, strict=True):
        torch.testing.assert_close(layer.transpose(0, 1) @ values, output, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "injection"), CASES)
def test_weights_are_shares_of_what_a_query_may_see(name: str, injection: str) -> None:
    model, batch = build(name, injection), draw(name, num_documents=2)
    is_same = batch["document"][:, None, :, None] == batch["document"][:, None, None]

    weights, _ = record(model, batch)

    length = is_same.shape[-1]
    is_open = is_same & torch.ones(length, length, dtype=torch.bool).tril() if name == DECODER else is_same
    for layer in weights:
        assert layer.shape == (2, 2, length, length)  # rows, attention heads, queries, keys
        torch.testing.assert_close(layer.sum(-1), torch.ones(layer.shape[:-1], dtype=torch.float64))
        assert (layer >= -1e-15).all()
        assert not layer.masked_select(~is_open).any()


@pytest.mark.parametrize("name", dict(CASES))
def test_a_weight_is_what_the_output_moves_by_when_its_value_is_moved(name: str) -> None:
    """The weights of the scores, not of something that merely adds up: query 4 and key 2 of one attention head."""
    model, batch = build(name, "none"), draw(name)
    first = next(module for module in model.modules() if isinstance(module, ValueMixing))

    def outputs(move: float) -> Tensor:
        def moved(_module: nn.Module, arguments: tuple[Mix, Tensor]) -> tuple[Mix, Tensor]:
            value = arguments[1].clone()
            value[1, :, 2] += move
            return arguments[0], value

        found: list[Tensor] = []
        handles = [first.register_forward_pre_hook(moved), first.register_forward_hook(lambda *a: found.append(a[2]))]
        with torch.no_grad():
            model(**batch)
        for handle in handles:
            handle.remove()
        return found[0]

    (weights, *_), _ = record(model, batch)

    change = (outputs(1.0) - outputs(0.0))[1, :, 4]
    torch.testing.assert_close(change, weights[:, 1, 4, 2, None].expand_as(change), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", dict(CASES))
def test_listening_changes_no_logit_and_ends(name: str) -> None:
    model, batch = build(name, "none"), draw(name)
    with torch.no_grad():
        expected = model(**batch)
        with record_attention(model) as weights:
            listened = model(**batch)
            model(**batch)
        after = model(**batch)

    assert torch.equal(listened, expected)
    assert torch.equal(after, expected)
    assert len(weights) == 2 * model.config.num_layers


def test_a_model_whose_attention_cannot_be_asked_is_refused() -> None:
    complaint = "expected a model whose attention weights can be read, got Linear"
    with pytest.raises(ValueError, match=complaint), record_attention(nn.Linear(2, 2)):
        pass
