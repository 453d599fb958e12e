"""The general LISformer on rows of interleaved instances, packed documents and padding."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from lisdata.models import build_model

NUM_ROLES, VOCABULARY = 4, 9
Batch = dict[str, Tensor]


def build_tiny(**config: object) -> nn.Module:
    model = build_model(
        "lisformer",
        vocabulary_size=VOCABULARY,
        num_roles=NUM_ROLES,
        width=16,
        num_layers=2,
        num_attention_heads=2,
        seed=0,
        **config,
    )
    return model.double().eval()


def logits(model: nn.Module, batch: Batch) -> Tensor:
    with torch.no_grad():
        return model(**batch)


def draw_batch(seed: int, num_rows: int = 2, length: int = 24) -> Batch:
    """Rows whose instances interleave at random; documents are runs, as packing makes them."""
    generator = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int) -> Tensor:
        return torch.randint(low, high, (num_rows, length), generator=generator)

    return {
        "input_ids": draw(0, VOCABULARY),
        "role": draw(-1, NUM_ROLES),
        "instance": draw(-1, 5),
        "position": draw(0, 9),
        "document": draw(0, 2).sort(1).values,
    }


@pytest.mark.parametrize("turns_values", [False, True])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), changed=st.integers(0, 23))
def test_nothing_of_a_later_token_moves_an_earlier_logit(turns_values: bool, seed: int, changed: int) -> None:
    model, batch = build_tiny(turns_values=turns_values), draw_batch(seed)
    before = logits(model, batch)

    other = {name: column.clone() for name, column in batch.items()}
    other["input_ids"][:, changed:] = (other["input_ids"][:, changed:] + 1) % VOCABULARY
    other["role"][:, changed:] = 2
    other["position"][:, changed:] += 3

    moved = (logits(model, other) - before).abs()
    assert not (moved[:, :changed] > 1e-12).any()
    assert (moved[:, changed:].amax(-1) > 1e-12).all()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40))
def test_padding_does_not_change_the_logits_of_real_tokens(seed: int, num_padded: int) -> None:
    model, batch = build_tiny(), draw_batch(seed)
    fill = {"input_ids": 0, "role": 0, "instance": 0, "position": 0, "document": -1}
    padded = {name: nn.functional.pad(batch[name], (0, num_padded), value=fill[name]) for name in batch}

    after = logits(model, padded)

    assert after.isfinite().all()
    torch.testing.assert_close(after[:, :24], logits(model, batch), rtol=0, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_packed_documents_are_computed_as_if_each_stood_alone(seed: int) -> None:
    model, batch = build_tiny(), draw_batch(seed, num_rows=1)
    together = logits(model, batch)

    for document in (0, 1):
        part = batch["document"][0] == document
        if part.any():
            alone = logits(model, {name: column[:, part] for name, column in batch.items() if name != "document"})
            torch.testing.assert_close(together[:, part], alone, rtol=0, atol=1e-12)


def test_instance_numbers_mean_nothing_beyond_sameness() -> None:
    model, batch = build_tiny(), draw_batch(1)
    renumbered = batch | {"instance": torch.tensor([70, 3, 1000, 12, 5])[batch["instance"]]}
    renumbered["instance"][batch["instance"] < 0] = -7

    torch.testing.assert_close(logits(model, renumbered), logits(model, batch), rtol=0, atol=1e-12)


def two_instances(first: list[int], query_instance: int) -> Batch:
    """Three tokens of instance 0, two of instance 1, and a query."""
    return {
        "input_ids": torch.tensor([[*first, 4, 5, 6]]),
        "role": torch.tensor([[0, 1, 2, 0, 1, 2]]),
        "instance": torch.tensor([[0, 0, 0, 1, 1, query_instance]]),
        "position": torch.zeros(1, 6, dtype=torch.int64),
    }


def depends_on_content_addresses(batch: Batch) -> bool:
    model = build_tiny()
    before = logits(model, batch)
    with torch.no_grad():
        model.instance_address.projection.weight.mul_(2)
    return not torch.equal(logits(model, batch), before)


def test_only_a_completed_instance_has_a_content_address() -> None:
    batch = two_instances([1, 2, 3], query_instance=2)
    first_alone = {name: column[:, :3] for name, column in batch.items()}

    assert depends_on_content_addresses(batch)
    assert not depends_on_content_addresses(first_alone)


def test_an_instance_that_goes_on_later_is_not_complete() -> None:
    model = build_tiny()
    reopened = two_instances([1, 2, 3], query_instance=0)
    alone = {name: column[:, :5] for name, column in reopened.items()}

    before = logits(model, reopened)[0, 3:5]

    without = build_tiny(instance_addresses=False)
    without.load_state_dict(
        {key: value for key, value in model.state_dict().items() if not key.startswith("instance_address.")}
    )
    torch.testing.assert_close(before, logits(without, alone)[0, 3:5], rtol=0, atol=1e-12)
    assert not torch.allclose(before, logits(model, alone)[0, 3:5], rtol=0, atol=1e-9)


def test_without_instances_roles_and_with_running_positions_it_is_the_rope_model() -> None:
    model = build_tiny()
    rope = build_model("rope", vocabulary_size=VOCABULARY, width=16, num_layers=2, num_attention_heads=2).double()
    rope.load_state_dict({key: value for key, value in model.state_dict().items() if key.startswith("transformer.")})
    input_ids = draw_batch(2)["input_ids"]
    none = torch.full_like(input_ids, -1)
    batch = {
        "input_ids": input_ids,
        "role": none,
        "instance": none,
        "position": torch.arange(24).expand_as(input_ids),
    }

    torch.testing.assert_close(logits(model, batch), logits(rope, {"input_ids": input_ids}), rtol=0, atol=1e-12)


def test_a_role_beyond_the_table_is_refused() -> None:
    batch = draw_batch(0)
    batch["role"][0, 3] = NUM_ROLES

    with pytest.raises(IndexError):
        logits(build_tiny(), batch)


def test_every_parameter_learns() -> None:
    model, batch = build_tiny().train(), draw_batch(5)

    model(**batch).square().mean().backward()

    untouched = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert untouched == []


def test_names_of_the_state_dict_say_what_they_hold() -> None:
    state = build_tiny().state_dict()

    assert state["role_angles.weight"].shape == (NUM_ROLES, 8)
    assert {"transformer.embedding.weight", "transformer.blocks.0.query_key_value.weight"} <= set(state)
    assert {"instance_address.norm.weight", "instance_address.projection.weight"} <= set(state)
