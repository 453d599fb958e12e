"""Tokens read one by one through the cache have the logits of one pass over all of them, in float64."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from lisdata.models import MODELS, build_model
from lisdata.models.key_value_cache import KeyValueCache

NEWLINE, VOCABULARY, NUM_ROLES = 0, 7, 4
TINY = {"vocabulary_size": VOCABULARY, "width": 16, "num_layers": 2, "num_attention_heads": 2, "seed": 0}
OF_TEXT = {
    "rope": {},
    "alibi": {},
    "lisformer-lines": {"newline_id": NEWLINE},
    "zero-offset": {"newline_id": NEWLINE},
    "own-line": {"newline_id": NEWLINE},
    "sliding-window": {"attention_window": 5},
}
OF_ENDPOINTS = {
    "position-pooled": {},
    "role-pooled": {"pooled": "role"},
    "no instances": {"instance_addresses": False},
    "identifiers": {"instance_addresses": False, "num_identifiers": 3},
    "values turned": {"turns_values": True},
}


def build_tiny(name: str, **config: object) -> nn.Module:
    return build_model(name, **TINY, **config).double().eval()


def read_in_pieces(model: nn.Module, columns: dict[str, Tensor], first: int, *, sees_ahead: bool) -> Tensor:
    """Read `first` tokens at once, the others one at a time, with or without the structure of those to come."""
    cache = KeyValueCache(model)
    length = columns["input_ids"].shape[1]
    logits = []
    for end in (first, *range(first + 1, length + 1)):
        known = {name: column if sees_ahead else column[:, :end] for name, column in columns.items()}
        logits.append(cache.read(**known | {"input_ids": columns["input_ids"][:, :end]}))
    return torch.cat(logits, dim=1)


def whole(model: nn.Module, columns: dict[str, Tensor]) -> Tensor:
    with torch.no_grad():
        return model(**columns)


@pytest.mark.parametrize("name", OF_TEXT)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), first=st.integers(1, 40))
def test_text_read_in_pieces_has_the_logits_of_one_pass(name: str, seed: int, first: int) -> None:
    model = build_tiny(name, **OF_TEXT[name])
    generator = torch.Generator().manual_seed(seed)
    input_ids = torch.randint(0, VOCABULARY, (2, 40), generator=generator)  # a newline every seven or so

    found = read_in_pieces(model, {"input_ids": input_ids}, first, sees_ahead=False)

    torch.testing.assert_close(found, whole(model, {"input_ids": input_ids}), rtol=0, atol=1e-12)


def draw_endpoints(seed: int) -> dict[str, Tensor]:
    """Two rows of tokens whose instances interleave at random, of two documents."""
    generator = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int) -> Tensor:
        return torch.randint(low, high, (2, 30), generator=generator)

    return {
        "input_ids": draw(0, VOCABULARY),
        "role": draw(-1, NUM_ROLES),
        "instance": draw(-1, 5),
        "position": draw(0, 9),
        "document": draw(0, 2).sort(1).values,
    }


@pytest.mark.parametrize("name", OF_ENDPOINTS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), first=st.integers(1, 30))
def test_endpoints_read_in_pieces_have_the_logits_of_one_pass(name: str, seed: int, first: int) -> None:
    model = build_tiny("lisformer", num_roles=NUM_ROLES, **OF_ENDPOINTS[name])
    columns = draw_endpoints(seed)

    found = read_in_pieces(model, columns, first, sees_ahead=True)

    torch.testing.assert_close(found, whole(model, columns), rtol=0, atol=1e-12)


def facts_before_text() -> dict[str, Tensor]:
    """Two facts of two endpoints each, then text: instances follow each other, so that none goes on later."""
    return {
        "input_ids": torch.tensor([[1, 2, 3, 4, 5, 6, 1, 2]]),
        "role": torch.tensor([[0, 1, 0, 1, 2, 2, 2, 2]]),
        "instance": torch.tensor([[0, 0, 1, 1, 2, 2, 2, 2]]),
        "position": torch.tensor([[0, 0, 0, 0, 0, 1, 2, 3]]),
    }


def test_a_fact_that_ends_is_readdressed_without_knowing_what_comes() -> None:
    model = build_tiny("lisformer", num_roles=NUM_ROLES)
    columns = facts_before_text()

    found = read_in_pieces(model, columns, 1, sees_ahead=False)

    torch.testing.assert_close(found, whole(model, columns), rtol=0, atol=1e-12)


def test_an_instance_that_goes_on_after_it_was_complete_is_refused() -> None:
    columns = facts_before_text()
    columns["instance"][0, 3] = 0

    with pytest.raises(ValueError, match="token 3 goes on with an instance that was complete"):
        read_in_pieces(build_tiny("lisformer", num_roles=NUM_ROLES), columns, 1, sees_ahead=False)


def test_the_address_of_a_line_that_ended_reaches_later_logits_through_the_cache() -> None:
    model = build_tiny("lisformer-lines", newline_id=NEWLINE)
    text = torch.tensor([[1, 2, NEWLINE, 3, 4, 5]])
    before = read_in_pieces(model, {"input_ids": text}, 1, sees_ahead=False)
    with torch.no_grad():
        model.line_address.projection.bias += 1

    after = read_in_pieces(model, {"input_ids": text}, 1, sees_ahead=False)

    assert torch.equal(before[:, :3], after[:, :3])
    assert ((before - after)[:, 3:].abs().amax(-1) > 1e-9).all()


def test_padding_is_read_as_in_one_pass() -> None:
    model = build_tiny("lisformer", num_roles=NUM_ROLES)
    columns = facts_before_text()
    columns["document"] = torch.tensor([[0, 0, 0, 0, 0, -1, -1, -1]])

    torch.testing.assert_close(
        read_in_pieces(model, columns, 2, sees_ahead=True), whole(model, columns), rtol=0, atol=1e-12
    )


def test_it_must_be_given_a_further_token() -> None:
    cache = KeyValueCache(build_tiny("rope"))
    cache.read(torch.tensor([[1, 2]]))

    with pytest.raises(ValueError, match="more than the 2 tokens"):
        cache.read(torch.tensor([[1, 2]]))


@pytest.mark.parametrize("name", ["random-lines", "sipe-transformer-xl"])
def test_a_model_without_addresses_of_its_own_is_refused(name: str) -> None:
    config = {"newline_id": NEWLINE} if name == "random-lines" else {}
    model = build_model(name, **TINY, **config)

    with pytest.raises(ValueError, match="no addresses to read them by"):
        KeyValueCache(model)


def test_every_model_with_addresses_is_tested_here() -> None:
    addressed = {name for name, entry in MODELS.items() if hasattr(entry.load_model_class(), "address")}

    assert addressed == {*OF_TEXT, "lisformer"}
