"""Claims about dropout on a CPU."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lisdata.models.dropout import Dropout


@given(
    p=st.floats(0.01, 0.99),
    shape=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
)
def test_an_element_is_zeroed_or_scaled_and_its_gradient_with_it(
    p: float, shape: list[int], dtype: torch.dtype
) -> None:
    hidden = torch.ones(shape, dtype=dtype, requires_grad=True)
    dropped = Dropout(p)(hidden)
    assert dropped.dtype == dtype
    assert dropped.shape == hidden.shape
    scale = 65_536 / (65_536 - round(p * 65_536))
    expected = torch.where(dropped == 0, 0.0, torch.tensor(scale, dtype=dtype))
    assert torch.equal(dropped, expected)
    dropped.sum().backward()
    assert hidden.grad is not None
    assert torch.equal(hidden.grad, dropped.detach())


@pytest.mark.parametrize("p", [0.1, 0.2, 0.5, 0.9])
def test_the_share_of_zeros_is_p_for_every_place_of_a_random_number(p: float) -> None:
    torch.manual_seed(0)
    zeros = (Dropout(p)(torch.ones(100_000, 4)) == 0).double()
    assert torch.allclose(zeros.mean(0), torch.full((4,), p, dtype=torch.float64), atol=6e-3)
    centred = zeros - zeros.mean(0)
    correlation = (centred.T @ centred) / len(zeros) / (p * (1 - p))
    assert torch.allclose(correlation, torch.eye(4, dtype=torch.float64), atol=2e-2)


def test_a_seed_gives_the_same_zeros_and_a_restored_generator_goes_on_with_them() -> None:
    hidden = torch.ones(1001)
    torch.manual_seed(3)
    Dropout(0.3)(hidden)
    state = torch.get_rng_state()
    expected = Dropout(0.3)(hidden)
    torch.set_rng_state(state)
    assert torch.equal(Dropout(0.3)(hidden), expected)


@pytest.mark.parametrize("p", [0.0, 1.0, 1e-6])
def test_no_dropout_and_nothing_but_dropout_are_pytorchs(p: float) -> None:
    hidden = torch.randn(50)
    assert torch.equal(Dropout(p)(hidden) == 0, torch.full((50,), p == 1.0))


def test_outside_training_nothing_is_dropped() -> None:
    hidden = torch.randn(50)
    assert Dropout(0.5).eval()(hidden) is hidden


def test_a_probability_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match="probability"):
        Dropout(1.5)
