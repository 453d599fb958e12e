"""An injection that is added to a trained model changes nothing at first, and then learns."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from small_transformer_xl import draw_batch, name_of

from lisdata.models import MODELS, build_model
from lisdata.models.sipe_config import FUSIONS
from lisdata.models.tag_identity import begin_at_identity

SIZES: dict[str, Any] = {"vocabulary_size": 9, "width": 8, "num_layers": 2, "num_attention_heads": 2}
CONFIGS = [
    {"name": name, "injection": injection}
    for name in MODELS
    if name.startswith("sipe-")
    for injection in MODELS[name].load_config_class().injections
    if injection != "none"
] + [{"name": "sipe-roberta", "injection": "input", "fusion": fusion} for fusion in FUSIONS]
INPUTS = ("input_ids", "terminal", "nonterminal", "document")


def build(name: str, **settings: Any) -> torch.nn.Module:
    mask = {"mask_id": 8} if MODELS[name].is_masked else {}
    model = build_model(name, seed=3, **(SIZES | mask | settings))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3, generator=generator)
    return model.double().eval()


@pytest.mark.parametrize("config", CONFIGS, ids=name_of)
def test_an_injection_at_identity_gives_the_logits_of_the_model_without_and_learns(config: dict[str, Any]) -> None:
    batch = {name: draw_batch(0)[name] for name in INPUTS}
    model, base = build(**config), build(config["name"])
    model.load_state_dict(model.state_dict() | base.state_dict())

    before = model(**batch)
    begin_at_identity(model)
    begun = model(**batch)

    torch.testing.assert_close(begun, base(**batch), rtol=1e-12, atol=1e-12)
    assert not torch.equal(before, begun)
    added = {name: p for name, p in model.named_parameters() if name not in base.state_dict()}
    optimizer = torch.optim.SGD(added.values(), lr=1e-3)
    start = {name: parameter.detach().clone() for name, parameter in added.items()}
    for _ in range(2):
        model(**batch).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    assert added.keys() == {name for name in added if not torch.equal(start[name], added[name])}
