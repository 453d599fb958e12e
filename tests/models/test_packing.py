"""Packing: in which order facts stand before a text is nothing to structural addresses, and something to a layout's."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from lisdata.models import build_model

NUM_ROLES, VOCABULARY, MARK = 4, 9, 0
ONE_LAYER = {"vocabulary_size": VOCABULARY, "width": 16, "num_layers": 1, "num_attention_heads": 2, "seed": 0}
TEXT = [5, 3, 6]


def build_tiny(name: str, **config: object) -> nn.Module:
    """One layer: what a later layer reads of a fact depends on the facts before it, in a causal model."""
    return build_model(name, **ONE_LAYER, **config).double().eval()


def draw_facts(seed: int) -> list[list[tuple[int, int]]]:
    """Three facts of one to four endpoints, pairs of token and role."""
    generator = torch.Generator().manual_seed(seed)

    def draw(high: int) -> int:
        return int(torch.randint(1, high, (), generator=generator))

    return [[(draw(VOCABULARY), draw(NUM_ROLES)) for _ in range(draw(5))] for _ in range(3)]


def as_structure(facts: list[list[tuple[int, int]]]) -> dict[str, Tensor]:
    """Facts, each an instance, before the text."""
    rows = [
        (token, role, number, position)
        for number, fact in enumerate(facts)
        for position, (token, role) in enumerate(fact)
    ]
    rows += [(token, 0, 7, position) for position, token in enumerate(TEXT)]
    columns = torch.tensor(rows).T[:, None]
    return dict(zip(("input_ids", "role", "instance", "position"), columns, strict=True))


def as_text(facts: list[list[tuple[int, int]]]) -> dict[str, Tensor]:
    """The same serialized: tokens one behind the other, each fact ended by a mark."""
    return {"input_ids": torch.tensor([[*(t for fact in facts for t, _ in [*fact, (MARK, 0)]), *TEXT]])}


def logits_of_text(model: nn.Module, columns: dict[str, Tensor]) -> Tensor:
    with torch.no_grad():
        found: Tensor = model(**columns)[0, -len(TEXT) :]
    return found


@pytest.mark.parametrize("config", [{}, {"pooled": "role"}, {"turns_values": True}, {"instance_addresses": False}])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), order=st.permutations(range(3)))
def test_the_order_of_facts_changes_no_logit_of_the_text(
    config: dict[str, object], seed: int, order: list[int]
) -> None:
    model, facts = build_tiny("lisformer", num_roles=NUM_ROLES, **config), draw_facts(seed)

    packed = logits_of_text(model, as_structure([facts[number] for number in order]))

    torch.testing.assert_close(packed, logits_of_text(model, as_structure(facts)), rtol=0, atol=1e-12)


def test_segments_addressed_by_content_know_no_order_either() -> None:
    model, facts = build_tiny("lisformer-lines", newline_id=MARK), draw_facts(5)

    turned = logits_of_text(model, as_text(facts[::-1]))

    torch.testing.assert_close(turned, logits_of_text(model, as_text(facts)), rtol=0, atol=1e-12)


def test_the_serialized_baseline_s_logits_depend_on_the_order_of_facts() -> None:
    model = build_tiny("rope")
    for seed in range(5):
        facts = draw_facts(seed)
        moved = logits_of_text(model, as_text(facts[::-1])) - logits_of_text(model, as_text(facts))
        assert moved.abs().max() > 1e-6
