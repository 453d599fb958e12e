"""Rotary addresses against the rotation matrices that the papers write down."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from lisdata.journeys import hirope_addresses, rope_2d_addresses, rope_addresses
from lisdata.models.rotary import position_angles, rotary_frequencies, rotate, split_heads, turn
from lisdata.models.transformer import TransformerConfig

CPU = torch.device("cpu")


def rotation_matrix(angles: list[float]) -> Tensor:
    blocks = [[[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]] for a in angles]
    return torch.block_diag(*torch.tensor(blocks, dtype=torch.float64))


@settings(deadline=None)
@given(st.lists(st.floats(-10, 10), min_size=1, max_size=4), st.integers(0, 1000))
def test_rotating_is_multiplying_by_the_block_rotation_matrix(angles: list[float], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    vector = torch.randn(2 * len(angles), dtype=torch.float64, generator=generator)

    rotated = rotate(vector, turn(torch.tensor(angles, dtype=torch.float64)))

    torch.testing.assert_close(rotated, rotation_matrix(angles) @ vector, rtol=0, atol=1e-12)


@settings(deadline=None)
@given(st.integers(0, 4096), st.integers(0, 4096), st.integers(-4096, 4096))
def test_a_score_depends_on_the_distance_alone(query: int, key: int, shift: int) -> None:
    frequency = rotary_frequencies(TransformerConfig(vocabulary_size=2, width=16, num_attention_heads=1), CPU)
    vectors = torch.randn(2, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def score(query: int, key: int) -> Tensor:
        positions = torch.tensor([query, key])
        rotated = rotate(vectors, turn(position_angles(positions, frequency, torch.float64)))
        return rotated[0] @ rotated[1]

    torch.testing.assert_close(score(query, key), score(query + shift, key + shift), rtol=0, atol=1e-9)


@settings(deadline=None)
@given(st.lists(st.floats(-4, 4), min_size=2, max_size=2), st.lists(st.floats(-4, 4), min_size=2, max_size=2))
def test_addresses_compose_by_adding_their_angles(first: list[float], second: list[float]) -> None:
    a, b = torch.tensor([first, second], dtype=torch.float64)
    vector = torch.arange(1.0, 5.0, dtype=torch.float64)

    torch.testing.assert_close(rotate(rotate(vector, turn(a)), turn(b)), rotate(vector, turn(a + b)))


def test_far_positions_keep_float32_accuracy() -> None:
    frequency = rotary_frequencies(TransformerConfig(vocabulary_size=2), CPU)
    position = torch.tensor([[4096, 1_000_000]])

    narrow = turn(position_angles(position, frequency, torch.float32)).to(torch.complex128)

    wide = turn(position[..., None].double() * frequency)
    assert (narrow - wide).abs().max() < 1e-6


def test_frequencies_run_over_the_whole_width_or_over_each_head() -> None:
    whole = rotary_frequencies(TransformerConfig(vocabulary_size=2, width=8, num_attention_heads=2), CPU)
    per_head = rotary_frequencies(
        TransformerConfig(vocabulary_size=2, width=8, num_attention_heads=2, per_head_frequencies=True), CPU
    )

    assert whole.tolist() == pytest.approx([1, 0.1, 0.01, 0.001])
    assert per_head.tolist() == pytest.approx([1, 0.01, 1, 0.01])


def test_heads_take_consecutive_pairs_of_the_width() -> None:
    rotation = torch.arange(8).view(1, 1, 8)

    assert split_heads(rotation, 2).tolist() == [[[[0, 1, 2, 3]], [[4, 5, 6, 7]]]]


def test_the_vectors_keep_their_dtype() -> None:
    assert rotate(torch.ones(2, 4, dtype=torch.bfloat16), turn(torch.zeros(2, 2))).dtype == torch.bfloat16


POSITIONS = st.integers(0, 4096)


@settings(deadline=None)
@given(POSITIONS, POSITIONS, st.integers(0, 1000))
def test_the_models_rotations_are_rope_rope_2d_and_hirope_where_angles_say_so(x: int, y: int, seed: int) -> None:
    """LIS Proposition 4.7, each scheme being the NumPy reference's, as operators on vectors."""
    width = 16
    vector = torch.randn(width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))

    def angles(position: int, base: float, period: int) -> Tensor:
        config = TransformerConfig(vocabulary_size=2, width=period, num_attention_heads=1, frequency_base=base)
        return position_angles(torch.tensor([[position]]), rotary_frequencies(config, CPU), torch.float64)[0, 0]

    half = width // 4
    schemes = {
        "RoPE": (angles(x, 1e4, width), rope_addresses(np.array(x), 1e4 ** (-np.arange(0, width, 2) / width))),
        "RoPE-2D": (
            torch.cat([angles(x, 100, width // 2), angles(y, 100, width // 2)]),
            rope_2d_addresses(np.array([x, y]), width),
        ),
        "HiRoPE": (
            torch.cat([angles(x, 1e4, width)[:half], angles(y, 1e4, width)[half:]]),
            hirope_addresses(np.array(x), np.array(y), width),
        ),
    }
    for name, (found, expected) in schemes.items():
        difference = rotate(vector, turn(found)).numpy() - expected.apply(vector.numpy())
        assert np.abs(difference).max() < 1e-11, name  # 1e-15 of 4,096 turns, twice
