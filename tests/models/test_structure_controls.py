"""Controls of the LISformer: vectors added instead of turned by, role biases, learned identifiers."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from lisdata.models import build_model, find_model

NUM_ROLES, VOCABULARY, LENGTH = 4, 9, 70  # longer than a chunk of the attention
VARIANTS = {
    "added-addresses": {},
    "added-addresses, roles pooled": {"pooled": "role"},
    "lisformer, roles pooled": {"pooled": "role"},
    "lisformer, identifiers": {"instance_addresses": False, "num_identifiers": 3},
    "role-biases": {},
}
Batch = dict[str, Tensor]


def build_tiny(variant: str, **config: object) -> nn.Module:
    name = variant.partition(",")[0]
    size = {"vocabulary_size": VOCABULARY, "num_roles": NUM_ROLES, "width": 16, "num_layers": 2}
    model = build_model(name, num_attention_heads=2, seed=0, **size, **VARIANTS[variant], **config).double().eval()
    if name == "role-biases":
        nn.init.normal_(model.biases, std=1.0)  # it begins as no bias at all
    return model


def logits(model: nn.Module, batch: Batch) -> Tensor:
    name = next(n for n in ("lisformer", "added-addresses", "role-biases") if isinstance(model, model_class(n)))
    with torch.no_grad():
        return model(**{column: batch[column] for column in find_model(name).columns})


def model_class(name: str) -> type[nn.Module]:
    return find_model(name).load_model_class()


def draw_batch(seed: int) -> Batch:
    generator = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int) -> Tensor:
        return torch.randint(low, high, (2, LENGTH), generator=generator)

    return {
        "input_ids": draw(0, VOCABULARY),
        "role": draw(-1, NUM_ROLES),
        "instance": draw(-1, 5),
        "position": draw(0, 9),
        "document": draw(0, 2).sort(1).values,
    }


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), changed=st.integers(0, LENGTH - 1))
def test_nothing_of_a_later_token_moves_an_earlier_logit(variant: str, seed: int, changed: int) -> None:
    model, batch = build_tiny(variant), draw_batch(seed)
    before = logits(model, batch)

    other = {name: column.clone() for name, column in batch.items()}
    other["input_ids"][:, changed:] = (other["input_ids"][:, changed:] + 1) % VOCABULARY
    other["role"][:, changed:] = 2
    other["position"][:, changed:] += 3

    moved = (logits(model, other) - before).abs()
    assert not (moved[:, :changed] > 1e-12).any()
    assert (moved[:, changed:].amax(-1) > 1e-12).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_padding_and_other_documents_do_not_change_logits(variant: str) -> None:
    model, batch = build_tiny(variant), draw_batch(3)
    fill = {"input_ids": 1, "role": 1, "instance": 0, "position": 2, "document": -1}
    padded = {name: nn.functional.pad(batch[name], (0, 9), value=fill[name]) for name in batch}

    torch.testing.assert_close(logits(model, padded)[:, :LENGTH], logits(model, batch), rtol=0, atol=1e-12)

    first = batch["document"] == 0
    other = batch | {"input_ids": torch.where(first, (batch["input_ids"] + 1) % VOCABULARY, batch["input_ids"])}
    moved = (logits(model, other) - logits(model, batch)).abs().amax(-1)
    assert not (moved[~first] > 1e-12).any()


def test_the_added_control_has_as_many_parameters_as_the_lisformer() -> None:
    turned, added = build_tiny("lisformer, roles pooled"), build_tiny("added-addresses, roles pooled")

    assert sorted(p.shape for p in turned.parameters()) == sorted(p.shape for p in added.parameters())


def test_an_added_vector_is_seen_where_its_instance_is_complete_alone() -> None:
    model = build_tiny("added-addresses")
    batch = {
        "input_ids": torch.tensor([[1, 2, 3, 4]]),
        "role": torch.zeros(1, 4, dtype=torch.long),
        "instance": torch.tensor([[0, 0, 1, 1]]),
        "position": torch.arange(4)[None],
        "document": torch.zeros(1, 4, dtype=torch.long),
    }
    before = logits(model, batch)
    with torch.no_grad():
        model.instance_vector.projection.bias += 1.0

    moved = (logits(model, batch) - before).abs().amax(-1)[0] > 1e-12

    assert moved.tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("vocabulary_size", "width", "serialized", "addressed"),
    [(175, 60, 153_235, 160_075), (85, 500, 9_105_585, 9_162_585)],
)
def test_parameters_are_those_of_lis_tables_5_to_7(
    vocabulary_size: int, width: int, serialized: int, addressed: int
) -> None:
    size = {"vocabulary_size": vocabulary_size, "width": width, "num_layers": 3, "num_attention_heads": 1}

    rope = build_model("rope", activation="relu", **size)
    roles = {"num_roles": 2 + 57 * 4, "num_plain_roles": 2, "instance_addresses": False}

    assert sum(p.numel() for p in rope.parameters()) == serialized
    for name in ("lisformer", "added-addresses"):
        slots = build_model(name, activation="relu", **roles, **size)
        assert sum(p.numel() for p in slots.parameters()) == addressed


@pytest.mark.parametrize("name", ["lisformer, roles pooled", "added-addresses"])
def test_plain_roles_change_nothing_and_the_others_do(name: str) -> None:
    model, batch = build_tiny(name, num_plain_roles=2, instance_addresses=False), draw_batch(5)
    plain = {**batch, "role": torch.ones_like(batch["role"])}
    before = logits(model, plain)

    assert torch.equal(logits(model, plain | {"role": torch.zeros_like(batch["role"])}), before)
    assert torch.equal(logits(model, plain | {"role": torch.full_like(batch["role"], -1)}), before)
    assert not torch.equal(logits(model, plain | {"role": 1 + (batch["input_ids"] % 2)}), before)


def test_without_role_biases_only_positions_tell() -> None:
    model, batch = build_tiny("role-biases"), draw_batch(5)
    nn.init.zeros_(model.biases)
    before = logits(model, batch)

    assert torch.equal(logits(model, batch | {"role": (batch["role"] + 2) % NUM_ROLES}), before)


def test_role_biases_are_looked_up_by_role_of_query_and_of_key() -> None:
    model, batch = build_tiny("role-biases"), draw_batch(7)

    scores = model._scores(batch["role"], None)

    for query, key in ((5, 2), (60, 59), (9, 9)):
        a, b = int(batch["role"][1, query]), int(batch["role"][1, key])
        expected = model.biases[:, a, b] if min(a, b) >= 0 else torch.zeros(2, dtype=torch.float64)
        assert torch.equal(scores[1, :, query, key], expected)
    assert scores[0, 0, 3, 4] == float("-inf")


@pytest.mark.parametrize(
    ("name", "settings_"),
    [
        ("lisformer", {"pooled": "position"}),
        ("lisformer", {"num_identifiers": 3}),
        ("lisformer", {"num_identifiers": 0, "instance_addresses": False}),
        ("lisformer", {"num_plain_roles": 3}),
        ("lisformer", {"num_plain_roles": -1}),
        ("added-addresses", {"num_identifiers": 3, "instance_addresses": False}),
        ("role-biases", {"num_roles": 0}),
    ],
)
def test_settings_that_say_nothing_are_refused(name: str, settings_: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        build_model(name, vocabulary_size=5, **({"num_roles": 3} | settings_))
