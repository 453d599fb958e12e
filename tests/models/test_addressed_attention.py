"""The chunked attention against the rule it stands for, written out score by score."""

import pytest
import torch
from torch import Tensor

from lisdata.models.addressed_attention import AddressedAttention
from lisdata.models.instances import instance_layout
from lisdata.models.rotary import rotate, turn

ROWS, HEADS, LENGTH, WIDTH = 3, 2, 37, 8


def explicit_attention(
    query: Tensor, key: Tensor, value: Tensor, local: Tensor, offset: Tensor, last: Tensor, document: Tensor
) -> Tensor:
    """One T x T table of scores, each with or without its key's offset."""
    query, local_key = rotate(query, local), rotate(key, local)
    time = torch.arange(query.shape[2])
    is_complete = last[:, None, None, :] < time[:, None]
    scores = torch.where(
        is_complete, query @ rotate(local_key, offset).transpose(2, 3), query @ local_key.transpose(2, 3)
    )
    is_open = (time[:, None] >= time) & (document[:, :, None] == document[:, None, :])
    scores = (scores / query.shape[-1] ** 0.5).masked_fill(~is_open[:, None], float("-inf"))
    return scores.softmax(-1) @ value


@pytest.fixture(params=[False, True], ids=["banks apart", "banks joined"])
def joins_banks(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def inputs() -> dict[str, Tensor]:
    torch.manual_seed(0)
    document = torch.randint(2, (ROWS, LENGTH)).sort(1).values
    last = instance_layout(torch.randint(-1, 5, (ROWS, LENGTH)), document).last
    vectors = torch.randn(3, ROWS, HEADS, LENGTH, WIDTH, dtype=torch.float64)
    angles = torch.randn(2, ROWS, HEADS, LENGTH, WIDTH // 2, dtype=torch.float64)
    names = ("query", "key", "value", "local", "offset", "last", "document")
    return dict(zip(names, (*vectors, *turn(angles), last, document), strict=True))


def attend(inputs: dict[str, Tensor], chunk_size: int, joins_banks: bool) -> Tensor:
    addresses = (inputs[name] for name in ("local", "offset", "last", "document"))
    attention = AddressedAttention(*addresses, chunk_size=chunk_size, joins_banks=joins_banks)
    return attention(inputs["query"], inputs["key"], inputs["value"])


@pytest.mark.parametrize("chunk_size", [1, 5, 16, LENGTH, 64])
def test_chunks_and_two_whole_banks_equal_the_explicit_rule(
    inputs: dict[str, Tensor], chunk_size: int, joins_banks: bool
) -> None:
    expected = explicit_attention(**inputs)

    torch.testing.assert_close(attend(inputs, chunk_size, joins_banks), expected, rtol=0, atol=1e-10)


def test_turned_values_come_back_by_the_operator_of_their_score(inputs: dict[str, Tensor], joins_banks: bool) -> None:
    local, offset, last = inputs["local"], inputs["offset"], inputs["last"]
    attention = AddressedAttention(local, offset, last, chunk_size=8, joins_banks=joins_banks, turns_values=True)

    found = attention(inputs["query"], inputs["key"], inputs["value"])

    query, key = rotate(inputs["query"], local), rotate(inputs["key"], local)
    for t in (0, 5, LENGTH - 1):
        is_complete = (last[:, None, : t + 1, None] < t).expand(-1, HEADS, -1, WIDTH // 2)
        address = torch.where(is_complete, offset[:, :, : t + 1], torch.ones_like(offset[:, :, : t + 1]))
        keys = rotate(key[:, :, : t + 1], address)
        weights = (query[:, :, t, None] @ keys.mT / WIDTH**0.5).softmax(-1)
        values = rotate(rotate(rotate(inputs["value"], local)[:, :, : t + 1], address), local[:, :, t, None].conj())
        torch.testing.assert_close(found[:, :, t], (weights @ values)[:, :, 0], rtol=0, atol=1e-10)


def test_gradients_equal_those_of_the_explicit_rule(inputs: dict[str, Tensor], joins_banks: bool) -> None:
    sources = [inputs[name].requires_grad_() for name in ("query", "key", "value", "local", "offset")]
    weight = torch.randn(ROWS, HEADS, LENGTH, WIDTH, dtype=torch.float64)

    chunked = torch.autograd.grad((attend(inputs, 8, joins_banks) * weight).sum(), sources)

    explicit = torch.autograd.grad((explicit_attention(**inputs) * weight).sum(), sources)
    torch.testing.assert_close(chunked, explicit, rtol=0, atol=1e-10)


def test_padding_attends_to_itself_alone(inputs: dict[str, Tensor], joins_banks: bool) -> None:
    inputs["document"] = inputs["document"].clone()
    inputs["document"][:, 20:] = -1

    attended = attend(inputs, 8, joins_banks)

    torch.testing.assert_close(attended[:, :, 20:], inputs["value"][:, :, 20:])


@pytest.mark.parametrize("num_padding", [0, 7, LENGTH])
def test_rows_of_one_document_without_complete_instances_follow_the_same_rule(
    inputs: dict[str, Tensor], num_padding: int, joins_banks: bool
) -> None:
    inputs["last"] = torch.full((ROWS, LENGTH), LENGTH)
    inputs["document"] = torch.tensor([[4], [0], [2]]).repeat(1, LENGTH)
    inputs["document"][1, LENGTH - num_padding :] = -1
    sources = [inputs[name].requires_grad_() for name in ("query", "key", "value", "local")]
    explicit = explicit_attention(**inputs | {"document": apart(inputs["document"])})

    attended = attend(inputs, 8, joins_banks)

    torch.testing.assert_close(attended, explicit, rtol=0, atol=1e-10)
    gradients = (torch.autograd.grad((found**2).sum(), sources) for found in (attended, explicit))
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-10)


def apart(document: Tensor) -> Tensor:
    """Give each padding token a document of its own."""
    return torch.where(document < 0, -1 - torch.arange(LENGTH), document)


@pytest.mark.parametrize("document", [[-1, 0, 0], [0, -1, 0], [0, 0, 1], [1, -1, 0]])
def test_rows_of_more_than_a_document_and_its_padding_are_kept_apart(document: list[int], joins_banks: bool) -> None:
    torch.manual_seed(0)
    vectors = torch.randn(3, 1, 1, 3, WIDTH, dtype=torch.float64)
    still = turn(torch.zeros(1, 1, 3, WIDTH // 2, dtype=torch.float64))
    number = torch.tensor([document])

    attended = AddressedAttention(still, still, torch.full((1, 3), 3), number, joins_banks=joins_banks)(*vectors)

    own = torch.where(number < 0, -1 - torch.arange(3), number)
    expected = explicit_attention(*vectors, still, still, torch.full((1, 3), 3), own)
    torch.testing.assert_close(attended, expected, rtol=0, atol=1e-10)
