"""The torch models' addresses are the reference's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from drawn_operators import RANDOM, WIDTH
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.journeys import (
    RoleInstanceAssignment,
    Rotations,
    addresses,
    attend,
    content_operators,
    rope_addresses,
    rotary_frequencies,
)
from lisdata.models import rotary
from lisdata.models.addressed_attention import AddressedAttention
from lisdata.models.instances import ContentAddress, instance_layout
from lisdata.models.transformer import TransformerConfig
from lisdata.testing import read_examples

CPU = torch.device("cpu")


@settings(deadline=None)
@given(st.lists(st.integers(1, 100_000), min_size=1, max_size=6), st.sampled_from([8, 128]), st.booleans())
def test_float32_angles_are_the_reference_s_to_1e_7_of_the_position(
    positions: list[int], width: int, per_head: bool
) -> None:
    num_heads = 2
    config = TransformerConfig(
        vocabulary_size=1, width=width, num_attention_heads=num_heads, per_head_frequencies=per_head
    )

    found = rotary.position_angles(torch.tensor([positions]), rotary.rotary_frequencies(config, CPU), torch.float32)

    frequencies = np.tile(rotary_frequencies(width // num_heads), num_heads) if per_head else rotary_frequencies(width)
    reference = rope_addresses(np.array(positions), frequencies).angles
    difference = np.angle(np.exp(1j * (found[0].double().numpy() - reference)))  # up to whole turns
    assert (np.abs(difference) <= 1e-7 * np.array(positions)[:, None]).all()


@settings(deadline=None)
@given(RANDOM, st.integers(1, 5))
def test_rotating_in_torch_is_applying_the_operators(random: np.random.Generator, length: int) -> None:
    angles, vectors = random.uniform(-9, 9, (length, WIDTH // 2)), random.standard_normal((length, WIDTH))

    rotated = rotary.rotate(torch.tensor(vectors), rotary.turn(torch.tensor(angles)))

    np.testing.assert_allclose(rotated.numpy(), Rotations(angles).apply(vectors), rtol=0, atol=1e-12)


@pytest.fixture
def statement(root: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Role, instance, position and content of a Wikidata statement's endpoints, and of a query that asks about them."""
    path = root / "schemas" / "examples" / "v1" / "valid" / "wikidata_statements.json"
    found = addresses(read_examples(path)[0][0])
    asks = ([-1], [-1], [0], [0])
    columns = (found.role, found.instance, found.position, found.content)
    role, instance, position, content = (np.concatenate(pair) for pair in zip(columns, asks, strict=True))
    return role, instance, position, content


def test_attention_of_the_models_is_that_of_the_journeys(
    statement: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """The last endpoint asks when all instances are complete: each key has its content-derived factor."""
    role, instance, position, content = statement
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    address = ContentAddress(WIDTH).double()
    vectors, roles = (
        random.standard_normal((content.max() + 1, WIDTH))[content],
        random.standard_normal((20, WIDTH // 2)),
    )
    queries, keys, values = random.standard_normal((3, len(role), WIDTH))

    def phi(pooled: np.ndarray) -> Rotations:
        return Rotations(address.projection(address.norm(torch.tensor(pooled))).detach().numpy())

    assignment = RoleInstanceAssignment(
        roles=Rotations(roles),
        instances=Rotations(np.zeros((0, WIDTH // 2))),
        position=Rotations(rotary_frequencies(WIDTH)),
    )
    local = assignment.address(role, np.full(len(role), -1), position)
    instances = content_operators(vectors, local, instance, instance.max() + 1, phi)
    expected = attend(queries, keys, values, local @ instances.take(instance))

    layout = instance_layout(torch.tensor(instance)[None], None)
    turned = rotary.turn(torch.tensor(local.angles))[None]
    offset = rotary.turn(address(torch.tensor(vectors)[None], turned, layout))
    attention = AddressedAttention(turned[:, None], offset[:, None], layout.last)
    attended = attention(*(torch.tensor(x)[None, None] for x in (queries, keys, values)))

    np.testing.assert_allclose(attended[0, 0, -1].detach().numpy(), expected[-1], rtol=0, atol=1e-12)
